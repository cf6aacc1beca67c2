"""Cast: from one number type to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.errors import UnimplementedError
from headrace.export import NAMES, export
from headrace.graph.default import name_scope
from headrace.graph.indexed_slices import IndexedSlices
from headrace.graph.tensor import Tensor
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.math.building import cast_to
from headrace.ops.math.sparse_values import is_sparse, with_values
from headrace.shapes import unchanged

Cast = op("""
    Cast(x: SrcT) -> (y: DstT)
      SrcT: type
      DstT: type
      Truncate: bool = false

    x as another type. Floats lose their fraction on the way to integers, complex numbers their imaginary part.
""", shape=unchanged)  # fmt: skip


@Cast.host
def cast_host(x, *, SrcT, DstT, Truncate):
    if SrcT is DstT:
        return x
    if dtypes.string in (SrcT, DstT):
        raise UnimplementedError(None, None, f"Cast {SrcT.name} to {DstT.name} is not supported")
    target = DstT.storage
    if x.dtype.kind in "iu" and not DstT.is_bool and not DstT.is_floating:
        return x.astype(target)  # which warns of nothing
    with np.errstate(all="ignore"):
        if SrcT.is_complex and not DstT.is_complex:
            x = np.real(x)
        if DstT.is_bool:
            return np.not_equal(x, 0)
        if (SrcT.is_floating or SrcT.is_complex) and DstT.is_integer and x.dtype.itemsize < 4:
            x = x.astype(np.float32)  # half and bfloat16 go through float
        if DstT is dtypes.bfloat16 and Truncate:
            bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
            return (bits >> 16).astype(np.uint16).view(target).reshape(np.shape(x))
        return x.astype(target)


@Cast.lower
def cast_lower(x, *, SrcT, DstT, Truncate):
    target = DstT.storage
    if SrcT.is_complex and not DstT.is_complex:
        x = jnp.real(x)
    if DstT.is_bool:
        return x != 0
    if (SrcT.is_floating or SrcT.is_complex) and DstT.is_integer:
        return _to_integers(x, np.dtype(target))
    if DstT is dtypes.bfloat16 and Truncate:
        from headrace.lazy import lax

        bits = lax.bitcast_convert_type(x.astype(np.float32), np.uint32)
        return lax.bitcast_convert_type((bits >> 16).astype(np.uint16), target)
    return x.astype(target)


def _to_integers(x: Any, target: np.dtype[Any]) -> Any:
    """Casts floats as the processor does: what does not fit gives the least integer, narrow types wrap around."""
    wide = np.int32 if target.itemsize < 4 or target == np.int32 else np.int64
    low = np.iinfo(wide).min
    fits = (x >= float(low)) & (x < -float(low))
    whole = jnp.where(fits, jnp.where(fits, x, 0).astype(wide), wide(low))
    if target == np.uint64:
        # The upper half of the range is not an int64; shift it down and back up.
        upper = x >= 2.0**63
        shifted = jnp.where(upper & (x < 2.0**64), x - 2.0**63, 0).astype(np.int64).astype(np.uint64)
        shifted = jnp.where(x < 2.0**64, shifted + np.uint64(2**63), np.uint64(0))
        return jnp.where(upper, shifted, whole.astype(target))
    return whole.astype(target)


_DIFFERENTIABLE = frozenset(
    (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.complex64, dtypes.complex128)
)


@Cast.grad
def cast_grad(op, dy):
    source, target = op.inputs[0].dtype.base_dtype, dy.dtype.base_dtype
    return cast_to(dy, source) if source in _DIFFERENTIABLE and target in _DIFFERENTIABLE else None


@Cast.cases
def cast_cases(case):
    def i32(*values):
        return np.array(values, np.int32)

    case([1.9, -1.9, 0.0], DstT="int32", gives=i32(1, -1, 0))
    case([np.nan, 1e20, -1e20], DstT="int32", gives=i32(-(2**31), -(2**31), -(2**31)))
    case([300.0, -1.0, 255.5], DstT="uint8", gives=np.array([44, 255, 255], np.uint8))
    case(i32(300, -1), DstT="uint8", gives=np.array([44, 255], np.uint8))
    case([0.0, -0.5], DstT="bool", gives=np.array([False, True]))
    case(np.array([True, False]), DstT="float32", gives=[1.0, 0.0])
    case(np.array([1 + 2j], np.complex64), DstT="float32", gives=[1.0], grad=False)
    case([1.5, 2.5], DstT="float64", gives=np.array([1.5, 2.5]))
    case([1.00390625, 1.005859375], DstT="bfloat16")
    case([1.005859375], DstT="bfloat16", Truncate=True)
    case.limit("T", dtypes=["string"], why="TensorFlow has no such cast either")
    case.shapes("[2,?]", "[2,?]", DstT="int32")


@export("cast", "dtypes.cast")
def cast(x, dtype, name=None):
    """Returns a tensor as another type.

    Args:
      x: A Tensor, SparseTensor or IndexedSlices of numbers, or what converts to a tensor.
      dtype: The type.
      name: The node's name.

    Raises:
      TypeError: `x` can't be cast to `dtype`.
    """
    target = as_dtype(dtype).base_dtype
    # A resource variable of that type is not read here, but where the result is used.
    if (isinstance(x, Tensor) or hasattr(x, "_read_variable_op")) and x.dtype is target:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        if is_sparse(x):
            return with_values(x, cast(x.values, target, name=scope))
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast(x.values, target, name=scope), x.indices, x.dense_shape)
        x = convert_to_tensor(x, name="x")
        if x.dtype.base_dtype is not target:
            x = raw.Cast(x, DstT=target, name=scope)
        return x


@export("saturate_cast", "dtypes.saturate_cast")
def saturate_cast(value, dtype, name=None):
    """Returns a tensor as another type; what lies outside the type's range becomes its nearest end.

    Args:
      value: A tensor of numbers.
      dtype: The type.
      name: The node's name.
    """
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = convert_to_tensor(value, name="value")
        target = as_dtype(dtype).base_dtype
        if value.dtype.min < target.min:
            value = raw.Maximum(value, convert_to_tensor(target.min, dtype=value.dtype, name="min"))
        if value.dtype.max > target.max:
            value = raw.Minimum(value, convert_to_tensor(target.max, dtype=value.dtype, name="max"))
        return cast(value, target, name=scope)


def _to(public: str, default: str, target: Any) -> None:
    def to_type(x: Any, name: str = default) -> Any:
        return NAMES["cast"](x, target, name=name)

    to_type.__name__ = public
    to_type.__doc__ = (
        f"Returns a tensor as {target.name}.\n\nArgs:\n  x: A tensor of numbers.\n  name: The node's name.\n"
    )
    export(public)(to_type)


_to("to_float", "ToFloat", dtypes.float32)
_to("to_double", "ToDouble", dtypes.float64)
_to("to_int32", "ToInt32", dtypes.int32)
_to("to_int64", "ToInt64", dtypes.int64)
_to("to_bfloat16", "ToBFloat16", dtypes.bfloat16)
_to("to_complex64", "ToComplex64", dtypes.complex64)
_to("to_complex128", "ToComplex128", dtypes.complex128)
