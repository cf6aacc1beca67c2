"""What the ops of tensor lists share: element shapes while building and running, types, zeros."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, errors, shapes
from headrace.lazy import jnp
from headrace.opdef import constant_value
from headrace.opdef.infer import operand_index
from headrace.resources.tensor_list import shape_text

_MOST = 1 << 36  # elements; more are a mistake
MOST_TRACED = 1 << 20  # elements of a list that a compiled step holds
_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def type_name(dtype):
    """Returns a type's name in TensorFlow's kernels."""
    return _NAMES.get(dtype.name, dtype.name)


# -- while building ------------------------------------------------------------------------------------------


def element_shape_of(ctx, operand="element_shape"):
    """Returns the partial shape that an element_shape operand holds: -1 alone stands for any.

    Raises:
      ValueError: It is a scalar that is not known to be -1, or no vector.
    """
    tensor = ctx.op.inputs[operand_index(ctx.op, operand)]
    dims = tensor._dims
    if dims is not None and len(dims) == 0:
        value = constant_value(tensor)
        if value is None:
            raise ValueError(
                "Received a shape scalar with unknown static value.  A static value of '-1' is required to represent "
                "an unknown shape."
            )
        if int(value) != -1:
            raise ValueError(
                "Received an invalid shape scalar with a static value that is not '-1': Tensor<type: "
                f"{tensor.dtype.base_dtype.name} shape: [] values: {int(value)}>"
            )
        return None
    if dims is not None and len(dims) > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {len(dims)}")
    return ctx.as_shape(operand)


def held(ctx, operand="input_handle"):
    """Returns what is known of a list: (dtype, element shape), or None."""
    data = ctx.handle(operand)
    return data[0] if data else None


def held_shape(ctx, dtype, message, operand="input_handle"):
    """Returns the element shape of a list that must be of a type.

    Args:
      ctx: The shape rule's.
      dtype: The type that is expected.
      message: With `{wanted}` and `{found}` for the types.
      operand: The list.

    Raises:
      ValueError: It is known to be of another type.
    """
    known = held(ctx, operand)
    if known is None:
        return None
    if known[0] is not dtype:
        raise ValueError(message.format(wanted=type_name(dtype), found=type_name(known[0])))
    return known[1]


EXPECTED = "Expected list with element dtype {wanted} but got list with element dtype {found}"
READ = "Trying to read from list with wrong element dtype. List has type {found} but expected type {wanted}"


# -- while running -------------------------------------------------------------------------------------------


# The mark of nodes that `tf.TensorArray` makes without functional control flow: ArrayFacts. Host rules then do as
# TensorFlow's arrays do, which are changed in place.
ARRAY = "array"
CLOSES = "closes_array"
REFILLS = "refills_array"  # a Split of what was written to before: it doesn't take the list as an operand


def invalid(message):
    return errors.InvalidArgumentError(None, None, message)


def given_shape(value):
    """Returns the partial shape that an element_shape operand's value says.

    Raises:
      InvalidArgumentError: It says none.
    """
    value = np.asarray(value)
    if value.ndim == 0:
        if int(value) != -1:
            raise invalid("The only valid scalar shape tensor is the fully unknown shape specified as -1.")
        return None
    if value.ndim != 1:
        raise invalid(f"Shape must be at most rank 1 but is rank {value.ndim}")
    for d in value.tolist():
        if d < -1:
            raise invalid(f"Dimension {d} must be >= -1")
    return tuple(None if d < 0 else d for d in value.tolist())


def check_type(given, dtype):
    """Refuses a list of another type than an op is for.

    Raises:
      InvalidArgumentError: It is.
    """
    if given.element_dtype is not dtype:
        raise invalid(
            f"Invalid data types; op elements {type_name(dtype)} but list elements {type_name(given.element_dtype)}"
        )


def merged(a, b):
    """Returns what two partial shapes say together.

    Raises:
      InvalidArgumentError: They contradict each other.
    """
    try:
        return shapes.merge(a, b)
    except ValueError:
        raise invalid(
            f"PartialTensorShape: Incompatible shapes during merge: {shape_text(a)} vs. {shape_text(b)}"
        ) from None


def fits(shape, partial):
    """Whether a tensor's shape is one that a partial shape allows."""
    return shapes.compatible(tuple(shape), partial)


def shape_of_item(item):
    """Returns the shape of an element, which may be a list."""
    return item.shape if hasattr(item, "shape") else ()


def zeros(shape, dtype):
    """Returns what an unset element counts as."""
    if dtype is dtypes.variant:
        return np.full(shape, None, object)
    if shapes.num_elements(shape) > _MOST:
        raise errors.ResourceExhaustedError(
            None, None, f"OOM when allocating tensor with shape{shape_text(shape)}"
        )
    return np.full(shape, b"", object) if dtype.storage.hasobject else np.zeros(shape, dtype.storage)


def stacked(items, shape, dtype):
    """Returns elements of one shape as one tensor, zeros where they are unset."""
    if not dtype.storage.hasobject and all(x is not None for x in items):
        return np.stack(items) if items else zeros((0, *shape), dtype)
    out = zeros((len(items), *shape), dtype)
    for i, x in enumerate(items):
        if x is not None:
            out[i] = x[()] if isinstance(x, np.ndarray) else x
    return out


# -- in a compiled step --------------------------------------------------------------------------------------


def check_places(ctx, given, index):
    """Has a compiled step refuse places that a list hasn't."""
    ctx.check((index >= 0) & (index < given.size), "a place out of a list's range")


def unset_as(given, asked, dtype, n=None):
    """Returns `n` rows of zeros (or one element), as unset elements count, of a list that holds nothing yet.

    Raises:
      NotImplementedError: Their shape isn't known.
    """
    shape = given.merged_shape(given_shape(asked))
    if not shapes.is_full(shape):
        raise NotImplementedError("the shape of an unset element is not known")
    return jnp.zeros(shape if n is None else (n, *shape), dtype.storage)


def may_be_unset(given, asked):
    """Whether unset elements may be read: TensorFlow refuses them where nothing tells their shape."""
    return given.is_set is None or shapes.is_full(shapes.merge(given_shape(asked), given.element_shape))


def check_dtype(given, dtype):
    """Refuses a list of another type than an op is for.

    Raises:
      NotImplementedError: It is; the host rule words the error.
    """
    if given.element_dtype is not dtype:
        raise NotImplementedError("a list of another type")


def scalar_int(value, what):
    """Returns the int that a tensor holds in its first element, as TensorFlow's kernels read scalars.

    Raises:
      InvalidArgumentError: It is empty.
    """
    value = np.asarray(value)
    if value.size == 0:
        raise invalid(f"{what} must be a scalar, but has shape {shapes.to_text(value.shape)}")
    return int(value.reshape(-1)[0])
