"""Tensor: one output of an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace import shapes
from headrace.dtypes import DType
from headrace.export import export
from headrace.graph import hooks, stack
from headrace.graph.refusals import OperatorNotAllowedInGraphError
from headrace.shapes import Shape
from headrace.tensor_shape import TensorShape, to_tuple

if TYPE_CHECKING:
    from headrace.graph.operation import Operation


@export("Tensor")
class Tensor:
    """A symbolic handle to one output of an operation; a session gives its value.

    `_dims` is its shape as a tuple; `_handle_data` says what a resource holds: (dtype, shape) pairs.
    """

    # `__dict__` is for what Keras and user code hang on tensors; it is made only when they do.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_consumers",
        "_dims",
        "_dtype",
        "_handle_data",
        "_op",
        "_value_index",
    )
    __array_priority__ = 100  # NumPy leaves `array + tensor` to __radd__

    OVERLOADABLE_OPERATORS = frozenset(
        "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __div__ __rdiv__ __truediv__ __rtruediv__ "
        "__floordiv__ __rfloordiv__ __mod__ __rmod__ __lt__ __le__ __gt__ __ge__ __ne__ __eq__ __and__ __rand__ "
        "__or__ __ror__ __xor__ __rxor__ __getitem__ __pow__ __rpow__ __invert__ __neg__ __abs__ __matmul__ "
        "__rmatmul__".split()
    )

    def __init__(self, op: Operation, value_index: int, dtype: DType, dims: Shape = None):
        self._op = op
        self._value_index = value_index
        self._dtype = dtype
        self._dims = dims
        self._consumers: list[Operation] = []
        self._handle_data: Any = None

    @property
    def op(self) -> Operation:
        """The operation that makes this tensor."""
        return self._op

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def graph(self) -> Any:
        return self._op.graph

    @property
    def value_index(self) -> int:
        """Which of its operation's outputs this is."""
        return self._value_index

    @property
    def name(self) -> str:
        return f"{self._op.name}:{self._value_index}"

    @property
    def device(self) -> str:
        return self._op.device

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape before anything runs."""
        return TensorShape.of(self._dims)

    def get_shape(self) -> TensorShape:
        """Returns what is known of the shape before anything runs."""
        return TensorShape.of(self._dims)

    def _shape_tuple(self) -> Shape:
        return self._dims

    @property
    def _shape(self) -> TensorShape:
        return TensorShape.of(self._dims)

    def _rank(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    def set_shape(self, shape: Any) -> None:
        """Adds to what is known of the shape.

        Raises:
          ValueError: `shape` contradicts it.
        """
        dims = to_tuple(shape)
        try:
            self._dims = shapes.merge(self._dims, dims)
        except ValueError as e:
            raise ValueError(str(e)) from None

    def consumers(self) -> list[Operation]:
        """Returns the operations that take this tensor."""
        return list(self._consumers)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Returns the tensor's value in `session`, or in the default session."""
        return hooks.session_eval(self, feed_dict, session)

    def _as_node_def_input(self) -> str:
        return self._op.name if self._value_index == 0 else f"{self._op.name}:{self._value_index}"

    def _as_tf_output(self) -> Tensor:
        return self

    @property
    def _id(self) -> int:
        return id(self)

    def experimental_ref(self) -> Any:
        """Returns an object that hashes and compares by this tensor's identity."""
        return _Reference(self)

    def __str__(self) -> str:
        shape = "" if self._dims is None else f", shape={self.shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self._dtype.name}>"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: Any) -> bool:
        return self is other

    def __copy__(self) -> Tensor:
        return self

    def __len__(self) -> int:
        raise TypeError(
            f"len is not well defined for symbolic Tensors. ({self.name}) Please call `x.shape` rather than `len(x)` "
            "for shape information."
        )

    def __iter__(self) -> Any:
        _refuse("iterating over `tf.Tensor`")
        yield  # a loop is refused when it begins, not when `iter` is called

    def __bool__(self) -> bool:
        _refuse("using a `tf.Tensor` as a Python `bool`")
        return False

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array.")

    @staticmethod
    def _override_operator(operator: str, func: Callable[..., Any]) -> None:
        """Gives all tensors a Python operator.

        Raises:
          ValueError: It is not one that may be overloaded.
        """
        if operator not in Tensor.OVERLOADABLE_OPERATORS:
            raise ValueError(f"Overriding {operator} is disallowed")
        setattr(Tensor, operator, func)


def _refuse(task: str) -> None:
    """Refuses what only a tensor with a value can do.

    Raises:
      OperatorNotAllowedInGraphError: Always.
    """
    graph = stack.graphs.get()
    if not getattr(graph, "_automatic_control", False):
        where = " in Graph execution. Use Eager execution or decorate this function with @tf.function."
    elif hooks.autograph_is_enabled():
        where = ": AutoGraph did not convert this function. Try decorating it directly with @tf.function."
    else:
        where = ": AutoGraph is disabled in this function. Try decorating it directly with @tf.function."
    raise OperatorNotAllowedInGraphError(f"{task} is not allowed{where}")


class _Reference:
    """A tensor as a dictionary key."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor):
        self._tensor = tensor

    def deref(self) -> Tensor:
        return self._tensor

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Reference) and self._tensor is other._tensor

    def __hash__(self) -> int:
        return id(self._tensor)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._tensor!r}>"


def is_dense_tensor_like(value: Any) -> bool:
    """Whether a value behaves like one Tensor (a Tensor, a Variable)."""
    return isinstance(value, Tensor) or getattr(value, "_is_tensor_like", False)


@export("is_tensor", "contrib.framework.is_tensor")
def is_tensor(x: Any) -> bool:
    """Whether `x` is a Tensor, a SparseTensor, a Variable or the like."""
    # Ragged tensors are none, in TensorFlow too.
    return is_dense_tensor_like(x) or (hasattr(x, "_is_composite_tensor") and not hasattr(x, "row_splits"))
