"""tensorflow.python.ops.functional_ops: branches and loops whose bodies are functions of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export, export_value
from headrace.functions.concrete import ConcreteFunction
from headrace.functions.defun import Defun, get_extra_args
from headrace.opdef import convert_to_tensor, raw

_PLACE = "python.ops.functional_ops."


def _result_types(function: Any) -> list[Any]:
    """Returns the dtypes of what a function returns."""
    if isinstance(function, ConcreteFunction):
        return [t.dtype.base_dtype for t in function.outputs]
    return [dtypes.as_dtype(arg.type) for arg in function.definition.signature.output_arg]


def _argument_types(function: Any) -> list[Any]:
    if isinstance(function, ConcreteFunction):
        return [t.dtype.base_dtype for t in function.inputs]
    return list(function.declared_input_types)


def _captured(function: Any) -> list[Any]:
    return list(function.captured_inputs)


def _plain(function: Any) -> Any:
    """Returns what the attr of a node takes: concrete functions have their names in bytes."""
    return function._function if isinstance(function, ConcreteFunction) else function


@export(_PLACE + "If")
def If(cond: Any, inputs: Sequence[Any], then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """Returns what one of two functions makes of the inputs.

    Args:
      cond: A scalar. False are zero, an empty string and False.
      inputs: The arguments.
      then_branch: A Defun.
      else_branch: A Defun with as many results of the same dtypes.
      name: The node's name.
    """
    given = list(inputs)
    if isinstance(then_branch, ConcreteFunction):
        given += _captured(then_branch)
    return raw.If(
        cond,
        given,
        Tout=_result_types(then_branch),
        then_branch=_plain(then_branch),
        else_branch=_plain(else_branch),
        name=name,
    )


@export(_PLACE + "While")
def While(
    input_: Sequence[Any], cond: Any, body: Any, name: str | None = None, hostmem: Sequence[int] | None = None
) -> Any:
    """Returns what a function makes of its own results, as long as a condition of them is true.

    Args:
      input_: What it starts with.
      cond: A Defun that returns a boolean.
      body: A Defun that returns as many values as it takes.
      name: The node's name.
      hostmem: Which of the inputs TensorFlow keeps on the host.

    Raises:
      ValueError: `cond` captures tensors.
    """
    if _captured(cond):
        raise ValueError(
            f"While op 'cond' argument must be a function without implicitly captured inputs. cond: {cond}"
        )
    types = _argument_types(body)[: len(input_)]
    given = list(input_)
    captured = _captured(body)
    if captured:
        given += captured
        cond, body = _wrapped_cond(cond, types, captured), _wrapped_body(body, types)
    marks = {}
    if hostmem:
        marks = {"_input_hostmem": tuple(hostmem), "_output_hostmem": tuple(hostmem)}
    tensors = [convert_to_tensor(v) if hasattr(v, "dtype") else v for v in given]
    found = raw.While(tensors, cond=_plain(cond), body=_plain(body), name=name, **marks)
    return found[: len(input_)] if tensors else found


def _wrapped_cond(cond: Any, types: Sequence[Any], captured: Sequence[Any]) -> Any:
    more = [t.dtype for t in captured]

    @Defun(*types, *more, func_name=f"{cond.name}_Wrapper")
    def wrapper(*args: Any) -> Any:
        """A wrapper that handles loop-carried captured inputs."""
        return cond(*args[: len(types)])

    return wrapper


def _wrapped_body(body: Any, types: Sequence[Any]) -> Any:
    """Returns a loop's body that also hands on what it captures."""

    @Defun(*types, func_name=f"{body.name}_Wrapper")
    def wrapper(*args: Any) -> Any:
        """A wrapper that handles loop-carried captured inputs."""
        return (*_listed(body(*args)), *get_extra_args())

    return wrapper


def _listed(results: Any) -> list[Any]:
    """Returns the results of a call in a list; of a call without results there are none."""
    if isinstance(results, tuple):
        return list(results)
    return [results] if hasattr(results, "dtype") else []


