"""Scatter ops: they change rows of a variable, and slices at coordinates."""

from __future__ import annotations

import numpy as np

from headrace import errors
from headrace.lazy import jnp, lax
from headrace.native import updates as in_place
from headrace.opdef import UNDECLARED, op, raw
from headrace.ops.state import places

_ROWS = """
      Tindices: {int32, int64}
"""


def _integer(array):
    return np.dtype(array.dtype).kind in "iu"


def _divided(a, b):
    """Divides as C++ does: integers towards zero."""
    if not _integer(a):
        return (a / b).astype(a.dtype)
    if (b == 0).any():
        places.invalid("Integer division by zero")
    quotient = np.abs(a) // np.abs(b)
    return (np.sign(a) * np.sign(b) * quotient).astype(a.dtype)


def _set_rows(value, at, updates):
    # Row by row, so that the last of several updates of one row wins.
    flat = np.broadcast_to(updates, (*np.shape(at), *value.shape[1:])).reshape(np.size(at), *value.shape[1:])
    for i, row in zip(np.ravel(at), flat, strict=True):
        value[i] = row


def _each_row(combine):
    def change(value, at, updates):
        flat = np.broadcast_to(updates, (*np.shape(at), *value.shape[1:])).reshape(
            np.size(at), *value.shape[1:]
        )
        for i, row in zip(np.ravel(at), flat, strict=True):
            value[i] = combine(value[i], row)

    return change


def _divide_lowered(value, at, updates):
    factor = jnp.ones_like(value).at[at].multiply(updates)
    return lax.div(value, factor)


# What each op does: to NumPy rows in place, and to a JAX array.
_WAYS = {
    "Update": (_set_rows, lambda v, at, u: v.at[at].set(u)),
    "Add": (lambda v, at, u: np.add.at(v, at, u), lambda v, at, u: v.at[at].add(u)),
    "Sub": (lambda v, at, u: np.subtract.at(v, at, u), lambda v, at, u: v.at[at].subtract(u)),
    "Mul": (lambda v, at, u: np.multiply.at(v, at, u), lambda v, at, u: v.at[at].multiply(u)),
    "Div": (_each_row(_divided), _divide_lowered),
    "Min": (lambda v, at, u: np.minimum.at(v, at, u), lambda v, at, u: v.at[at].min(u)),
    "Max": (lambda v, at, u: np.maximum.at(v, at, u), lambda v, at, u: v.at[at].max(u)),
}


def _host_rows(way, kind):
    change = _WAYS[way][0]

    def rule(variable, indices, updates, *, ctx):
        value = places.value_of(ctx, variable, kind)
        places.check_rows(value, indices, updates, kind)
        places.check_row_numbers(indices, value.shape[0])
        if way == "Div":  # may end half-way
            value = np.array(value)
            with np.errstate(all="ignore"):
                change(value, indices, updates)
            ctx.write(variable, value)
        else:
            del value
            own = ctx.own(variable)
            if not in_place.scatter(way, own, indices, updates):
                with np.errstate(all="ignore"):
                    change(own, indices, updates)
        return () if kind else variable

    return rule


def _lower_rows(way, kind):
    change = _WAYS[way][1]

    def rule(variable, indices, updates, *, ctx):
        value = jnp.asarray(places.value_of(ctx, variable, kind))
        places.check_rows(value, indices, updates, kind)
        ctx.check(places.rows_in_range(indices, value.shape[0]), "indices are out of range")
        if way == "Div" and _integer(value):
            ctx.check(jnp.all(updates != 0), "Integer division by zero")
        ctx.write(variable, change(value, indices, updates))
        return () if kind else variable

    return rule


def _reference_shape(ref, indices, updates):
    places.row_shape(ref, indices, updates)
    return ref


def _resource_shape(resource, indices, updates, *, dtype, ctx):
    held, shape = places.held(ctx)
    if held is not None and held is not dtype:
        raise ValueError(
            f"Trying to read variable with wrong dtype. Expected {held.wire_name} got {dtype.wire_name}"
        )
    places.row_shape(shape, indices, updates)
    return []


