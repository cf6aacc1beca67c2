"""Shape inference: runs an op's shape rule on a new node, and knows values that follow from constants."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace import errors, shapes
from headrace.dtypes import resource, variant
from headrace.graph import hooks
from headrace.graph.operation import Operation
from headrace.graph.tensor import Tensor
from headrace.opdef.rules import Rule
from headrace.shapes import Shape

_SMALL = 1024  # elements; larger values are no shapes, axes or sizes
_DEEPEST = 32  # nodes in a row; what follows from constants by longer ways is left to the step


class ShapeContext:
    """What a shape rule may ask for beyond shapes and attrs."""

    __slots__ = ("asked", "op")

    def __init__(self, op: Operation):
        self.op = op
        self.asked: dict[int, Any] = {}

    def _tensor(self, operand: str | int) -> tuple[int, Tensor]:
        i = operand if isinstance(operand, int) else operand_index(self.op, operand)
        return i, self.op._inputs[i]

    def constant(self, operand: str | int) -> np.ndarray[Any, Any] | None:
        """Returns an operand's value if it follows from constants, else None."""
        i, t = self._tensor(operand)
        value = constant_value(t)
        if value is None:
            value = _look_through(t)
        if value is not None:
            self.asked[i] = value
        return value

    def as_shape(self, operand: str | int) -> Shape:
        """Returns the partial shape that a 1-D integer operand holds."""
        i, t = self._tensor(operand)
        found = constant_as_shape(t)
        if found is not None:
            self.asked[i] = found
        return found

    def dtype(self, operand: str | int) -> Any:
        return self._tensor(operand)[1].dtype.base_dtype

    def handle(self, operand: str | int) -> Any:
        """Returns the (dtype, shape) pairs of what a resource or variant operand holds, or None."""
        return self._tensor(operand)[1]._handle_data

    def set_handle(self, data: Any, output: int = 0) -> None:
        """Says what a resource or variant output holds."""
        self.op._outputs[output]._handle_data = tuple(data)


def operand_index(op: Operation, name: str) -> int:
    """Returns the position among a node's flat inputs where the operand `name` starts."""
    plan = op.kind.plan
    i = 0
    for arg, n in zip(plan.signature.inputs, plan.sizes(plan.signature.inputs, op.attrs), strict=True):
        if arg.name == name:
            return i
        i += 1 if n is None else n
    raise KeyError(f"{op.type} has no operand {name!r}")


def group_operands(kind: Any, attrs: dict[str, Any], flat: list[Any]) -> list[Any]:
    """Returns flat operands with those of a list argument gathered into one tuple."""
    plan = kind.plan
    if plan.simple:
        return flat
    out: list[Any] = []
    i = 0
    for n in plan.sizes(plan.signature.inputs, attrs):
        if n is None:
            out.append(flat[i])
            i += 1
        else:
            out.append(tuple(flat[i : i + n]))
            i += n
    return out


def infer_shapes(kind: Any, op: Operation) -> None:
    """Sets the shapes of a node's outputs by its op's shape rule.

    Raises:
      ValueError: The inputs' shapes do not fit the op; the message names the node and the shapes.
    """
    rule: Rule | None = kind.rules.get("shape")
    if rule is None:
        return
    inputs = [t._dims for t in op._inputs]
    operands = group_operands(kind, op.attrs, inputs)
    ctx = None
    keywords = rule.keywords(op.attrs, kind.plan.type_attrs) if rule.names or rule.wants_rest else {}
    if rule.wants_ctx:
        ctx = keywords["ctx"] = ShapeContext(op)
    try:
        _check_int32(kind, op)
        result = rule.function(*operands, **keywords)
    except (ValueError, OverflowError) as e:
        raise ValueError(_message(op, str(e), ctx)) from None
    except errors.InvalidArgumentError as e:  # of a check that the rule shares with a kernel
        raise ValueError(_message(op, e.message, ctx)) from None
    outputs = op._outputs
    if type(result) is list:
        if len(result) != len(outputs):
            raise RuntimeError(
                f"the shape rule of {kind.name} gave {len(result)} shapes for {len(outputs)} outputs"
            )
        for t, dims in zip(outputs, result, strict=True):
            t._dims = dims
    elif len(outputs) == 1:
        outputs[0]._dims = result
    elif outputs:
        for t in outputs:
            t._dims = result
    if outputs and outputs[0]._dtype is variant and outputs[0]._handle_data is None and "List" not in op.type:
        # What makes a variant of variants (Identity, AddN, Pack ...) makes one that holds the same.
        for t in op._inputs:
            if t._dtype is variant:
                outputs[0]._handle_data = t._handle_data
                break


