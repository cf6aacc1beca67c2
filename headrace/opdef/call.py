"""Adding a node: operands become tensors, attrs are inferred and checked, the graph gets the node."""

from __future__ import annotations

import collections
import contextlib
from typing import Any

from headrace.dtypes import DType
from headrace.graph import hooks, stack
from headrace.graph.leaving import around_branches, brought_out
from headrace.graph.tensor import Tensor
from headrace.graph.traceback import capture
from headrace.opdef import attrs as attr_values
from headrace.opdef.signature import NO_DEFAULT, Arg, Attr, Signature


class Plan:
    """A signature prepared for the hot path of graph building.

    Attributes:
      inputs: For each input (name, fixed dtype, type attr, allowed types, the Arg), `Arg` being the slow path's.
      simple: No input is a list or a reference: one loop does.
      rest: The attrs that no input determines, in order.
      outputs: For each output (fixed dtype, type attr, is_ref, the Arg).
      single: There is one output and it is not a list.
    """

    def __init__(self, signature: Signature):
        self.signature = signature
        self.input_names = tuple(a.name for a in signature.inputs)
        self.n_inputs = len(signature.inputs)
        self.simple = not any(a.is_list or a.is_ref for a in signature.inputs)
        inferred: set[str] = set()
        self.inputs: list[tuple[str, DType | None, str | None, Any, Arg]] = []
        for a in signature.inputs:
            allowed = None
            if a.type_attr is not None:
                allowed_types = signature.attrs[a.type_attr].allowed
                allowed = None if allowed_types is None else frozenset(allowed_types)
            self.inputs.append((a.name, a.dtype, a.type_attr, allowed, a))
            inferred.update(n for n in (a.type_attr, a.number_attr, a.type_list_attr) if n is not None)
        self.inferred = frozenset(inferred)
        self.rest: list[tuple[str, Attr, Any]] = [
            (n, a, a.default) for n, a in signature.attrs.items() if n not in inferred
        ]
        self.attr_names = tuple(a[0] for a in self.rest)
        self.type_attrs = frozenset(
            n for n, a in signature.attrs.items() if a.type.endswith(("type", "type)"))
        )
        self.outputs = [(a.dtype, a.type_attr, a.is_ref, a) for a in signature.outputs]
        self.single = len(signature.outputs) == 1 and not signature.outputs[0].is_list
        self.simple_outputs = not any(a.is_list or a.is_ref for a in signature.outputs)
        self._tuple: Any = None

    def output_types(self, attrs: dict[str, Any]) -> list[DType]:
        """Returns the dtypes of all outputs, lists laid flat."""
        out: list[DType] = []
        for fixed, type_attr, is_ref, arg in self.outputs:
            if arg.type_list_attr is not None:
                types = list(attrs[arg.type_list_attr])
            else:
                dtype = fixed if fixed is not None else attrs[type_attr or ""]
                types = [dtype] * (attrs[arg.number_attr] if arg.number_attr is not None else 1)
            out.extend(t._as_ref if is_ref else t for t in types)
        return out

    def reference_inputs(self, attrs: dict[str, Any]) -> list[int]:
        """Returns the positions, among the inputs laid flat, of those that are references."""
        found: list[int] = []
        start = 0
        for arg, size in zip(self.signature.inputs, self.sizes(self.signature.inputs, attrs), strict=True):
            n = 1 if size is None else size
            if arg.is_ref:
                found.extend(range(start, start + n))
            start += n
        return found

    def sizes(self, args: tuple[Arg, ...], attrs: dict[str, Any]) -> list[int | None]:
        """Returns for each argument how many tensors it is, None for one that is no list."""
        out: list[int | None] = []
        for a in args:
            if a.type_list_attr is not None:
                out.append(len(attrs[a.type_list_attr]))
            elif a.number_attr is not None:
                out.append(attrs[a.number_attr])
            else:
                out.append(None)
        return out

    def structure(self, op: Any, operation: Any) -> Any:
        """Returns what a call of the op returns, for ops with no, list or several outputs."""
        outputs, sizes = operation._outputs, self.sizes(self.signature.outputs, operation.attrs)
        if not sizes:
            return operation
        parts: list[Any] = []
        i = 0
        for n in sizes:
            if n is None:
                parts.append(outputs[i])
                i += 1
            else:
                parts.append(list(outputs[i : i + n]))
                i += n
        if len(parts) == 1:
            return parts[0] if parts[0] else operation
        if self._tuple is None:
            names = [a.name for a in self.signature.outputs]
            self._tuple = collections.namedtuple(op.name, names)  # type: ignore[misc]
        return self._tuple(*parts)


