"""SparseTensor: a tensor of which only the elements at given coordinates are kept."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from headrace.export import NAMES, export, export_value
from headrace.graph import hooks
from headrace.graph.default import get_default_session, name_scope
from headrace.graph.tensor import Tensor
from headrace.tensor_shape import TensorShape

SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
export_value("SparseTensorValue", SparseTensorValue)

# Where a static shape may come from, as in TensorFlow; what other ops compute only the step knows.
_FOLLOWED = frozenset("Const Shape Pack ConcatV2 StridedSlice Cast Fill Range Placeholder".split())


@export("SparseTensor", "sparse.SparseTensor")
class SparseTensor:
    """Elements of a tensor by their coordinates; the others are taken for zero.

    Args:
      indices: An int64 matrix [n, rank] of coordinates, in row-major order for most ops.
      values: A vector of the n elements there.
      dense_shape: The whole tensor's shape, an int64 vector.

    Raises:
      ValueError: The shapes of the three do not fit each other.
    """

    _is_composite_tensor = True
    _value_class = SparseTensorValue
    # NumPy arrays leave `array * sparse` to the sparse tensor.
    __array_priority__ = 100
    operators: dict[str, Callable[..., Any]] = {}

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Returns a SparseTensor for a SparseTensorValue, or the SparseTensor that was given.

        Raises:
          TypeError: It is neither.
        """
        if not isinstance(sparse_tensor_value, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        return cls(*(getattr(sparse_tensor_value, part) for part in SparseTensorValue._fields))

    def __init__(self, indices: Any, values: Any, dense_shape: Any):
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            indices = hooks.convert_to_tensor(indices, name="indices", dtype="int64")
            values = hooks.convert_to_tensor(values, name="values")
            dense_shape = hooks.convert_to_tensor(dense_shape, name="dense_shape", dtype="int64")
        self._indices = indices
        self._values = values
        self._dense_shape = dense_shape
        rows = indices.shape.with_rank(2)
        shape = dense_shape.shape.with_rank(1)
        rows.dims[0].merge_with(values.shape.with_rank(1).dims[0])
        rows.dims[1].merge_with(shape.dims[0])

    @property
    def indices(self) -> Tensor:
        return self._indices  # type: ignore[no-any-return]

    @property
    def values(self) -> Tensor:
        return self._values  # type: ignore[no-any-return]

    @property
    def dense_shape(self) -> Tensor:
        return self._dense_shape  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        if self._dense_shape.op.type not in _FOLLOWED:
            (rank,) = self._dense_shape.shape.with_rank(1).as_list()
            return TensorShape(None if rank is None else [None] * rank)
        return TensorShape(hooks.constant_as_shape(self._dense_shape))

    def get_shape(self) -> TensorShape:
        """Returns the whole tensor's static shape."""
        return self.shape

    @property
    def op(self) -> Any:
        return self._values.op

    @property
    def name(self) -> str:
        return self._values.name  # type: ignore[no-any-return]

    @property
    def device(self) -> str:
        return self._values.device  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self._values.dtype

    @property
    def graph(self) -> Any:
        return self._indices.graph

    def consumers(self) -> Any:
        """Returns the operations that take the values."""
        return self._values.consumers()

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Returns the SparseTensorValue that a session computes; the default one unless `session` is given."""
        session = get_default_session() if session is None else session
        if session is None:
            raise ValueError(
                "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to `eval(session=sess)`"
            )
        return SparseTensorValue(*session.run([self._indices, self._values, self._dense_shape], feed_dict))

    def __mul__(self, other: Any) -> Any:
        return _operator("mul")(self, other)

    def __truediv__(self, other: Any) -> Any:
        return _operator("truediv")(self, other)

    def __div__(self, other: Any) -> Any:
        return _operator("div")(self, other)

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"
        )

    __str__ = __repr__


def _operator(name: str) -> Callable[..., Any]:
    if not SparseTensor.operators:
        NAMES["sparse_add"]  # what is defined beside it is only imported when a name is asked for
    return SparseTensor.operators[name]


def is_sparse(value: Any) -> bool:
    """Whether a value is a SparseTensor or a SparseTensorValue."""
    return isinstance(value, (SparseTensor, SparseTensorValue))


def as_sparse(value: Any) -> SparseTensor:
    """Returns the SparseTensor for a SparseTensor or a SparseTensorValue.

    Raises:
      TypeError: It is neither.
    """
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


@export("convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Returns a SparseTensor for sparse values, and a Tensor for others.

    Args:
      value: A SparseTensor, a SparseTensorValue, or what converts to a tensor.
      dtype: The type it must have.
      name: A name for a node that has to be made.

    Raises:
      RuntimeError: A SparseTensor has another type.
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        from headrace.dtypes import as_dtype

        if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
            raise RuntimeError(
                f"Sparse dtype: requested = {as_dtype(dtype).name}, actual = {value.dtype.name}"
            )
        return value
    return hooks.convert_to_tensor(value, dtype=dtype, name=name)
