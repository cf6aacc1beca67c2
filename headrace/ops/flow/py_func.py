"""Python functions as nodes."""

from __future__ import annotations

import numpy as np

from headrace import errors
from headrace.dtypes import as_dtype
from headrace.opdef import export, op, raw
from headrace.opdef.python_functions import find, raised, register
from headrace.opdef.strings import attr_text

PyFunc = op("""
    PyFunc(input: Tin) -> (output: Tout)
      token: string
      Tin: list(type) >= 0
      Tout: list(type) >= 0
      stateful

    Calls a Python function of this process with NumPy arrays.
""", grad=None)  # fmt: skip

PyFuncStateless = op("""
    PyFuncStateless(input: Tin) -> (output: Tout)
      token: string
      Tin: list(type) >= 0
      Tout: list(type) >= 0

    Calls a Python function of this process that depends on nothing but its arguments.
""", grad=None)  # fmt: skip


@PyFunc.shape
@PyFuncStateless.shape
def py_func_shape(input, *, Tout):
    return [None] * len(Tout)


_SPELT = {"float32": "float", "float64": "double", "float16": "half"}


@PyFunc.host
@PyFuncStateless.host
def py_func_host(input, *, token, Tout, ctx):
    token = attr_text(token)
    held = find(token)
    try:
        # The function may write to what it is given.
        arrays = [np.array(x, order="C") for x in input]
        result = held.function(*[x if x.ndim else x[()] for x in arrays])
    except Exception as e:
        raise raised(e) from e
    values = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
    if len(values) != len(Tout):
        raise errors.InvalidArgumentError(
            None, None, f"{token} returns {len(values)} values, but expects to see {len(Tout)} values."
        )
    return [_array(i, v, as_dtype(t), token) for i, (v, t) in enumerate(zip(values, Tout, strict=True))]


def _array(i, value, dtype, token):
    array = np.asarray(value)
    if array.dtype.kind in "US":
        array = np.asarray(value, object)
    if array.dtype == object:
        flat = [v.encode() if isinstance(v, str) else v for v in array.ravel().tolist()]
        out = np.empty(len(flat), object)
        out[:] = flat
        array = out.reshape(array.shape)
    found = as_dtype("string") if array.dtype == object else as_dtype(array.dtype)
    if found is not dtype:
        names = [_SPELT.get(t.name, t.name) for t in (found, dtype)]
        raise errors.InvalidArgumentError(
            None, None, f"{i}-th value returned by {token} is {names[0]}, but expects {names[1]}"
        )
    # The function may go on writing to what it returned.
    return np.array(array)


@PyFunc.cases
def py_func_cases(case):
    @case.program
    def called_with_arrays(step):
        step(py_func(lambda x, s: (x * 2, s + b"!"), [np.float32([1, 2]), "a"], ["float32", "string"]),
             gives=[[2.0, 4.0], np.array(b"a!", object)])  # fmt: skip
        step(py_func(lambda: None, [], []))
        step(py_func(lambda: 3, [], "int32"), fails=errors.InvalidArgumentError)


@PyFuncStateless.cases
def py_func_stateless_cases(case):
    @case.program
    def called_with_arrays(step):
        step(py_func(lambda x: x + 1, [np.int64(2)], "int64", stateful=False), gives=np.int64(3))


@export("py_func")
def py_func(func, inp, Tout, stateful=True, name=None):
    """Returns what a Python function makes of the values of tensors, each time a step runs.

    Args:
      func: Called with NumPy arrays; returns an array, or a list of arrays of the types `Tout`.
      inp: The tensors.
      Tout: The type of the result, or a list of types.
      stateful: Whether calls with equal arguments may differ in what they do or return.
      name: The node's name.

    Returns:
      A tensor or a list of tensors as `Tout` says; the Operation if `Tout` is an empty list.

    Raises:
      ValueError: `func` can't be called.
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")
    is_list = isinstance(Tout, (list, tuple))
    types = [as_dtype(t) for t in (Tout if is_list else [Tout])]
    kind = raw.PyFunc if stateful else raw.PyFuncStateless
    inputs = list(inp) if isinstance(inp, tuple) else inp
    results = kind(inputs, token=register(func), Tout=types, name=name)
    if is_list:
        return results
    return results[0]


@export("numpy_function")
def numpy_function(func, inp, Tout, name=None):
    """Returns what a Python function makes of the values of tensors; see `py_func`."""
    return py_func(func, inp, Tout, stateful=True, name=name)