# Attrs that TensorFlow's shape functions read as numbers of 32 bits.
_INT32_ATTRS = ("strides", "ksize", "ksizes", "rates", "dilations", "block_size", "window_size")


@functools.cache
def _int32_attrs(kind: Any) -> tuple[str, ...]:
    return tuple(a for a in _INT32_ATTRS if a in kind.signature.attrs and "Backprop" not in kind.name)


def _check_int32(kind: Any, op: Operation) -> None:
    for name in _int32_attrs(kind):
        values = op.attrs[name]
        for value in values if isinstance(values, (list, tuple)) else (values,):
            if isinstance(value, int) and not -(2**31) <= value < 2**31:
                raise ValueError(f"Attr {name} has value {value} out of range for an int32")


class _ValueContext(ShapeContext):
    """What a shape rule may ask for when the operands themselves are there."""

    __slots__ = ("_values",)

    def __init__(self, op: Operation, values: Sequence[Any]):
        super().__init__(op)
        self._values = values

    def constant(self, operand: str | int) -> np.ndarray[Any, Any] | None:
        value = self._values[self._tensor(operand)[0]]
        return value if type(value) is np.ndarray else super().constant(operand)

    def as_shape(self, operand: str | int) -> Shape:
        value = self._values[self._tensor(operand)[0]]
        if type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind in "iu":
            return tuple(None if d < 0 else d for d in value.tolist())
        return super().as_shape(operand)

    def set_handle(self, data: Any, output: int = 0) -> None:
        pass


def can_check(op: Operation) -> bool:
    """Whether a node's shape rule may have more to say once its operands are there."""
    if op.kind.rules.get("shape") is None or not op._inputs or not op._outputs:
        return False
    is_open = False
    for t in op._inputs:
        dims = t._dims
        if dims is None or None in dims:
            is_open = True
            break
    if not is_open:
        return False
    for t in (*op._inputs, *op._outputs):
        dtype = t._dtype
        if dtype.is_ref or dtype is resource or dtype is variant:
            return False
    return True


def check_operands(op: Operation, values: Sequence[Any]) -> None:
    """Asks a node's shape rule about operands whose shapes were not known while the node was built.

    Args:
      op: A node for which `can_check` holds.
      values: Its flat operands: NumPy arrays where they are known, or anything with a shape.

    Raises:
      InvalidArgumentError: Their shapes do not fit the op.
    """
    rule: Rule = op.kind.rules["shape"]
    dims = [tuple(v.shape) for v in values]
    operands = group_operands(op.kind, op.attrs, dims)
    ctx = None
    keywords = rule.keywords(op.attrs, op.kind.plan.type_attrs) if rule.names or rule.wants_rest else {}
    if rule.wants_ctx:
        ctx = keywords["ctx"] = _ValueContext(op, values)
    try:
        rule.function(*operands, **keywords)
    except shapes.WindowTooLongError:
        return  # the kernel decides
    except (ValueError, OverflowError) as e:
        raise errors.InvalidArgumentError(None, None, _message(op, str(e), ctx, dims)) from None


def _message(op: Operation, text: str, ctx: ShapeContext | None, dims: Sequence[Shape] | None = None) -> str:
    if text.startswith("Invalid value in tensor used for shape"):
        return text  # TensorFlow finds this before it asks the op
    if dims is None:
        dims = [t._dims for t in op._inputs]
    rows = ", ".join("?" if d is None else shapes.to_text(d) for d in dims)
    out = f"{text} for '{op.name}' (op: '{op.type}') with input shapes: {rows}"
    if ctx is not None and ctx.asked:
        known, partial = [], []
        for i, value in sorted(ctx.asked.items()):
            if isinstance(value, tuple) and not value:
                continue
            if isinstance(value, tuple):
                partial.append(f"input[{i}] = {shapes.to_text(value)}")
            else:
                known.append(f"input[{i}] = <{_spell(np.asarray(value))}>")
        if known:
            out += " and with computed input tensors: " + ", ".join(known)
        if partial:
            out += " and with input tensors computed as partial shapes: " + ", ".join(partial)
    return out + "."


def _spell(value: np.ndarray[Any, Any]) -> str:
    if value.ndim == 0:
        return str(value)
    if value.ndim == 1:
        return " ".join(str(v) for v in value)
    return "".join(f"[{_spell(row)}]" for row in value)


# -- values that follow from constants -----------------------------------------------------------------------


def constant_value(tensor: Any) -> np.ndarray[Any, Any] | None:
    """Returns a tensor's value if it follows from constants and static shapes, else None."""
    return _known(tensor, _DEEPEST) if isinstance(tensor, Tensor) else None


