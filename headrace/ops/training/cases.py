"""The cases of the optimizers' ops: each makes its variables, runs once, and looks at the variable.

The tiers are held against each other here; tests/golden/training_values.json has TensorFlow's numbers.
"""

from __future__ import annotations

from typing import Any

from headrace import errors
from headrace.opdef import Op, raw

_SCALARS = {
    "beta1_power": 0.9,
    "beta2_power": 0.99,
    "beta1": 0.9,
    "beta2": 0.99,
    "epsilon": 0.01,
    "lr_power": -0.5,
}


def operands_of(op: Op, variables: list[Any], gradient: Any, indices: Any) -> list[Any]:
    """Returns operands in the op's order; scalars are 0.25 where nothing else makes sense."""
    out: list[Any] = []
    for i, arg in enumerate(op.signature.inputs):
        if i < len(variables):
            out.append(variables[i])
        elif arg.name in ("grad", "delta"):
            out.append(gradient)
        elif arg.name == "indices":
            out.append(indices)
        elif arg.name == "global_step":
            out.append(2)
        else:
            out.append(_SCALARS.get(arg.name, 0.25))
    return out


def cases(case: Any, op: Op) -> None:
    resource = op.name.startswith("Resource")
    sparse = "Sparse" in op.name
    count = sum(arg.is_ref or (resource and i == 0) for i, arg in enumerate(op.signature.inputs))
    if resource:
        count = sum(arg.dtype is not None and arg.dtype.name == "resource" for arg in op.signature.inputs)

    def variables(step: Any, shape: list[int]) -> list[Any]:
        made = []
        for i in range(count):
            start = [[1.0 + i, 2.0], [3.0, 4.0 + i]]
            if resource:
                handle = raw.VarHandleOp(dtype="float32", shape=shape, shared_name=f"{op.name}_{i}")
                step(raw.AssignVariableOp(handle, start))
            else:
                handle = raw.VariableV2(dtype="float32", shape=shape)
                step(raw.Assign(handle, start))
            made.append(handle)
        return made

    def value(variable: Any) -> Any:
        return raw.ReadVariableOp(variable, dtype="float32") if resource else variable

    @case.program
    def changes_the_rows_that_have_a_gradient(step: Any) -> None:
        made = variables(step, [2, 2])
        gradient = [[0.5, -0.25]] if sparse else [[0.0, 0.0], [0.5, -0.25]]
        step(op(*operands_of(op, made, gradient, [1])))
        step(value(made[0]))

    if sparse:

        @case.program
        def refuses_an_index_out_of_range(step: Any) -> None:
            made = variables(step, [2, 2])
            step(
                op(*operands_of(op, made, [[0.5, 1.0], [0.5, 1.0]], [1, 2])),
                fails=errors.InvalidArgumentError,
                match="Index 2 at offset 1 in indices is out of range",
            )

    if not resource:
        rows = ";".join(["[2,?]"] + ["[?,3]"] * (count - 1))
        rest = [
            ("[4,3]" if sparse else "[2,3]")
            if a.name in ("grad", "delta")
            else "[?]"
            if a.name == "indices"
            else "[]"
            for a in op.signature.inputs[count:]
        ]
        case.shapes(rows + ";" + ";".join(rest), "[2,3]")
        case.fails(
            ";".join(
                ["[2,3]"] * count + ["[4]" if r.startswith("[2") or r.startswith("[4") else r for r in rest]
            ),
            match="Shapes must be equal rank",
        )