def apply(op: Any, operands: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
    """Adds one node and returns its Operation; see `Op.__call__`."""
    plan = op._plan or op.plan
    n = plan.n_inputs
    if len(operands) != n or attrs:
        operands, attrs = _bind(op, plan, operands, attrs)
    # The graph is that of the first tensor among the operands.
    graph = None
    for v in operands:
        if type(v) is Tensor:
            graph = v._op._graph
            items = stack.graphs.items
            if items and items[-1] is not graph and items[-1].building_function:
                graph = items[-1]  # the body of a function captures tensors of the graphs around it
            elif graph._way_out is not None and not (items and items[-1] is graph):
                graph = around_branches(graph)
            break
    else:
        graph = _graph_of(operands)
    if graph._finalized:
        graph._check_not_finalized()
    if plan.simple:
        node_attrs: dict[str, Any] = {}
        for v, (_, fixed, type_attr, allowed, _) in zip(operands, plan.inputs, strict=True):
            if type(v) is not Tensor:
                break
            if v._op._graph is not graph:
                break
            dtype = v._dtype
            if dtype.is_ref:
                dtype = dtype._base
            if fixed is not None:
                if dtype is not fixed:
                    break
            else:
                known = node_attrs.get(type_attr)
                if known is None:
                    if (allowed is not None and dtype not in allowed) or (attrs and type_attr in attrs):
                        break
                    node_attrs[type_attr] = dtype
                elif known is not dtype:
                    break
        else:
            if plan.rest:
                for key, attr, default in plan.rest:
                    if attrs and key in attrs:
                        value = attrs[key]
                        if value is None and default is not NO_DEFAULT:
                            value = default
                        else:
                            value = attr_values.convert(attr, value, op.name)
                    elif default is NO_DEFAULT:
                        raise TypeError(f"No argument for attr {key}")
                    else:
                        value = default
                    node_attrs[key] = value
            if plan.simple_outputs:
                types = [fixed or node_attrs[type_attr] for fixed, type_attr, _, _ in plan.outputs]
            else:
                types = plan.output_types(node_attrs)
            return graph.add(op, name, operands, node_attrs, types, capture(3))
    return _apply_slowly(op, plan, graph, operands, attrs, name)


def _bind(
    op: Any, plan: Plan, operands: tuple[Any, ...], attrs: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Sorts positional and named arguments into operands and attrs."""
    n = plan.n_inputs
    if len(operands) < n:
        attrs = dict(attrs)
        values = list(operands)
        for input_name in plan.input_names[len(operands) :]:
            if input_name not in attrs:
                raise TypeError(f"{op.name}() missing the argument '{input_name}'")
            values.append(attrs.pop(input_name))
        operands = tuple(values)
    elif len(operands) > n:
        attrs = dict(attrs)
        extra = operands[n:]
        if len(extra) > len(plan.attr_names):
            raise TypeError(
                f"{op.name}() takes {n + len(plan.attr_names)} arguments, but {len(operands)} were given"
            )
        for key, value in zip(plan.attr_names, extra, strict=False):
            attrs[key] = value
        operands = operands[:n]
    known = plan.signature.attrs
    for key in attrs:
        if key not in known and key[0] != "_":
            import difflib

            near = difflib.get_close_matches(key, [*known, *plan.input_names], 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"{op.name}() got an unexpected keyword argument '{key}'{hint}")
    return operands, attrs


def _graph_of(operands: tuple[Any, ...]) -> Any:
    from headrace.graph.default import graph_of

    for v in operands:
        if v.__class__ in (list, tuple) or hasattr(v, "_as_graph_element"):
            return graph_of(operands)
    items = stack.graphs.items
    return items[-1] if items else stack.graphs.shared()


def _apply_slowly(
    op: Any, plan: Plan, graph: Any, operands: tuple[Any, ...], attrs: dict[str, Any], name: str | None
) -> Any:
    """Does the same with conversions, lists, references and all error messages."""
    frames = capture(4)
    scope = graph._enter_name_scope(name or op.name)
    old, graph._name_stack = graph._name_stack, scope
    entered = None
    if graph is not stack.graphs.get():
        entered = graph.as_default()
        entered.__enter__()
    try:
        inputs, node_attrs = _convert_operands(op, plan, graph, operands, attrs)
    finally:
        graph._name_stack = old
        if entered is not None:
            entered.__exit__(None, None, None)
    _fill_attrs(op, plan, node_attrs, attrs)
    types = plan.output_types(node_attrs)
    if plan.simple:
        return graph.add(op, scope + "/", tuple(inputs), node_attrs, types, frames)
    # A node that takes a reference stands where the variable does.
    with contextlib.ExitStack() as places:
        for i in plan.reference_inputs(node_attrs):
            places.enter_context(graph.colocate_with(inputs[i].op))
        return graph.add(op, scope + "/", tuple(inputs), node_attrs, types, frames)


def _fill_attrs(op: Any, plan: Plan, node_attrs: dict[str, Any], given: dict[str, Any]) -> None:
    for key, attr in plan.signature.attrs.items():
        if key in node_attrs:
            continue
        value = given.get(key)
        if value is None and not (key in given and attr.type in ("shape", "func") and not attr.has_default):
            if not attr.has_default:
                raise TypeError(f"No argument for attr {key}")
            node_attrs[key] = attr.default
        else:
            node_attrs[key] = attr_values.convert(attr, value, op.name)
    for key, value in given.items():
        if key[0] == "_":
            node_attrs[key] = value


def _convert_operands(
    op: Any, plan: Plan, graph: Any, operands: tuple[Any, ...], given: dict[str, Any]
) -> tuple[list[Tensor], dict[str, Any]]:
    signature = plan.signature
    known: dict[str, Any] = {}
    for key, value in given.items():
        if key in plan.inferred and value is not None:
            known[key] = attr_values.convert(signature.attrs[key], value, op.name)
    source: dict[str, str] = {}  # the input that determined a type attr
    inputs: list[Tensor] = []
    for arg, value in zip(signature.inputs, operands, strict=True):
        if arg.is_list:
            tensors = _convert_list(op, signature, arg, value, known, source)
        else:
            tensors = [_convert_one(op, signature, arg, value, known, source)]
        for t in tensors:
            if t._op._graph is not graph and not graph.building_function:
                t = brought_out(t, graph)
            if t._op._graph is not graph and not graph.building_function:
                raise ValueError(f"{t} must be from the same graph as {_any_tensor(operands, graph)}.")
            inputs.append(t)
    # Nodes for Python values come before the placeholders of what is captured.
    return [graph.capture(t) if t._op._graph is not graph else t for t in inputs], known


def _any_tensor(operands: tuple[Any, ...], graph: Any) -> Any:
    for v in operands:
        for each in v if isinstance(v, (list, tuple)) else (v,):
            if getattr(each, "graph", None) is graph:
                return each
    return graph


def _convert_one(
    op: Any, signature: Signature, arg: Arg, value: Any, known: dict[str, Any], source: dict[str, str]
) -> Tensor:
    dtype, preferred = arg.dtype, None
    if arg.type_attr is not None:
        dtype = known.get(arg.type_attr)
        default = signature.attrs[arg.type_attr].default
        preferred = None if default is NO_DEFAULT else default
    try:
        t = hooks.convert_to_tensor(
            value, dtype=dtype, name=arg.name, as_ref=arg.is_ref, preferred_dtype=preferred
        )
    except TypeError as e:
        if dtype is None:
            raise
        raise TypeError(
            f"Expected {dtype.name} passed to parameter '{arg.name}' of op '{op.name}', got {value!r} of type "
            f"'{type(value).__name__}' instead. Error: {e}"
        ) from e
    except ValueError as e:
        if _dtype_of(value) is None:
            raise ValueError(f"Tried to convert '{arg.name}' to a tensor and failed. Error: {e}") from e
        if dtype is None:
            raise
        raise _conversion_error(op, arg, value, dtype, source) from e
    if arg.is_ref and not t._dtype.is_ref:
        raise TypeError(
            f"'{op.name}' Op requires that input '{arg.name}' be a mutable tensor (e.g.: a tf.Variable)"
        )
    base = t._dtype.base_dtype
    if arg.type_attr is not None:
        if dtype is None:
            _check_type(signature.attrs[arg.type_attr], arg, base)
            known[arg.type_attr] = base
        elif base is not dtype:
            raise _conversion_error(op, arg, t, dtype, source)
        source.setdefault(arg.type_attr, arg.name)
    elif base is not arg.dtype:
        raise _conversion_error(op, arg, t, dtype, source)
    return t  # type: ignore[no-any-return]


def _check_type(attr: Attr, arg: Arg, dtype: DType) -> None:
    if attr.allowed is not None and dtype not in attr.allowed:
        names = ", ".join(d.name for d in attr.allowed)
        raise TypeError(
            f"Value passed to parameter '{arg.name}' has DataType {dtype.name} not in list of allowed values: {names}"
        )


def _dtype_of(value: Any) -> DType | None:
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, DType):
        try:
            dtype = hooks.convert_to_tensor(value).dtype
        except (TypeError, ValueError):
            return None
    return getattr(dtype, "base_dtype", None)


def _conversion_error(
    op: Any, arg: Arg, value: Any, dtype: DType | None, source: dict[str, str]
) -> Exception:
    got = _dtype_of(value)
    prefix = f"Input '{arg.name}' of '{op.name}' Op has type {got.name if got else '?'} that does not match"
    if got is None:
        want = dtype.name if dtype else "?"
        return ValueError(
            f"Tried to convert '{arg.name}' to a tensor and failed. Error: {value!r} is no value of type {want}."
        )
    if arg.dtype is not None:
        return TypeError(f"{prefix} expected type of {arg.dtype.name}.")
    if arg.type_attr in source:
        assert dtype is not None
        return TypeError(f"{prefix} type {dtype.name} of argument '{source[arg.type_attr]}'.")
    return TypeError(f"{prefix} type {dtype.name if dtype else '?'} of attr '{arg.type_attr}'.")


def _convert_list(
    op: Any, signature: Signature, arg: Arg, value: Any, known: dict[str, Any], source: dict[str, str]
) -> list[Tensor]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"Expected list for '{arg.name}' argument to '{attr_values.snake_case(op.name)}' Op, not {value!r}."
        )
    if arg.type_list_attr is not None:
        return _convert_mixed_list(op, signature, arg, value, known)
    dtype = arg.dtype
    if arg.type_attr is not None:
        dtype = known.get(arg.type_attr)
        if dtype is None:
            dtype = next((v.dtype.base_dtype for v in value if isinstance(v, Tensor)), None)
    preferred = None
    if dtype is None and arg.type_attr is not None:
        default = signature.attrs[arg.type_attr].default
        preferred = None if default is NO_DEFAULT else default
    try:
        tensors = []
        for i, v in enumerate(value):
            t = hooks.convert_to_tensor(
                v,
                dtype=None if arg.is_ref else dtype,
                name=f"{arg.name}_{i}",
                as_ref=arg.is_ref,
                preferred_dtype=preferred,
            )
            tensors.append(t)
            # Numbers do not follow the type of other numbers, only that of the first tensor.
            if t.dtype.base_dtype is not (dtype or tensors[0].dtype.base_dtype):
                raise TypeError
    except (TypeError, ValueError) as e:
        types = [d.name if (d := _dtype_of(v)) else "<NOT CONVERTIBLE TO TENSOR>" for v in value]
        listed = ", ".join(types)
        text = f"Tensors in list passed to '{arg.name}' of '{op.name}' Op have types [{listed}]"
        if "<NOT CONVERTIBLE TO TENSOR>" in types and isinstance(e, ValueError):
            raise
        if arg.dtype is not None:
            raise TypeError(f"{text} that do not match expected type {arg.dtype.name}.") from e
        if arg.type_attr in source:
            raise TypeError(
                f"{text} that do not match type {known[arg.type_attr].name} inferred from earlier arguments."
            ) from e
        raise TypeError(f"{text} that don't all match.") from e
    if dtype is None and tensors:
        dtype = tensors[0].dtype.base_dtype
    assert arg.number_attr is not None
    n = known.setdefault(arg.number_attr, len(tensors))
    if n != len(tensors):
        first = next(
            (a.name for a in signature.inputs if a.number_attr == arg.number_attr and a.name != arg.name), "?"
        )
        raise ValueError(
            f"List argument '{arg.name}' to '{op.name}' Op with length {len(tensors)} must match length {n} of "
            f"argument '{first}'."
        )
    minimum = signature.attrs[arg.number_attr].minimum
    if minimum is None:
        minimum = 1
    if len(tensors) < minimum:
        raise ValueError(
            f"List argument '{arg.name}' to '{op.name}' Op with length {len(tensors)} shorter than minimum length "
            f"{minimum}."
        )
    if arg.type_attr is not None:
        if dtype is None:
            default = signature.attrs[arg.type_attr].default
            if default is NO_DEFAULT:
                raise TypeError(f"Don't know how to infer type variable from empty input list passed to input "
                                f"'{arg.name}' of '{op.name}' Op.")  # fmt: skip
            dtype = default
        if arg.type_attr not in known:
            _check_type(signature.attrs[arg.type_attr], arg, dtype)
            known[arg.type_attr] = dtype
        source.setdefault(arg.type_attr, arg.name)
    return tensors


def _convert_mixed_list(
    op: Any, signature: Signature, arg: Arg, value: Any, known: dict[str, Any]
) -> list[Tensor]:
    assert arg.type_list_attr is not None
    types = known.get(arg.type_list_attr)
    if types is not None and len(types) != len(value):
        raise ValueError(
            f"List argument '{arg.name}' to '{op.name}' Op with length {len(value)} must match length {len(types)} "
            f"of attr '{arg.type_list_attr}'."
        )
    tensors = [
        hooks.convert_to_tensor(
            v, dtype=None if types is None else types[i], name=f"{arg.name}_{i}", as_ref=arg.is_ref
        )
        for i, v in enumerate(value)
    ]
    attr = signature.attrs[arg.type_list_attr]
    known[arg.type_list_attr] = attr_values.convert(attr, [t.dtype.base_dtype for t in tensors], op.name)
    return tensors


def complete(
    op: Any, inputs: tuple[Tensor, ...], attrs: dict[str, Any], types: list[DType] | None
) -> tuple[dict[str, Any], list[DType]]:
    """Fills in and checks the attrs of a node whose inputs are laid flat (create_op, imported nodes).

    Raises:
      ValueError: An attr is missing, of a wrong type, or does not agree with the inputs.
    """
    plan = op.plan
    signature: Signature = plan.signature
    attrs = dict(attrs)
    rest = list(inputs)
    for arg in signature.inputs:
        if arg.type_list_attr is not None:
            if arg.type_list_attr in attrs:
                n = len(attrs[arg.type_list_attr])
            else:
                n = len(rest)
                attrs[arg.type_list_attr] = tuple(t.dtype.base_dtype for t in rest)
        elif arg.number_attr is not None:
            n = attrs.setdefault(arg.number_attr, len(rest))
        else:
            n = 1
        mine, rest = rest[:n], rest[n:]
        if len(mine) < n:
            raise ValueError(f"Not enough inputs for op '{op.name}': its argument '{arg.name}' takes {n}")
        for i, t in enumerate(mine):
            base = t._dtype.base_dtype
            if arg.type_list_attr is not None:
                want = attrs[arg.type_list_attr][i]
            elif arg.type_attr is not None:
                want = attrs.setdefault(arg.type_attr, base)
            else:
                want = arg.dtype
            if want is not base:
                raise ValueError(
                    f"Input {len(inputs) - len(rest) - n + i} of node was passed {base.wire_name} from {t.name} "
                    f"incompatible with expected {want.wire_name}."
                )
            if arg.is_ref and not t._dtype.is_ref:
                raise ValueError(
                    f"Input '{arg.name}' of op '{op.name}' must be a reference, but {t.name} is not"
                )
    if rest:
        raise ValueError(f"Too many inputs for op '{op.name}': {len(rest)} are left over")
    for key, attr in signature.attrs.items():
        if key not in attrs:
            if not attr.has_default:
                raise ValueError(f"NodeDef missing attr '{key}' from Op<name={op.name}>")
            attrs[key] = attr.default
        else:
            attrs[key] = attr_values.convert(attr, attrs[key], op.name)
    return attrs, plan.output_types(attrs)
