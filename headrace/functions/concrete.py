"""ConcreteFunction: one traced function, which nodes call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph import Tensor, get_default_graph
from headrace.graph.func_graph import FuncGraph, Function
from headrace.graph.structure import flatten, map_leaves, pack_like
from headrace.opdef import convert_to_tensor
from headrace.ops.flow.call_gradient import add_call, new_name


class ConcreteFunction:
    """A traced function: a graph with inputs and outputs; calling it adds a node that runs the graph.

    Attributes:
      graph: The FuncGraph.
    """

    def __init__(self, graph: FuncGraph, attrs: dict[str, Any] | None = None):
        self.graph = graph
        outer = graph.outer_graph
        self._function = Function(
            new_name(outer, "inference", graph.name),
            graph,
            graph.inputs,
            graph.outputs,
            graph.control_outputs,
        )
        self._function.attrs.update(attrs or {})
        self._arg_keywords: list[str] | None = None
        self._num_positional_args = 0
        captured = set(graph.internal_captures)
        self._places = [t for t in graph.inputs if t not in captured]

    @property
    def name(self) -> bytes:
        """The function's name in the graph's library."""
        return self._function.name.encode()

    @property
    def inputs(self) -> list[Tensor]:
        """The placeholders inside: those for the arguments and those for what is captured."""
        return self.graph.inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors inside that are returned."""
        return self.graph.outputs

    @property
    def structured_input_signature(self) -> Any:
        """The arguments that it was traced with, `(args, kwargs)`, with TensorSpecs for tensors."""
        return self.graph.structured_input_signature

    @property
    def structured_outputs(self) -> Any:
        """What the Python function returned, with tensors inside."""
        return self.graph.structured_outputs

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors of outer graphs that it uses."""
        return self.graph.external_captures

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables that it uses."""
        return self.graph.variables

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The variables that it uses and that optimizers train."""
        return tuple(v for v in self.graph.variables if v.trainable)

    @property
    def output_shapes(self) -> Any:
        """The shapes of what it returns, in the structure in which it returns it."""
        return map_leaves(lambda t: getattr(t, "shape", t), self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of what it returns, in the structure in which it returns it."""
        return map_leaves(lambda t: None if t is None else t.dtype, self.structured_outputs)

    @property
    def function_def(self) -> Any:
        """The function as a FunctionDef message."""
        return self._function.definition

    def add_to_graph(self, g: Any = None, register_gradient_functions: bool = False) -> None:
        """Puts the function into the library of a graph, by default the current one."""
        self._function.add_to_graph(get_default_graph() if g is None else g)

    def add_gradient_functions_to_graph(self, g: Any = None) -> None:
        """Does nothing: gradients are added when they are asked for."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function with tensors, in the order or by the names of its placeholders.

        Raises:
          TypeError: There are too many arguments, too few, or some of other names.
          ValueError: An argument is not a tensor.
        """
        return self._call_flat(self._bound(args, kwargs))

    def _bound(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        if self._arg_keywords is None:
            if kwargs:
                raise NotImplementedError(
                    "Keyword arguments are not supported when calling a wrap_function-decorated function."
                )
            return list(args)
        names, most = self._arg_keywords, self._num_positional_args
        if len(args) > most:
            raise TypeError(
                f"Expected at most {most} positional arguments (and the rest keywords, of {names}), got {tuple(args)}. "
                "When calling a concrete function, positional arguments may not be bound to Tensors within nested "
                "structures."
            )
        given = list(args)
        rest = dict(kwargs)
        for name in names[len(args) :]:
            if name not in rest:
                known = [*names[: len(args)], *kwargs]
                missing = [n for n in names if n not in known]
                raise TypeError(
                    f"Expected argument names {names} but got values for {sorted(known)}. Missing: {missing}."
                )
            given.append(rest.pop(name))
        for name in rest:
            if name in names[: len(args)]:
                raise TypeError(f"Got two values for keyword '{name}'.")
        if rest:
            raise TypeError(
                f"Got unexpected keyword arguments ({', '.join(sorted(rest))}). Expected: {names}."
            )
        return given

    def _call_flat(self, args: Sequence[Any]) -> Any:
        """Calls the function with its arguments laid flat, tensors all of them."""
        graph = get_default_graph()
        given = []
        for i, v in enumerate(args):
            if not isinstance(v, Tensor) and hasattr(v, "_dense_var_to_tensor"):
                v = convert_to_tensor(v)
            if not isinstance(v, Tensor):
                raise ValueError(
                    f"All inputs to `ConcreteFunction`s must be Tensors; on invocation of {self.graph.name}, the "
                    f"{i}-th input ({v!s}) was not a Tensor."
                )
            given.append(v)
        if len(given) != len(self._places):
            raise TypeError(
                f"{self.graph.name} takes {len(self._places)} tensors, but {len(given)} were given"
            )
        for v, inner in zip(given, self._places, strict=True):
            if v.dtype.base_dtype is not inner.dtype.base_dtype:
                raise TypeError(
                    f"cannot compute {self._function.name} as input #{self.graph.inputs.index(inner)}(zero-based) "
                    f"was expected to be a {_spelt(inner)} tensor but is a {_spelt(v)} tensor"
                )
        stands_for = dict(zip(self._places, given, strict=True))
        stands_for.update({inner: outer for outer, inner in self.graph.captures})
        node = add_call(graph, self._function, [stands_for[t] for t in self.graph.inputs])
        for t, inner in zip(node.outputs, self.graph.outputs, strict=False):
            t.set_shape(inner.shape)
        return self._structured(node)

    def _structured(self, node: Any) -> Any:
        structure = self.structured_outputs
        if structure is None:
            return node
        results = iter(node.outputs)
        flat = [None if t is None else next(results) for t in flatten(structure, composites=True)]
        return pack_like(structure, flat, composites=True)


_SPELT = {"float32": "float", "float64": "double", "float16": "half"}


def _spelt(tensor: Tensor) -> str:
    name = tensor.dtype.base_dtype.name
    return _SPELT.get(name, name)
