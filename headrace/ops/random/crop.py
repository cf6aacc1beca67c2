"""Random crops."""

from __future__ import annotations

from headrace.export import NAMES, export
from headrace.graph import control_dependencies, name_scope
from headrace.opdef import convert_to_tensor


@export("random_crop", "image.random_crop")
def random_crop(value, size, seed=None, name=None):
    """Returns a block of a tensor at a random place.

    Args:
      value: A tensor.
      size: The block's shape, a 1-D tensor as long as `value` has dimensions; none is larger than the tensor's.
      seed: The op-level seed.
      name: A name scope for the nodes.
    """
    tf = NAMES
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtype="int32", name="size")
        shape = tf["shape"](value)
        guard = tf["Assert"](
            tf["reduce_all"](shape >= size), ["Need value.shape >= size, got ", shape, size], summarize=1000
        )
        with control_dependencies([guard]), NAMES["colocate_with"](shape):
            shape = tf["identity"](shape, name="control_dependency")
        limit = shape - size + 1
        offset = (
            tf["random_uniform"](tf["shape"](shape), dtype=size.dtype, maxval=size.dtype.max, seed=seed)
            % limit
        )
        return tf["slice"](value, offset, size, name=scope)
