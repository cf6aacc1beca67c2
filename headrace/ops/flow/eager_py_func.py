"""EagerPyFunc and tf.py_function: a Python function whose tensors have values, and through which gradients flow."""

from __future__ import annotations

import collections
import threading

import numpy as np

from headrace import errors
from headrace.autodiff import gradients_between
from headrace.autodiff.paths import is_trainable
from headrace.dtypes import as_dtype
from headrace.graph import control_dependencies
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.opdef.python_functions import find, raised, register

EagerPyFunc = op("""
    EagerPyFunc(input: Tin) -> (output: Tout)
      token: string
      is_async: bool = false
      Tin: list(type) >= 0
      Tout: list(type) >= 0
      stateful

    Calls a Python function of this process with tensors that have values.
""")  # fmt: skip

_REMEMBERED = 1000  # calls whose gradient may still be asked for


class _Calls(threading.local):
    """The last call of each function in this thread: (arguments, results, the graph they are of)."""

    def __init__(self):
        super().__init__()
        self.by_token = collections.OrderedDict()

    def keep(self, token, call):
        """Keeps a call, and forgets the oldest if there are too many."""
        self.by_token[token] = call
        self.by_token.move_to_end(token)
        while len(self.by_token) > _REMEMBERED:
            self.by_token.popitem(last=False)


_calls = _Calls()


@EagerPyFunc.shape
def eager_py_func_shape(input, *, Tout):
    return [None] * len(Tout)


@EagerPyFunc.host
def eager_py_func_host(input, *, token, Tout, ctx):
    from headrace.runtime.eager import EagerGraph

    held = find(token)
    graph = EagerGraph()
    types = [as_dtype(t) for t in Tout]
    with graph.as_default():
        args = [graph.tensor(v, t._dtype.base_dtype) for v, t in zip(input, ctx.op._inputs, strict=True)]
        try:
            results = held.function(token, args, types)
        except Exception as e:
            raise raised(e) from e
        if len(results) != len(types):
            raise errors.InvalidArgumentError(
                None, None, f"{token} returns {len(results)} values, but expects to see {len(types)} values."
            )
    if getattr(held, "keeps_calls", True):
        _calls.keep(token, (args, results))
    # The function may go on writing to what it returned.
    return [np.array(v) if type(v) is np.ndarray else v for v in (t.__dict__["_value"] for t in results)]


def _results(result, types, is_list):
    """Returns what a function returned as tensors of the declared types."""
    if result is None:
        return []
    if is_list and isinstance(result, (list, tuple)):
        return [convert_to_tensor(v, dtype=t) for v, t in zip(result, types, strict=False)] + [
            convert_to_tensor(v) for v in result[len(types) :]
        ]
    if not types:
        return []
    return [convert_to_tensor(result, dtype=types[0])]


@EagerPyFunc.grad
def eager_py_func_grad(op, *dys):
    token = op.attrs["token"]

    def backwards(_, given, types):
        if token not in _calls.by_token:
            raise RuntimeError("the gradient of a py_function is asked for, but its call is long past")
        args, results = _calls.by_token.pop(token)
        graph = results[0].graph if results else args[0].graph
        with graph.as_default():
            pairs = [
                (y, graph.tensor(g.numpy(), g.dtype.base_dtype))
                for y, g in zip(results, given, strict=True)
                if is_trainable(y)
            ]
            found = [None] * len(args)
            if pairs and args:
                ys, grads = zip(*pairs, strict=True)
                found = gradients_between(list(ys), args, list(grads))
            values = [
                np.zeros(x._dims, x._dtype.storage) if g is None else convert_to_tensor(g).numpy()
                for g, x in zip(found, args, strict=True)
            ]
        return [convert_to_tensor(v, dtype=t) for v, t in zip(values, types, strict=True)]

    types = [t._dtype.base_dtype for t in op._inputs]
    with control_dependencies([op]):
        return raw.EagerPyFunc(list(dys), token=register(backwards, op._graph), Tout=types)


@export("py_function", "contrib.eager.py_func")
def py_function(func, inp, Tout, name=None):
    """Returns what a Python function makes of tensors, each time a step runs; gradients flow through it.

    Inside the function tensors have values: `.numpy()`, Python's operators and TensorFlow's functions work at once.

    Args:
      func: The function; returns a value, or a list of values of the types `Tout`.
      inp: The tensors that it is called with.
      Tout: The type of the result, or a list of types; an empty list if it returns nothing.
      name: The node's name.

    Returns:
      A tensor or a list of tensors as `Tout` says; the Operation if `Tout` is an empty list.

    Raises:
      ValueError: `func` can't be called.
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")
    is_list = isinstance(Tout, (list, tuple))

    def call(token, args, types):
        return _results(func(*args), types, is_list)

    types = [as_dtype(t) for t in (Tout if is_list else [Tout])]
    inputs = inp if not isinstance(inp, tuple) else list(inp)
    results = raw.EagerPyFunc(inputs, token=register(call), Tout=types, name=name)
    return results if is_list else results[0]


@EagerPyFunc.cases
def eager_py_func_cases(case):
    @case.program
    def tensors_have_values(step):
        x = raw.Placeholder(dtype="float32", shape=[2])
        y = py_function(lambda t: t * 2.0 + t.numpy()[0], [x], "float32")
        step(y, feed={x: [1, 2]}, gives=[3, 5])
        step(py_function(lambda t: [], [x], []), feed={x: [1, 2]})
        step(py_function(lambda: 3.0, [], "int32"), fails=errors.InvalidArgumentError)
