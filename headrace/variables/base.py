"""Variable: what both kinds of variables have in common, and the constructor that picks a kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.export import NAMES, export
from headrace.graph import IndexedSlices, Tensor, get_default_graph, hooks
from headrace.variables.modes import VariableAggregation, VariableSynchronization
from headrace.variables.slices import SaveSliceInfo

# Called as `default_creator(**arguments)`; set by headrace.variables.creation.
default_creator: Any = None


class VariableMeta(type):
    """Makes `tf.Variable(...)` a call of the variable creators in force, while subclasses are made directly."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is Variable:
            return _create(*args, **kwargs)
        return super().__call__(*args, **kwargs)


def _create(
    initial_value: Any = None,
    trainable: Any = None,
    collections: Any = None,
    validate_shape: bool = True,
    caching_device: Any = None,
    name: str | None = None,
    variable_def: Any = None,
    dtype: Any = None,
    expected_shape: Any = None,
    import_scope: str | None = None,
    constraint: Any = None,
    use_resource: bool | None = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
    shape: Any = None,
) -> Any:
    create: Callable[..., Any] = default_creator
    for creator in get_default_graph()._variable_creator_stack:
        create = _wrapped(creator, create)
    return create(
        initial_value=initial_value,
        trainable=trainable,
        collections=collections,
        validate_shape=validate_shape,
        caching_device=caching_device,
        name=name,
        variable_def=variable_def,
        dtype=dtype,
        expected_shape=expected_shape,
        import_scope=import_scope,
        constraint=constraint,
        use_resource=use_resource,
        synchronization=synchronization,
        aggregation=aggregation,
        shape=shape,
    )