def _row_cases(way, first, second, gives):
    def cases(case):
        @case.program
        def rows_change(step):
            v = raw.VariableV2(shape=[3, 2], dtype="float32")
            step(raw.Assign(v, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
            step(getattr(raw, "Scatter" + way)(v, [0, 2], [first, second]), gives=gives)
            step(
                getattr(raw, "Scatter" + way)(v, [[0], [3]], [[first], [second]]),
                fails=errors.InvalidArgumentError,
                match=r"indices\[1,0\] = 3 is not in \[0, 3\)",
            )

    return cases


def _resource_cases(way, first, second, gives):
    def cases(case):
        @case.program
        def rows_change(step):
            v = raw.VarHandleOp(shape=[3, 2], dtype="float32")
            step(raw.AssignVariableOp(v, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
            step(getattr(raw, "ResourceScatter" + way)(v, [0, 2], [first, second]))
            step(raw.ReadVariableOp(v, dtype="float32"), gives=gives)
            step(
                getattr(raw, "ResourceScatter" + way)(v, [-1], [first]),
                fails=errors.InvalidArgumentError,
                match=r"indices\[0\] = -1 is not in \[0, 3\)",
            )

    return cases


def _rows(way, verb, types, locking, grad, example):
    reference = op(f"""
    Scatter{way}(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))
      T: {types}{_ROWS}      use_locking: bool = {locking}

    {verb} rows of a reference variable.
    """, shape=_reference_shape, grad=grad, cases=_row_cases(way, *example))  # fmt: skip
    reference.host(_host_rows(way, ""))
    reference.lower(_lower_rows(way, ""))
    resource = op(f"""
    ResourceScatter{way}(resource: resource, indices: Tindices, updates: dtype) -> ()
      dtype: {"type" if way == "Update" else places.NUMBERS}{_ROWS}
    {verb} rows of a resource variable.
    """, shape=_resource_shape, cases=_resource_cases(way, *example))  # fmt: skip
    resource.host(_host_rows(way, "resource"))
    resource.lower(_lower_rows(way, "resource"))
    return reference, resource


_SOME = "{half, bfloat16, float, double, int32, int64}"
_BEFORE = [3.0, 4.0]
ScatterUpdate, ResourceScatterUpdate = _rows(
    "Update", "Replaces", "type", "true", UNDECLARED,
    ([7.0, 8.0], [9.0, 0.0], [[7.0, 8.0], _BEFORE, [9.0, 0.0]]),
)  # fmt: skip
ScatterAdd, ResourceScatterAdd = _rows(
    "Add", "Adds to", places.NUMBERS, "false", None,
    ([1.0, 1.0], [2.0, 3.0], [[2.0, 3.0], _BEFORE, [7.0, 9.0]]),
)  # fmt: skip
ScatterSub, ResourceScatterSub = _rows(
    "Sub", "Subtracts from", places.NUMBERS, "false", None,
    ([1.0, 1.0], [2.0, 3.0], [[0.0, 1.0], _BEFORE, [3.0, 3.0]]),
)  # fmt: skip
ScatterMul, ResourceScatterMul = _rows(
    "Mul", "Multiplies", places.NUMBERS, "false", None,
    ([2.0, 1.0], [0.0, 3.0], [[2.0, 2.0], _BEFORE, [0.0, 18.0]]),
)  # fmt: skip
ScatterDiv, ResourceScatterDiv = _rows(
    "Div", "Divides", places.NUMBERS, "false", None,
    ([2.0, 1.0], [1.0, 3.0], [[0.5, 2.0], _BEFORE, [5.0, 2.0]]),
)  # fmt: skip
ScatterMin, ResourceScatterMin = _rows(
    "Min", "Keeps the lesser of values given and", _SOME, "false", UNDECLARED,
    ([2.0, 1.0], [0.0, 9.0], [[1.0, 1.0], _BEFORE, [0.0, 6.0]]),
)  # fmt: skip
ScatterMax, ResourceScatterMax = _rows(
    "Max", "Keeps the greater of values given and", _SOME, "false", UNDECLARED,
    ([2.0, 1.0], [0.0, 9.0], [[2.0, 2.0], _BEFORE, [5.0, 9.0]]),
)  # fmt: skip


# -- slices at coordinates -------------------------------------------------------------------------------------


def _host_slices(way, kind):
    def rule(variable, indices, updates, *, ctx):
        value = places.value_of(ctx, variable, kind)
        places.check_slices(value, indices, updates)
        places.check_coordinates(indices, value.shape)
        if indices.shape[-1]:
            del value
            value = ctx.own(variable)
            at = places.coordinates(indices)
            if way == "Update":
                value[at] = updates
            else:
                (np.add if way == "Add" else np.subtract).at(value, at, updates)
        return () if kind else variable

    return rule


def _lower_slices(way, kind):
    change = _WAYS[way][1]

    def rule(variable, indices, updates, *, ctx):
        value = jnp.asarray(places.value_of(ctx, variable, kind))
        places.check_slices(value, indices, updates)
        if indices.shape[-1]:
            ctx.check(places.coordinates_in_range(indices, value.shape), "coordinates are out of range")
            ctx.write(variable, change(value, places.coordinates(indices), updates))
        return () if kind else variable

    return rule


def _reference_slices_shape(ref, indices, updates):
    places.slice_shape(ref, indices, updates)
    return ref


def _resource_slices_shape(ref, indices, updates, *, ctx):
    places.slice_shape(places.held(ctx, "ref")[1], indices, updates)
    return []


def _slice_cases(way, gives):
    def cases(case):
        @case.program
        def slices_change(step):
            v = raw.VariableV2(shape=[2, 2], dtype="float32")
            step(raw.Assign(v, [[1.0, 2.0], [3.0, 4.0]]))
            step(getattr(raw, "ScatterNd" + way)(v, [[0, 1], [1, 0]], [10.0, 20.0]), gives=gives)
            step(
                getattr(raw, "ScatterNd" + way)(v, [[0], [2]], [[1.0, 1.0], [1.0, 1.0]]),
                fails=errors.InvalidArgumentError,
                match=r"indices\[1\] = \[2\] does not index into shape \[2,2\]",
            )

    return cases


def _resource_slice_cases(way, gives):
    def cases(case):
        @case.program
        def slices_change(step):
            v = raw.VarHandleOp(shape=[2, 2], dtype="float32")
            step(raw.AssignVariableOp(v, [[1.0, 2.0], [3.0, 4.0]]))
            step(getattr(raw, "ResourceScatterNd" + way)(v, [[0, 1], [1, 0]], [10.0, 20.0]))
            step(raw.ReadVariableOp(v, dtype="float32"), gives=gives)

    return cases


def _slices(way, verb, types, locking, gives):
    reference = op(f"""
    ScatterNd{way}(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))
      T: {types}{_ROWS}      use_locking: bool = {locking}

    {verb} slices of a reference variable at coordinates.
    """, shape=_reference_slices_shape, grad=None, cases=_slice_cases(way, gives))  # fmt: skip
    reference.host(_host_slices(way, ""))
    reference.lower(_lower_slices(way, ""))
    resource = op(f"""
    ResourceScatterNd{way}(ref: resource, indices: Tindices, updates: T) -> ()
      T: type{_ROWS}      use_locking: bool = true

    {verb} slices of a resource variable at coordinates.
    """, shape=_resource_slices_shape, cases=_resource_slice_cases(way, gives))  # fmt: skip
    resource.host(_host_slices(way, "resource"))
    resource.lower(_lower_slices(way, "resource"))
    return reference, resource


ScatterNdUpdate, ResourceScatterNdUpdate = _slices(
    "Update", "Replaces", "type", "true", [[1.0, 10.0], [20.0, 4.0]]
)
ScatterNdAdd, ResourceScatterNdAdd = _slices(
    "Add", "Adds to", places.NUMBERS, "false", [[1.0, 12.0], [23.0, 4.0]]
)
ScatterNdSub, ResourceScatterNdSub = _slices(
    "Sub", "Subtracts from", places.NUMBERS, "false", [[1.0, -8.0], [-17.0, 4.0]]
)
