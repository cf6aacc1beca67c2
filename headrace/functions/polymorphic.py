"""tf.function: a Python function that is traced anew for each kind of arguments it is called with."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any

from headrace.export import export, export_value
from headrace.functions.arguments import FunctionSpec, cache_key, relaxed
from headrace.functions.concrete import ConcreteFunction
from headrace.functions.lifting import LiftedVariable
from headrace.functions.trace import trace_function
from headrace.graph import Tensor, get_default_graph
from headrace.graph.structure import flatten
from headrace.graph.type_spec import TypeSpec
from headrace.variables.creation import variable_creator_scope


class Function:
    """What `tf.function` returns: call it like the Python function, with tensors.

    Each kind of arguments (dtypes and shapes of tensors, values of all else) has a trace of its own, a
    ConcreteFunction; each graph has its own traces. The Python function may make variables in its first call only.

    Args:
      python_function: The Python function.
      name: The function's name.
      input_signature: A sequence of TensorSpecs that all calls must fit; there is one trace then.
      autograph: Whether Python's `if`, `while`, `for` ... over tensors become nodes.
      experimental_autograph_options: AutoGraph's optional features.
      experimental_relax_shapes: Traces with less specific shapes once calls differ in shapes only.
      experimental_compile: Marks the function to be compiled by XLA.
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str,
        input_signature: Any = None,
        autograph: bool = True,
        experimental_autograph_options: Any = None,
        experimental_relax_shapes: bool = False,
        experimental_compile: Any = None,
    ):
        self._python_function = python_function
        self._name = name
        self._autograph = autograph
        self._experimental_autograph_options = experimental_autograph_options
        self.experimental_relax_shapes = experimental_relax_shapes
        self._experimental_compile = experimental_compile
        self._function_spec = FunctionSpec(python_function, input_signature)
        self._traces: weakref.WeakKeyDictionary[Any, dict[Any, ConcreteFunction]] = (
            weakref.WeakKeyDictionary()
        )
        self._seen: dict[Any, Any] = {}  # arguments by everything but shapes
        self._created: list[weakref.ref[Any]] = []
        self._was_traced = False
        self._being_traced: list[Any] = []
        self._bound: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        self._self_reference: Any = None

    # -- what it is --------------------------------------------------------------------------------------------
    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._python_function

    @property
    def input_signature(self) -> Any:
        """The TensorSpecs that all calls must fit, or None."""
        return self._function_spec.input_signature

    @property
    def function_spec(self) -> FunctionSpec:
        """How the Python function takes its arguments."""
        return self._function_spec

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self._python_function

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Returns the function as a method of an object; each object has traces and variables of its own."""
        if instance is None:
            return self
        try:
            found = self._bound.get(instance)
        except TypeError:
            return self._method_of(instance)
        if found is None:
            found = self._bound[instance] = self._method_of(instance)
        return found

    def _method_of(self, instance: Any) -> Function:
        method = self._copy(_bound_method(self._python_function, instance))
        method._self_reference = weakref.ref(instance) if _can_refer(instance) else (lambda: instance)
        return method

    def _copy(self, python_function: Callable[..., Any]) -> Function:
        return Function(
            python_function,
            self._name,
            self.input_signature,
            self._autograph,
            self._experimental_autograph_options,
            self.experimental_relax_shapes,
            self._experimental_compile,
        )

    def _decorate(self, decorator: Callable[..., Any]) -> None:
        if self._was_traced:
            raise ValueError("Functions cannot be decorated after they have been traced.")
        self._python_function = decorator(self._python_function)
        self._function_spec = FunctionSpec(self._python_function, self.input_signature)

    # -- calls -------------------------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function: adds a node to the default graph and returns what the Python function returned."""
        if self.input_signature is not None and get_default_graph() not in self._traces:
            # What is wrong with the function itself is said before what is wrong with the arguments.
            self._concrete(self.input_signature, {})
        if self.input_signature is None and not self._was_traced:
            # As in TensorFlow, arrays among the arguments leave a constant behind for the first trace.
            self._concrete(*self._function_spec.bound(args, kwargs))
        values, rest = self._function_spec.bound(args, kwargs)
        concrete, values, rest = self._concrete(values, rest)
        return concrete._call_flat(_tensors(values, rest))

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Returns the trace for some arguments; TensorSpecs may stand for tensors.

        Raises:
          ValueError: The arguments do not fit the input signature.
        """
        was_traced = self._was_traced
        if self.input_signature is not None and not args and not kwargs:
            values: tuple[Any, ...] = self.input_signature
            rest: dict[str, Any] = {}
        else:
            values, rest = self._function_spec.bound(args, kwargs)
        concrete, values, rest = self._concrete(values, rest)
        if not was_traced and not self._created:
            _initialize_nothing()
        if concrete._arg_keywords is None:
            concrete._arg_keywords, concrete._num_positional_args = _call_names(concrete, values)
        return concrete

    def get_initialization_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Returns a function that initializes the variables that the first call makes.

        Raises:
          RuntimeError: The function was called already.
        """
        if self._was_traced:
            raise RuntimeError(
                "get_initialization_function cannot be called after the function has been used"
            )
        values, rest = self._function_spec.bound(args, kwargs)
        self._concrete(values, rest)
        made = [v for each in self._created if (v := each()) is not None]

        def initialize_variables() -> None:
            for v in made:
                v.initializer  # noqa: B018

        return ConcreteFunction(trace_function("initialize_variables", initialize_variables, (), {}))

    # -- traces ------------------------------------------------------------------------------------------------
    def _concrete(self, args: Any, kwargs: Any) -> tuple[ConcreteFunction, Any, Any]:
        """Returns the trace for bound arguments, made if need be, and the arguments."""
        graph = get_default_graph()
        traces = self._traces.setdefault(graph, {})
        context = (
            tuple(id(each) for each in graph._devices._stack if callable(each)),
            tuple(op for op, _ in graph._colocation),
        )
        everything = (args, kwargs)
        if self.input_signature is not None:
            key: Any = context
            args = self.input_signature if not self._was_traced or key not in traces else args
        else:
            key = (cache_key(everything), context)
        found = traces.get(key)
        if found is None and self.experimental_relax_shapes and self.input_signature is None:
            found, key, args, kwargs = self._relaxed(traces, context, args, kwargs)
        if found is None:
            if self.input_signature is not None:
                args = self.input_signature
            found = traces[key] = self._traced(args, kwargs)
        return found, everything[0], everything[1]

    def _relaxed(self, traces: dict[Any, Any], context: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
        """Looks for, or prepares, a trace with less specific shapes."""
        rough = (cache_key((args, kwargs), with_shapes=False), context)
        old = self._seen.get(rough)
        # The second kind of shapes has a trace of its own; all that come after share one.
        self._seen[rough] = met = 1 if old is None else old[0] + 1, args, kwargs
        if old is not None:
            self._seen[rough] = met = met[0], relaxed(old[1], args), relaxed(old[2], kwargs)
        if met[0] < 3:
            return None, (cache_key((args, kwargs)), context), args, kwargs
        _, new_args, new_kwargs = met
        key = (cache_key((new_args, new_kwargs)), context)
        return traces.get(key), key, new_args, new_kwargs

    def _traced(self, args: Any, kwargs: Any) -> ConcreteFunction:
        if self._was_traced:
            with variable_creator_scope(_refuse):
                return self._trace(args, kwargs)
        made: list[Any] = []
        started: list[Any] = []

        def create(next_creator: Any, **arguments: Any) -> Any:
            started.append(arguments)
            variable = LiftedVariable(**arguments)
            made.append(variable)
            self._created.append(weakref.ref(variable))
            return variable

        self._was_traced = True
        try:
            with variable_creator_scope(create):
                concrete = self._trace(args, kwargs)
            if made:
                with variable_creator_scope(_refuse):
                    concrete = self._trace(args, kwargs)
                _initialize_nothing()
        except BaseException:
            self._was_traced = bool(made)
            raise
        self._made = made  # they live as long as the function
        return concrete

    def _trace(self, args: Any, kwargs: Any) -> ConcreteFunction:
        spec = self._function_spec
        features = self._experimental_autograph_options
        key = cache_key((args, kwargs))
        if key in self._being_traced:
            raise ValueError(
                f"Function '{self._name}' calls itself with arguments of the same types and shapes: tracing it would "
                "never end. Use tf.while_loop, or a Python argument that counts down."
            )
        self._being_traced.append(key)
        try:
            graph = trace_function(
                self._name,
                self._python_function,
                args,
                kwargs,
                spec.names_of(args),
                autograph=(features or True) if self._autograph else False,
            )
        finally:
            self._being_traced.pop()
        attrs = {}
        if self._experimental_compile is not None:
            attrs["_XlaCompile"] = bool(self._experimental_compile)
        return ConcreteFunction(graph, attrs)


def _can_refer(instance: Any) -> bool:
    try:
        weakref.ref(instance)
    except TypeError:
        return False
    return True


def _bound_method(function: Callable[..., Any], instance: Any) -> Callable[..., Any]:
    """Returns a function as a method of an object that it does not keep alive."""
    if not _can_refer(instance):
        return functools.partial(function, instance)
    return (inspect.isfunction(function) and _WeakMethod(function, instance)) or function.__get__(instance)  # type: ignore[attr-defined]


class _WeakMethod:
    """A method of an object that it does not keep alive."""

    def __init__(self, function: Callable[..., Any], instance: Any):
        self.__func__ = function
        self._instance = weakref.ref(instance)
        self.__name__ = getattr(function, "__name__", "method")
        self.__doc__ = function.__doc__

    @property
    def __self__(self) -> Any:
        return self._instance()

    def method(self) -> Callable[..., Any]:
        """Returns the method itself.

        Raises:
          ValueError: The object is gone.
        """
        instance = self._instance()
        if instance is None:
            raise ValueError("weakly-referenced object no longer exists")
        return self.__func__.__get__(instance)  # type: ignore[attr-defined,no-any-return]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.method()(*args, **kwargs)


def _tensors(args: Any, kwargs: dict[str, Any]) -> list[Any]:
    """Returns the tensors among arguments, in the order in which they were made placeholders."""
    found = []
    for value in (args, *[kwargs[k] for k in sorted(kwargs)]):
        for leaf in flatten(value, composites=True):
            if isinstance(leaf, Tensor):
                found.append(leaf)
            elif isinstance(leaf, TypeSpec):
                shown = str(type(leaf)).replace(
                    type(leaf).__module__, "tensorflow.python.framework.tensor_spec"
                )
                raise TypeError(
                    f"Failed to convert object of type {shown} to Tensor. Contents: {leaf}. Consider casting elements "
                    "to a supported type."
                )
    return found


def _call_names(concrete: ConcreteFunction, args: Any) -> tuple[list[str], int]:
    """Returns the names by which a concrete function takes its tensors, and how many may come without one."""
    names: list[str] = []
    for t in concrete._places:
        wanted = t.op.attrs.get("_user_specified_name", t.op.name)
        name, i = wanted, 0
        while name in names:
            i += 1
            name = f"{wanted}_{i}"
        names.append(name)
    positional = 0
    for value in args:
        leaves = flatten(value)
        if len(leaves) == 1 and leaves[0] is value:
            positional += isinstance(value, (Tensor, TypeSpec))
        else:
            break
    return names, positional


def _initialize_nothing() -> None:
    # TensorFlow adds a call that initializes nothing in graph mode; names of later nodes count it.
    ConcreteFunction(trace_function("initialize_variables", lambda: None, (), {}))._call_flat([])


def _refuse(next_creator: Any, **arguments: Any) -> Any:
    raise ValueError("tf.function-decorated function tried to create variables on non-first call.")


@export("function")
def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: Any = None,
) -> Any:
    """Returns a function whose calls are single nodes of the graph; usable as a decorator, with or without arguments.

    Args:
      func: The Python function.
      input_signature: A sequence of TensorSpecs that all calls must fit; there is one trace then.
      autograph: Whether Python's control flow over tensors becomes nodes.
      experimental_autograph_options: Optional features of AutoGraph: `tf.autograph.experimental.Feature` values.
      experimental_relax_shapes: Traces with less specific shapes once calls differ in shapes only.
      experimental_compile: Marks the function to be compiled by XLA.

    Returns:
      A Function, or a decorator if `func` is None.

    Raises:
      TypeError: `func` can't be called, or `input_signature` is no sequence of TensorSpecs.
    """
    if input_signature is not None:
        _check_signature(input_signature)

    def decorated(inner: Any) -> Any:
        if isinstance(inner, Function):
            inner = inner.python_function
        made = Function(
            inner,
            getattr(inner, "__name__", type(inner).__name__),
            input_signature,
            autograph,
            experimental_autograph_options,
            experimental_relax_shapes,
            experimental_compile,
        )
        made.__name__ = made._name  # type: ignore[attr-defined]
        made.__doc__ = getattr(inner, "__doc__", None)
        made.__module__ = getattr(inner, "__module__", made.__module__)
        made._tf_decorator = made  # type: ignore[attr-defined]
        return made

    return decorated if func is None else decorated(func)


def _check_signature(signature: Any) -> None:
    if any(not isinstance(each, TypeSpec) for each in flatten(signature)):
        raise TypeError(
            f"Invalid input_signature {signature}; input_signature must be a possibly nested sequence of TensorSpec "
            "objects."
        )


@export("contrib.eager.defun", "python.eager.function.defun")
def defun(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """Returns what `tf.function` returns; its name before TensorFlow 1.14."""
    return function(
        func, input_signature, autograph, experimental_autograph_options, experimental_relax_shapes
    )


export_value("contrib.eager.function", function)
export_value("python.eager.def_function.Function", Function)
export_value("python.eager.function.ConcreteFunction", ConcreteFunction)
