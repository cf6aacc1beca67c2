"""The arguments of tf.function: how they are bound, what of them decides on a new trace."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.graph import Tensor
from headrace.graph.nest import flatten_up_to
from headrace.graph.structure import flatten, is_composite, is_nested, pack_like
from headrace.graph.type_spec import TensorSpec, TypeSpec
from headrace.opdef import constant_node, convert_to_tensor


class FunctionSpec:
    """How a Python function takes its arguments.

    Attributes:
      input_signature: The TensorSpecs that all calls must fit, or None.
      flat_signature: The same laid flat.
      arg_names: The names of the positional arguments.
      is_method: Whether the first argument is the object that the function is a method of.
    """

    def __init__(self, python_function: Callable[..., Any], input_signature: Any, is_method: bool = False):
        self.is_method = is_method
        self.fullargspec = _full_arg_spec(python_function)
        names = list(self.fullargspec.args)
        self.arg_names = names[1:] if is_method else names
        self.varargs_name = self.fullargspec.varargs
        defaults = self.fullargspec.defaults or ()
        first = len(self.arg_names) - len(defaults)
        self.defaults = {first + i: v for i, v in enumerate(defaults) if first + i >= 0}
        self.keyword_only = list(self.fullargspec.kwonlyargs)
        self.input_signature: Any = None
        self.flat_signature: Any = None
        if input_signature is None:
            return
        if self.keyword_only and set(self.keyword_only) - set(self.fullargspec.kwonlydefaults or ()):
            raise ValueError(
                "Cannot define a TensorFlow function from a Python function with keyword-only arguments when "
                "input_signature is provided."
            )
        if not isinstance(input_signature, (tuple, list)):
            raise TypeError(
                f"input_signature must be either a tuple or a list, received {type(input_signature)}"
            )
        self.input_signature = tuple(input_signature)
        self.flat_signature = tuple(flatten(self.input_signature))

    def bound(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns arguments with as many as possible in positional form, defaults filled in, arrays as tensors.

        Raises:
          TypeError: The arguments do not fit the function.
          ValueError: They do not fit the input signature.
        """
        if self.input_signature is not None:
            if len(args) > len(self.input_signature):
                raise TypeError(
                    "When input_signature is provided, only pass arguments covered by it. Received "
                    f"{len(args)} argument(s)."
                )
            for name in kwargs:
                if name not in self.arg_names:
                    raise TypeError(f"Function got an unexpected keyword argument {name}")
                if self.arg_names.index(name) >= len(self.input_signature):
                    raise TypeError(
                        "When input_signature is provided, only pass arguments covered by it. Received argument "
                        f"{name}."
                    )
        values, rest = list(args), dict(kwargs)
        for i in range(len(values), len(self.arg_names)):
            name = self.arg_names[i]
            if name in rest:
                values.append(rest.pop(name))
            elif i in self.defaults:
                values.append(self.defaults[i])
            else:
                # A gap: what comes after stays by name, and the call itself says what is missing.
                break
        if self.input_signature is None:
            values = [_with_tensors(v) for v in values]
            rest = {k: _with_tensors(rest[k]) for k in sorted(rest)}
            return tuple(values), rest
        return self._fitted(values), {}

    def _fitted(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Returns arguments as tensors that fit the input signature.

        Raises:
          TypeError: There are other kinds of sequences, or something that can't become a tensor.
          ValueError: They don't fit otherwise.
        """
        signature = self.input_signature
        inputs = tuple(values[: len(signature)])
        try:
            # A list where the signature has a tensor is one tensor.
            flat = flatten_up_to(signature, inputs)
        except ValueError:
            raise ValueError(
                "Structure of Python function inputs does not match input_signature:\n"
                f"  inputs: ({_listed(inputs)})\n  input_signature: ({_listed(signature)})"
            ) from None
        for i, (value, spec) in enumerate(zip(flat, self.flat_signature, strict=True)):
            if (
                not isinstance(spec, TensorSpec)
                or isinstance(value, (Tensor, TypeSpec))
                or is_composite(value)
            ):
                continue
            try:
                flat[i] = convert_to_tensor(value, preferred_dtype=spec.dtype)
            except ValueError:
                raise ValueError(
                    "When input_signature is provided, all inputs to the Python function must be convertible to "
                    f"tensors:\n  inputs: ({_listed(inputs)})\n  input_signature: ({_listed(signature)})"
                ) from None
        if not all(spec.is_compatible_with(v) for v, spec in zip(flat, self.flat_signature, strict=True)):
            raise ValueError(self._misfit(pack_like(signature, flat)))
        return pack_like(signature, flat)  # type: ignore[no-any-return]

    def _misfit(self, inputs: Any) -> str:
        signature = self.input_signature
        if any(isinstance(v, TensorSpec) for v in flatten(inputs)):
            return f"Python inputs incompatible with input_signature: inputs ({inputs}), input_signature ({signature})"
        return (
            "Python inputs incompatible with input_signature:\n"
            f"  inputs: (\n    {_lines(inputs)})\n  input_signature: (\n    {_lines(signature)})"
        )

    def names_of(self, args: Sequence[Any]) -> list[str]:
        """Returns a name for each positional argument."""
        names = list(self.arg_names[: len(args)])
        rest = range(len(args) - len(names))
        return names + [f"{self.varargs_name}_{i}" for i in rest]


def _full_arg_spec(function: Callable[..., Any]) -> inspect.FullArgSpec:
    if isinstance(function, functools.partial):
        inner = inspect.getfullargspec(function.func)
        signature = inspect.signature(function)
        kinds = inspect.Parameter
        args = [
            n
            for n, p in signature.parameters.items()
            if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        ]
        defaults = [
            signature.parameters[n].default
            for n in args
            if signature.parameters[n].default is not kinds.empty
        ]
        return inner._replace(
            args=args,
            defaults=tuple(defaults),
            kwonlyargs=[n for n, p in signature.parameters.items() if p.kind is kinds.KEYWORD_ONLY],
        )
    if hasattr(function, "method") and hasattr(function, "__func__"):
        function = function.method()
    elif not inspect.isroutine(function) and callable(function):
        function = function.__call__  # type: ignore[operator]
    try:
        spec = inspect.getfullargspec(inspect.unwrap(function))
    except TypeError:
        raise TypeError("unsupported callable") from None
    if inspect.ismethod(function) and spec.args[:1] in (["self"], ["cls"]):
        spec = spec._replace(args=spec.args[1:])
    return spec


def _with_tensors(structure: Any) -> Any:
    """Returns an argument with constants in place of its NumPy arrays."""
    flat = flatten(structure)
    if not any(isinstance(v, np.ndarray) for v in flat):
        return structure
    return pack_like(structure, [constant_node(v) if isinstance(v, np.ndarray) else v for v in flat])


def _listed(values: Any) -> str:
    return ", ".join(str(v) for v in values)


def _lines(values: Any) -> str:
    return ",\n    ".join(str(v) for v in values)


# -- what decides on a new trace -------------------------------------------------------------------------------


def cache_key(value: Any, with_shapes: bool = True) -> Any:
    """Returns what of an argument makes a trace usable again: types and shapes of tensors, values of all else."""
    if isinstance(value, (Tensor, TensorSpec)):
        dims = value._dims if isinstance(value, Tensor) else value._shape_tuple
        return ("T", value.dtype.base_dtype, dims if with_shapes else None)
    if is_composite(value):
        return ("C", type(value), tuple(cache_key(t, with_shapes) for t in flatten(value, composites=True)))
    if isinstance(value, TypeSpec):
        return ("S", value)
    if isinstance(value, dict):
        return ("D", type(value), tuple((k, cache_key(value[k], with_shapes)) for k in sorted(value)))
    if is_nested(value):
        return ("L", type(value), tuple(cache_key(v, with_shapes) for v in value))
    if hasattr(value, "_as_graph_element") or not _is_hashable(value):
        if isinstance(value, (set, frozenset)):
            raise AttributeError(f"'{type(value).__name__}' object has no attribute 'shape'")
        return ("I", id(value))
    return value


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def relaxed(old: Any, new: Any) -> Any:
    """Returns a tensor argument as a TensorSpec that covers it and the one that came before."""

    def leaf(a: Any, b: Any) -> Any:
        if isinstance(a, (Tensor, TensorSpec)) and isinstance(b, (Tensor, TensorSpec)):
            name = b.name if isinstance(b, TensorSpec) else None
            return TensorSpec(a.shape.most_specific_compatible_shape(b.shape), b.dtype.base_dtype, name)
        return b

    pairs = zip(flatten(old), flatten(new), strict=True)
    return pack_like(new, [leaf(a, b) for a, b in pairs])
