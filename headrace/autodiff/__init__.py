"""Symbolic derivatives: walks a graph backwards through each op's gradient rule."""

from headrace.autodiff.aggregation import AggregationMethod
from headrace.autodiff.custom import custom_gradient, recompute_grad
from headrace.autodiff.gradients import UnconnectedGradients, gradients, gradients_between
from headrace.autodiff.hessians import hessians
from headrace.autodiff.registry import RegisterGradient, gradient_function, not_differentiable
from headrace.autodiff.tape import GradientTape

__all__ = [
    "GradientTape",
    "AggregationMethod",
    "RegisterGradient",
    "UnconnectedGradients",
    "custom_gradient",
    "gradient_function",
    "gradients",
    "gradients_between",
    "hessians",
    "not_differentiable",
    "recompute_grad",
]