@export(_PLACE + "For")
def For(
    start: Any,
    limit: Any,
    delta: Any,
    inputs: Sequence[Any],
    body: Any,
    name: str | None = None,
    hostmem: Sequence[int] | None = None,
    rewrite_with_while: bool | None = None,
) -> Any:
    """Returns what a function makes of its own results, called with start, start + delta, ... below limit.

    Args:
      start: The first number.
      limit: Where to stop.
      delta: The step.
      inputs: What it starts with.
      body: A Defun of the number and the values; returns the values.
      name: The node's name.
      hostmem: Which of the inputs TensorFlow keeps on the host.
      rewrite_with_while: Builds a While node.
    """
    if rewrite_with_while:
        return _for_as_while(start, limit, delta, inputs, body, name, hostmem)
    given = list(inputs)
    captured = _captured(body)
    if captured:
        given += captured
        body = _wrapped_body(body, _argument_types(body)[: len(inputs) + 1])
    marks = {}
    if hostmem:
        places = tuple(p + 3 for p in hostmem)
        marks = {"_input_hostmem": places, "_output_hostmem": tuple(hostmem)}
    found = raw.For(start, limit, delta, given, body=_plain(body), name=name, **marks)
    return found[: len(inputs)] if given else found


def _for_as_while(
    start: Any, limit: Any, delta: Any, inputs: Sequence[Any], body: Any, name: Any, hostmem: Any
) -> Any:
    types = _argument_types(body)[1 : len(inputs) + 1]
    step = NAMES["abs"](delta)
    span = NAMES["abs"](limit - start) + step - 1
    n = NAMES["cast"](NAMES["cast"](span, dtypes.float32) / NAMES["cast"](step, dtypes.float32), dtypes.int32)
    captured = _captured(body)
    more = [*types, *[t.dtype for t in captured]]
    given = [0, n, start, delta, *inputs]

    @Defun(*[dtypes.int32] * 4, *more, func_name=f"{body.name}_Cond")
    def go_on(i: Any, n: Any, *args: Any) -> Any:
        return i < n

    def work(i: Any, n: Any, start: Any, delta: Any, *args: Any) -> Any:
        """A While wrapper for forbody that handles loop-carried captured inputs."""
        results = _listed(body(start + i * delta, *args))
        return (i + 1, n, start, delta, *results, *get_extra_args())

    whole = Defun(*[dtypes.int32] * 4, *types, func_name=f"{body.name}_Body")(work)
    places = [0, 1, 2, 3, *[p + 4 for p in hostmem or ()]]
    marks = {"_input_hostmem": tuple(places), "_output_hostmem": tuple(places)}
    found = raw.While([*given, *captured], cond=_plain(go_on), body=_plain(whole), name=name, **marks)
    return found[4 : 4 + len(inputs)]


@export(_PLACE + "remote_call")
def remote_call(
    args: Sequence[Any], Tout: Sequence[Any], f: Any, target: Any, name: str | None = None
) -> Any:
    """Returns what a function makes of `args` on a device, `target`.

    Args:
      args: The arguments.
      Tout: The dtypes of the results.
      f: A Defun.
      target: The device's name.
      name: The node's name.
    """
    return raw.RemoteCall(target, list(args), Tout=list(Tout), f=_plain(f), name=name)


@export(_PLACE + "symbolic_gradient")
def symbolic_gradient(input: Sequence[Any], Tout: Sequence[Any], f: Any, name: str | None = None) -> Any:
    """Returns the gradients of a function's arguments, given the arguments and the gradients of its results.

    Args:
      input: The arguments and the gradients.
      Tout: The dtypes of the arguments.
      f: A Defun.
      name: The node's name.
    """
    return raw.SymbolicGradient(list(input), Tout=list(Tout), f=_plain(f), name=name)


def map_defun(
    fn: Any,
    elems: Sequence[Any],
    output_dtypes: Sequence[Any],
    output_shapes: Sequence[Any],
    max_intra_op_parallelism: int = 1,
) -> Any:
    """Returns what a function makes of each row of some tensors, stacked.

    Args:
      fn: A Defun or a ConcreteFunction.
      elems: The tensors, all with as many rows.
      output_dtypes: The dtypes of the function's results.
      output_shapes: Their shapes.
      max_intra_op_parallelism: Not used.

    Raises:
      ValueError: `elems` is no list.
    """
    if not isinstance(elems, list):
        raise ValueError("`elems` must be a list of tensors.")
    if not isinstance(output_dtypes, list):
        raise ValueError("`output_dtypes` must be a list of `tf.DType` objects.")
    if not isinstance(output_shapes, list):
        raise ValueError("`output_shapes` must be a list of `tf.TensorShape` objects.")
    given = [convert_to_tensor(e) for e in elems]
    return raw.MapDefun(
        given,
        _captured(fn),
        output_types=output_dtypes,
        output_shapes=output_shapes,
        f=_plain(fn),
        max_intra_op_parallelism=max_intra_op_parallelism,
    )


export_value("python.data.experimental.ops.map_defun.map_defun", map_defun)
