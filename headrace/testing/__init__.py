"""tf.test: what programs test their graphs with."""

from headrace.testing import benchmark, comparison, decorators, devices, gradient_checker, test_case

__all__ = ["benchmark", "comparison", "decorators", "devices", "gradient_checker", "test_case"]