def _look_through(tensor: Tensor) -> Any:
    """Returns what a tensor holds if it follows from constants, ops whose output has no known size included.

    Shape rules see that far, as TensorFlow's do; its `constant_value`, which gradients ask, does not.
    """
    return _known(tensor, _DEEPEST, sized=False)


def _known(tensor: Tensor, depth: int, sized: bool = True) -> np.ndarray[Any, Any] | None:
    op = tensor._op
    if op.type == "Const":
        return op.attrs["value"]  # type: ignore[no-any-return]
    cache = op._graph.__dict__.setdefault("_constant_values", {})
    if tensor in cache:
        return cache[tensor]  # type: ignore[no-any-return]
    if not depth:
        return None
    value = _compute(tensor, op, depth - 1, sized)
    if value is not None and sized:
        # "Not constant" is not remembered: set_shape may yet make it known.
        cache[tensor] = value
    return value  # type: ignore[no-any-return]


def _compute(tensor: Tensor, op: Operation, depth: int, sized: bool) -> Any:
    as_shape = op.kind.rules.get("as_shape")
    if op.type == "ShapeN" and depth < _DEEPEST - 1:
        # TensorFlow takes its outputs as shapes, but computes nothing from them.
        return None
    if as_shape is not None:
        found = _held_shape(as_shape, tensor)
        if found is not None and None not in found:
            dims = np.array(found, tensor._dtype.storage)
            return dims if tensor._dims is None or len(tensor._dims) == 1 else dims.reshape(())
        if not op._inputs or (sized and op.type in ("Shape", "Size", "Rank")):
            return None
    rule = op.kind.rules.get("host")
    if (
        rule is None
        or op.kind.is_stateful
        or (rule.wants_ctx and not rule.options.get("folds"))
        or not op._inputs
        or op.type.startswith("Placeholder")
    ):
        return None
    n = shapes.num_elements(tensor._dims)
    if (n is None and sized) or (n is not None and n > _SMALL):
        return None
    values = []
    for t in op._inputs:
        value = _known(t, depth, sized)
        if value is None or value.size > _SMALL:
            return None
        values.append(value)
    keywords = rule.keywords(op.attrs, op.kind.plan.type_attrs)
    if rule.wants_ctx:
        keywords["ctx"] = None
    try:
        result = rule.function(*group_operands(op.kind, op.attrs, values), **keywords)
    except Exception:
        return None  # the step itself will report what is wrong
    if type(result) in (list, tuple):
        result = result[tensor._value_index]
    return None if result is NotImplemented else np.asarray(result)


def _held_shape(rule: Rule, tensor: Tensor) -> Shape:
    """Asks an op's `as_shape` rule what an output holds; a rule with a second parameter is told which output."""
    if rule.function.__code__.co_argcount > 1:
        return rule.function(tensor._op, tensor._value_index)  # type: ignore[no-any-return]
    return rule.function(tensor._op)  # type: ignore[no-any-return]


def constant_as_shape(tensor: Any) -> Shape:
    """Returns the partial shape that a 1-D integer tensor holds (-1 is unknown); None if not even its rank is known."""
    if isinstance(tensor, np.ndarray):
        return tuple(None if d < 0 else int(d) for d in tensor.tolist())
    value = constant_value(tensor)
    if value is not None:
        if value.ndim == 0:
            if int(value) == -1:
                return None
            raise ValueError(f"Received a scalar with value '{value}' as shape; require a statically known scalar "
                             "with value '-1' to describe an unknown shape.")  # fmt: skip
        if value.ndim != 1:
            raise ValueError(f"Shape must be rank 1 but is rank {value.ndim}")
        for d in value.tolist():
            if d < -1:
                raise ValueError(f"Invalid value in tensor used for shape: {d}")
        return tuple(None if d < 0 else int(d) for d in value.tolist())
    rule = tensor.op.kind.rules.get("as_shape")
    if rule is not None and (tensor._dims is None or len(tensor._dims) == 1):
        found = _held_shape(rule, tensor)
        if found is not None:
            return found
    elif rule is None:
        value = _look_through(tensor)
        if value is not None:
            return constant_as_shape(value)
    dims = tensor._dims
    if dims is not None and len(dims) == 1 and dims[0] is not None:
        return (None,) * dims[0]  # type: ignore[no-any-return]
    return None


def dim_value(tensor: Any) -> int | None:
    """Returns the int that a scalar tensor holds, if it follows from constants or known dimensions."""
    value = constant_value(tensor)
    if value is None:
        value = _look_through(tensor)
    if value is not None:
        return int(value) if value.ndim == 0 else None
    rule = tensor.op.kind.rules.get("as_shape")
    found = _held_shape(rule, tensor) if rule is not None else None
    return found[0] if found is not None and len(found) == 1 else None


hooks.constant_as_shape = constant_as_shape
