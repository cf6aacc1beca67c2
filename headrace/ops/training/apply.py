"""Apply*, ResourceApply*, SparseApply* and ResourceSparseApply*: one row of the table is one optimizer."""

from __future__ import annotations

from headrace.ops.training import formulas
from headrace.ops.training.cases import cases
from headrace.ops.training.declare import optimizer

_POSITIVE_RATE = {"lr": ">0", "l1": ">=0", "l2": ">=0"}
_FTRL = dict(_POSITIVE_RATE, l2_shrinkage=">=0", lr_power="<=0")
_SPACED = {"lr": "lr "}  # these kernels have a space before the colon

optimizer(
    "GradientDescent", formulas.gradient_descent, dense="alpha delta", cases=cases,
    doc="Subtracts the gradient times a learning rate.",
)  # fmt: skip
optimizer(
    "ProximalGradientDescent", formulas.proximal_gradient_descent, dense="alpha l1 l2 delta",
    sparse="alpha l1 l2 grad indices", sparse_words={"alpha": "lr"}, cases=cases,
    doc="Gradient descent, then a step towards small weights.",
)  # fmt: skip
optimizer(
    "Momentum", formulas.momentum, slots="accum", dense="lr grad momentum", sparse="lr grad indices momentum",
    attrs="use_nesterov=false", sparse_words=_SPACED, cases=cases,
    doc="Moves along a decaying sum of the gradients.",
)  # fmt: skip
optimizer(
    "KerasMomentum", formulas.keras_momentum, slots="accum", dense="lr grad momentum",
    sparse="lr grad indices momentum", attrs="use_nesterov=false", forms="resource", sparse_words=_SPACED, cases=cases,
    doc="Moves along a decaying sum of the steps; the learning rate is part of what is summed.",
)  # fmt: skip
optimizer(
    "Adagrad", formulas.adagrad, slots="accum", dense="lr grad", sparse="lr grad indices", attrs="update_slots=true",
    cases=cases, doc="Divides the steps by the root of the sum of squared gradients.",
)  # fmt: skip
optimizer(
    "AdagradV2", formulas.adagrad_v2, slots="accum", dense="lr epsilon grad", sparse="lr epsilon grad indices",
    attrs="update_slots=true", cases=cases, doc="Adagrad with a number added to the root.",
)  # fmt: skip
optimizer(
    "AdagradDA", formulas.adagrad_da, slots="gradient_accumulator gradient_squared_accumulator",
    dense="grad lr l1 l2 global_step", sparse="grad indices lr l1 l2 global_step",
    words={"gradient_accumulator": "accum", "gradient_squared_accumulator": "accum"}, cases=cases,
    doc="Adagrad by dual averaging: the variable follows from the sums of gradients.",
)  # fmt: skip
optimizer(
    "ProximalAdagrad", formulas.proximal_adagrad, slots="accum", dense="lr l1 l2 grad", sparse="lr l1 l2 grad indices",
    conditions=_POSITIVE_RATE, cases=cases, doc="Adagrad, then a step towards small weights.",
)  # fmt: skip
optimizer(
    "Adadelta", formulas.adadelta, slots="accum accum_update", dense="lr rho epsilon grad",
    sparse="lr rho epsilon grad indices", sparse_words={"accum": "accum_grad"}, cases=cases,
    doc="Scales the gradient by the ratio of past updates to past gradients.",
)  # fmt: skip
optimizer(
    "RMSProp", formulas.rms_prop, slots="ms mom", dense="lr rho momentum epsilon grad",
    sparse="lr rho momentum epsilon grad indices", words=_SPACED, sparse_words={"lr": "lr"}, cases=cases,
    doc="Divides the steps by the root of a decaying mean of squared gradients.",
)  # fmt: skip
optimizer(
    "CenteredRMSProp", formulas.centered_rms_prop, slots="mg ms mom", dense="lr rho momentum epsilon grad",
    sparse="lr rho momentum epsilon grad indices", words=_SPACED, sparse_words={"lr": "lr"}, cases=cases,
    doc="RMSProp with the variance in place of the mean square.",
)  # fmt: skip
optimizer(
    "Adam", formulas.adam, slots="m v", dense="beta1_power beta2_power lr beta1 beta2 epsilon grad",
    attrs="use_nesterov=false", words=_SPACED, cases=cases,
    doc="Divides a decaying mean of gradients by the root of that of their squares.",
)  # fmt: skip
optimizer(
    "AdamWithAmsgrad", formulas.adam_with_amsgrad, slots="m v vhat",
    dense="beta1_power beta2_power lr beta1 beta2 epsilon grad", forms="resource", words=_SPACED, cases=cases,
    doc="Adam that divides by the greatest mean square so far.",
)  # fmt: skip
optimizer(
    "AdaMax", formulas.ada_max, slots="m v", dense="beta1_power lr beta1 beta2 epsilon grad", words=_SPACED,
    cases=cases, doc="Adam with the infinity norm.",
)  # fmt: skip
optimizer(
    "AddSign", formulas.add_sign, slots="m", dense="lr alpha sign_decay beta grad", cases=cases,
    doc="Takes larger steps where the gradient agrees in sign with its decaying mean.",
)  # fmt: skip
optimizer(
    "PowerSign", formulas.power_sign, slots="m", dense="lr logbase sign_decay beta grad", cases=cases,
    doc="Scales steps by a power whose exponent says whether gradient and decaying mean agree in sign.",
)  # fmt: skip
optimizer(
    "Ftrl", formulas.ftrl, slots="accum linear", dense="grad lr l1 l2 lr_power",
    sparse="grad indices lr l1 l2 lr_power", sparse_formula=formulas.ftrl_rows, conditions=_FTRL, cases=cases,
    doc="Follows the regularized leader.",
)  # fmt: skip
optimizer(
    "FtrlV2", formulas.ftrl, slots="accum linear", dense="grad lr l1 l2 l2_shrinkage lr_power",
    sparse="grad indices lr l1 l2 l2_shrinkage lr_power", sparse_formula=formulas.ftrl_rows, conditions=_FTRL,
    cases=cases, doc="Follows the regularized leader, with a shrinkage in the gradient.",
)  # fmt: skip