def _wrapped(creator: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **arguments: creator(inner, **arguments)


@export("Variable", "VariableV1")
class Variable(metaclass=VariableMeta):
    """A tensor that lives on between steps; assignments change it.

    Args:
      initial_value: What it starts with: anything that converts to a tensor, or a function without arguments that
        returns such a thing.
      trainable: Whether it goes to the collection that optimizers train.
      collections: The collections it goes to, by default that of the global variables.
      validate_shape: Whether the shape must be known and stay; a variable made with False may change its shape.
      caching_device: Where its value is kept once read, by default not at all.
      name: Its name, made unique.
      variable_def: A VariableDef to make it from instead of all this.
      dtype: Its type, by default that of the initial value.
      expected_shape: Not used any more.
      import_scope: A name scope for the names in `variable_def`.
      constraint: A function that optimizers apply to the value after each update.
      use_resource: Whether it is a resource variable, whose reads and writes happen in a defined order; by default as
        `tf.enable_resource_variables` and the variable scope say.
      synchronization: When copies on several devices are brought together.
      aggregation: How their updates combine.
      shape: The shape, where it is to be less specific than that of the initial value.

    Raises:
      ValueError: There is no initial value, or its shape is not known.
    """

    SaveSliceInfo = SaveSliceInfo
    __array_priority__ = 100  # NumPy leaves `array + variable` to __radd__

    _is_tensor_like = True
    _save_slice_info: Any = None
    _initializer_op: Any
    _initial_value: Any
    _constraint: Any
    _trainable: bool
    _synchronization: Any
    _aggregation: Any

    # -- what it is ----------------------------------------------------------------------------------------------
    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def synchronization(self) -> Any:
        return self._synchronization

    @property
    def aggregation(self) -> Any:
        return self._aggregation

    @property
    def constraint(self) -> Any:
        """The function that optimizers apply to the value after each update, or None."""
        return self._constraint

    @property
    def initializer(self) -> Any:
        """The operation that gives the variable its initial value."""
        return self._initializer_op

    @property
    def initial_value(self) -> Any:
        """The tensor that the variable starts with."""
        return self._initial_value

    @property
    def dtype(self) -> Any:
        raise NotImplementedError

    @property
    def shape(self) -> Any:
        raise NotImplementedError

    @property
    def op(self) -> Any:
        raise NotImplementedError

    @property
    def name(self) -> str:
        raise NotImplementedError

    def value(self) -> Tensor:
        raise NotImplementedError

    def get_shape(self) -> Any:
        """Returns the variable's static shape."""
        return self.shape

    @property
    def graph(self) -> Any:
        return self.op.graph

    @property
    def device(self) -> str:
        return self.op.device  # type: ignore[no-any-return]

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        """Says which part of a partitioned variable this is."""
        self._save_slice_info = save_slice_info

    def _as_graph_element(self) -> Tensor:
        raise NotImplementedError

    # -- values --------------------------------------------------------------------------------------------------
    def eval(self, session: Any = None) -> Any:
        """Returns the variable's value in `session`, or in the default session."""
        return hooks.session_eval(self._as_graph_element(), None, session)

    def load(self, value: Any, session: Any = None) -> None:
        """Puts a value into the variable, without adding nodes to the graph.

        Args:
          value: The new value.
          session: The session whose variable it is, by default the default session.

        Raises:
          ValueError: There is no session.
        """
        from headrace.graph import get_default_session

        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be established"
            )
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def initialized_value(self) -> Tensor:
        """Returns the variable's value, or its initial value as long as it is not initialized.

        Raises:
          NotImplementedError: There is no `tf.cond` to build it with.
        """
        cond = NAMES.get("cond")
        if cond is None:
            raise NotImplementedError(
                "initialized_value() needs tf.cond; use tf.control_dependencies instead"
            )
        return cond(  # type: ignore[no-any-return]
            NAMES["is_variable_initialized"](self), self.read_value, lambda: self.initial_value
        )

    def read_value(self) -> Tensor:
        raise NotImplementedError

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Any:
        """Returns the variable that a VariableDef describes; its nodes must be in the default graph."""
        from headrace.variables import creation

        return creation.from_proto(variable_def, import_scope)

    def experimental_ref(self) -> Any:
        """Returns an object that hashes and compares by this variable's identity."""
        return VariableReference(self)

    # -- sparse updates ------------------------------------------------------------------------------------------
    @staticmethod
    def _check_slices(sparse_delta: Any) -> None:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Puts values into rows, batch by batch; see `tf.batch_scatter_update`."""
        self._check_slices(sparse_delta)
        return NAMES["batch_scatter_update"](
            self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
        )

    # -- Python protocols ----------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.get_shape()} dtype={self.dtype.name}>"

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def __getitem__(self, spec: Any) -> Tensor:
        part = self.value()[spec]
        part.assign = _SliceAssignment(self, part)  # type: ignore[attr-defined]
        return part

    def _strided_slice_assign(
        self,
        begin: Any,
        end: Any,
        strides: Any,
        value: Any,
        name: Any,
        begin_mask: int,
        end_mask: int,
        ellipsis_mask: int,
        new_axis_mask: int,
        shrink_axis_mask: int,
    ) -> Any:
        raise NotImplementedError

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: Any) -> bool:
        return self is other

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        raise NotImplementedError("deepcopy() is only available when eager execution is enabled.")


VariableV1 = Variable


class VariableReference:
    """A variable as a dictionary key."""

    __slots__ = ("_variable",)

    def __init__(self, variable: Variable):
        self._variable = variable

    def deref(self) -> Variable:
        return self._variable

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, VariableReference) and self._variable is other._variable

    def __hash__(self) -> int:
        return id(self._variable)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._variable!r}>"


class _SliceAssignment:
    """What `variable[1:3].assign` is: a function that writes to that part of the variable."""

    def __init__(self, variable: Variable, part: Tensor):
        self._variable = variable
        self._part = part

    def __call__(self, value: Any, name: str | None = None) -> Any:
        op = self._part.op
        _, begin, end, strides = op.inputs
        masks = {k: v for k, v in op.attrs.items() if k.endswith("_mask")}
        return self._variable._strided_slice_assign(
            begin, end, strides, value, name or op.name + "/_assign", **masks
        )


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: Variable, *operands: Any) -> Any:
        # Looked up at call time: Tensor's operators are set when the ops are loaded.
        return getattr(Tensor, name)(self.value(), *operands)

    apply.__name__ = name
    return apply


for _name in Tensor.OVERLOADABLE_OPERATORS - {"__getitem__", "__eq__", "__ne__"}:
    setattr(Variable, _name, _operator(_name))
