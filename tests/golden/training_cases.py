"""Runs of the optimizers' ops, made once with TensorFlow for the golden file and again by the test."""

import numpy as np

ATTRS = {"use_nesterov": (False, True), "update_slots": (True, False)}
SCALARS = {
    "lr": 0.3,
    "alpha": 0.2,
    "delta": 0.1,
    "rho": 0.9,
    "momentum": 0.8,
    "epsilon": 0.01,
    "beta1_power": 0.81,
    "beta2_power": 0.9801,
    "beta1": 0.9,
    "beta2": 0.99,
    "beta": 0.9,
    "logbase": 0.7,
    "sign_decay": 0.6,
    "l1": 0.05,
    "l2": 0.02,
    "l2_shrinkage": 0.03,
    "lr_power": -0.5,
    "global_step": 3,
}
VARIANTS = ({}, {"l1": 0.0, "l2": 0.0}, {"lr_power": -0.7}, {"l2_shrinkage": 0.0})
ROWS = np.array([3, 0, 3, 1, 3, 0], np.int32)
DTYPES = ("float32", "float64")


def runs(op_def):
    """Yields (label, operands by name, attrs) for an op; slots come as arrays under their names.

    Args:
      op_def: The OpDef, or anything with `name`, `input_arg` and `attr`.
    """
    names = [arg.name for arg in op_def.input_arg]
    resource = op_def.name.startswith("Resource")
    states = [
        a.name
        for a in op_def.input_arg
        if a.is_ref or (resource and not a.type_attr and a.name != "global_step")
    ]
    attr = next((a.name for a in op_def.attr if a.name in ATTRS), None)
    for dtype in DTYPES:
        for number, variant in enumerate(VARIANTS):
            if set(variant) - set(names):
                continue
            for flag in ATTRS[attr] if attr else (None,):
                random = np.random.RandomState(7)
                operands = {}
                for name in names:
                    if name in states:
                        value = random.uniform(0.1, 2.0, [4, 3])
                        operands[name] = (value if name != "var" else value - 1.0).astype(dtype)
                    elif name in ("grad", "delta"):
                        operands[name] = random.uniform(
                            -1, 1, [6, 3] if "indices" in names else [4, 3]
                        ).astype(dtype)
                    elif name == "indices":
                        operands[name] = ROWS
                    elif name == "global_step":
                        operands[name] = np.int64(SCALARS[name])
                    else:
                        operands[name] = np.array(variant.get(name, SCALARS[name]), dtype)
                attrs = {} if attr is None else {attr: flag}
                yield f"{op_def.name} {dtype} {number} {flag}", states, operands, attrs
