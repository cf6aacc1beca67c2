"""Conversion of Python functions: malt rewrites their source into calls of the operators here."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import inspect
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from malt.core import converter
from malt.impl import api as malt_api
from malt.impl import conversion as malt_conversion
from malt.operators import py_builtins
from malt.pyct import error_utils, inspect_utils
from malt.utils import ag_logging

from headrace import errors
from headrace.autograph import builtins, context, lists, operators
from headrace.autograph.api import ARTIFACT, artifact
from headrace.autograph.features import Feature
from headrace.graph import name_scope


class AutoGraphError(Exception):
    """What is the base of AutoGraph's own errors."""


class ConversionError(AutoGraphError, ValueError):
    """A function can't be converted."""


class StagingError(AutoGraphError):
    """Converted code failed with an error that can't be made again with a longer message."""


class _FunctionScope:
    """The block around the body of a converted function.

    Attributes:
      name: The name of the variable that it is in.
      callopts: The options for the functions called inside.
    """

    def __init__(self, function_name: str, scope_name: str, options: Any):
        self.name = scope_name
        self.options = options
        self.callopts = options.call_options()
        self._blocks: list[Any] = []
        if options.user_requested:
            self._blocks.append(context.entered(context.Status.ENABLED))
        if options.uses(converter.Feature.NAME_SCOPES):
            self._blocks.append(name_scope(function_name.lstrip("_") or "fn"))

    def __enter__(self) -> _FunctionScope:
        for block in self._blocks:
            block.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        for block in reversed(self._blocks):
            block.__exit__(*error)

    def ret(self, value: Any, did_return: Any) -> Any:
        """Returns what the function returns."""
        return None if isinstance(value, operators.UndefinedReturnValue) else value


def _with_function_scope(thunk: Callable[..., Any], scope_name: str, options: Any) -> Any:
    with _FunctionScope("lambda_", scope_name, options) as scope:
        return thunk(scope)


class _Transpiler(malt_api.PyToPy):
    """malt's transformer, with headrace's operators under the name `ag__`."""

    def get_transformed_name(self, node: Any) -> str:
        return "tf" + super().get_transformed_name(node).removeprefix("ag")

    def get_extra_locals(self) -> dict[str, Any]:
        if self._extra_locals is None:
            spec = importlib.machinery.ModuleSpec("malt", None)
            module = importlib.util.module_from_spec(spec)
            names = module.__dict__
            names.update(vars(malt_api))
            from malt import operators as malt_operators
            from malt import utils
            from malt.lang import special_functions

            names.update(vars(special_functions))
            names.update(vars(malt_operators))
            names.update(
                ConversionOptions=converter.ConversionOptions,
                STD=converter.STANDARD_OPTIONS,
                Feature=converter.Feature,
                utils=utils,
                FunctionScope=_FunctionScope,
                with_function_scope=_with_function_scope,
                converted_call=converted_call,
                autograph_artifact=artifact,
            )
            for source in (operators, lists):
                names.update((name, getattr(source, name)) for name in source.__all__)
            self._extra_locals = {"ag__": module}
        return self._extra_locals  # type: ignore[no-any-return]


_TRANSPILER = _Transpiler()


def _options(features: Iterable[str], recursive: bool = True) -> Any:
    return converter.ConversionOptions(
        recursive=recursive,
        user_requested=True,
        optional_features=tuple(converter.Feature[f] for f in features if f != Feature.ALL.value),
    )


def _convert(entity: Any, options: Any) -> Any:
    if not hasattr(entity, "__code__"):
        raise ValueError(
            "Cannot apply autograph to a function that doesn't expose a __code__ object. If this is a @tf.function, "
            "try passing f.python_function instead."
        )
    made, module, source_map = _TRANSPILER.transform(entity, converter.ProgramContext(options=options))
    made.__qualname__ = entity.__name__  # in messages the user sees his own name
    made.ag_module = module
    made.ag_source_map = source_map
    return made


def call(function: Callable[..., Any], args: Any, kwargs: Any, features: Iterable[str]) -> Any:
    """Converts a function, as its user asked for, and calls it.

    An error in converted code is raised again as one of the same class whose message says where in the user's own
    source it happened.
    """
    try:
        return converted_call(function, args, kwargs, options=_options(features))
    except Exception as e:
        metadata = e.__dict__.pop("ag_error_metadata", None) if hasattr(e, "__dict__") else None
        if metadata is None:
            raise
        raise metadata.to_exception(e) from e.__cause__


def converted_call(
    f: Any, args: Any, kwargs: Any = None, caller_fn_scope: Any = None, options: Any = None
) -> Any:
    """Calls a function as converted code does: converted itself, if it is a user's."""
    options = caller_fn_scope.callopts if options is None else options
    plain = functools.partial(_call_as_is, f, args, kwargs)
    if malt_conversion.is_in_allowlist_cache(f, options) or hasattr(f, ARTIFACT):
        return plain()
    if context.status() is context.Status.DISABLED:
        return plain()
    if isinstance(f, functools.partial):
        named = {**f.keywords, **(kwargs or {})}
        return converted_call(f.func, (*f.args, *args), named, caller_fn_scope, options)
    if inspect_utils.isbuiltin(f):
        return _call_builtin(f, args, kwargs, caller_fn_scope, options)
    if _is_left_alone(f, options):
        malt_conversion.cache_allowlisted(f, options)
        return plain()
    target, effective = _target(f, args)
    code = getattr(target, "__code__", None)
    if code is None or code.co_filename == "<string>":
        return plain()
    try:
        made = _convert(target, options)
    except Exception as e:
        _warn(f, e)
        malt_conversion.cache_allowlisted(f, options)
        return plain()
    try:
        return made(*effective, **(kwargs or {}))
    except Exception as e:
        _attach(e, made)
        raise


def _call_as_is(f: Any, args: Any, kwargs: Any) -> Any:
    return f(*args, **kwargs) if kwargs else f(*args)


def _call_builtin(f: Any, args: Any, kwargs: Any, scope: Any, options: Any) -> Any:
    if f is eval:
        return py_builtins.eval_in_original_context(f, args, scope)
    if f is super:
        return py_builtins.super_in_original_context(f, args, scope)
    if f is globals:
        return py_builtins.globals_in_original_context(scope)
    if f is locals:
        return py_builtins.locals_in_original_context(scope)
    if f is print and not options.uses(converter.Feature.BUILTIN_FUNCTIONS):
        return _call_as_is(f, args, kwargs)
    return _call_as_is(builtins.OVERLOADS.get(f, f), args, kwargs)


def _is_left_alone(f: Any, options: Any) -> bool:
    if malt_conversion.is_unsupported(f):
        return True
    if not options.internal_convert_user_code:
        return True
    module = getattr(inspect.getmodule(f), "__name__", "")
    if module.partition(".")[0] in ("headrace", "tensorflow", "jax", "numpy", "malt"):
        return not options.user_requested
    owner = type(f) if not (inspect.isroutine(f) or inspect.isclass(f)) else None
    if owner is not None and owner.__module__.partition(".")[0] in ("headrace", "tensorflow"):
        return True
    return not options.user_requested and malt_conversion.is_allowlisted(f)


def _target(f: Any, args: Any) -> tuple[Any, Any]:
    """Returns the plain function to convert for a callable, and the arguments that it takes."""
    if inspect.ismethod(f) or inspect.isfunction(f):
        owner = getattr(f, "__self__", None)
        return (f, args) if owner is None else (f.__func__, (owner, *args))
    if hasattr(f, "method") and hasattr(f, "__func__"):  # a method of an object that is referred to weakly
        return _target(f.method(), args)
    return type(f).__call__, (f, *args)


def _warn(f: Any, error: Exception) -> None:
    ag_logging.warning(
        "AutoGraph could not transform %s and will run it as-is.\nCause: %s\nTo silence this warning, decorate the "
        "function with @tf.autograph.experimental.do_not_convert",
        f,
        error,
    )


# -- errors ------------------------------------------------------------------------------------------------------


class _Metadata(error_utils.ErrorMetadataBase):
    """Where in the user's source an error in converted code happened."""

    __slots__ = ()

    def get_message(self) -> str:
        lines = ["in converted code:", ""]
        for frame in reversed(self.translated_stack):
            if frame.filename == __file__ and not frame.is_converted:
                continue
            mark = "  *" if frame.is_converted else ""
            lines.append(f"    {frame.filename}:{frame.lineno} {frame.function_name}{mark}")
            if frame.code is not None:
                lines.append(f"        {frame.code.strip()}")
        lines.append("")
        lines += ["    " + line for line in self.cause_message.split("\n")]
        return "\n".join([*lines, ""])

    def create_exception(self, source_error: Any) -> Any:
        kind = type(source_error)
        if isinstance(source_error, errors.OpError):
            made = kind(source_error.node_def, source_error.op, self.get_message())
            return made.with_traceback(source_error.__traceback__)
        found = super().create_exception(source_error)
        if found is not None:
            return found
        # Classes of their own may want arguments that nobody here knows.
        return source_error


def _attach(e: Any, made: Any) -> None:
    if hasattr(e, "ag_pass_through"):
        return
    before = getattr(e, "ag_error_metadata", None)
    message = f"{type(e).__name__}: {e}" if before is None else None
    frames = traceback.extract_tb(sys.exc_info()[2])[1:]
    # Where the error rises out of a function of this file, malt's own frames say nothing to a user.
    e.ag_error_metadata = _Metadata(frames, before, message, made.ag_source_map, __file__)


# -- on request --------------------------------------------------------------------------------------------------


def to_graph(entity: Any, recursive: bool, features: Iterable[str]) -> Any:
    """Returns a converted function.

    Raises:
      ConversionError: It can't be converted.
    """
    if inspect.isclass(entity):
        return _converted_class(entity, recursive, features)
    target = entity.__func__ if inspect.ismethod(entity) else entity
    try:
        return artifact(_convert(target, _options(features, recursive)))
    except (ValueError, AttributeError, KeyError, NameError, AssertionError, TypeError, OSError) as e:
        raise ConversionError(f"converting {entity}: {type(e).__name__}: {e}") from e


def _converted_class(entity: Any, recursive: bool, features: Iterable[str]) -> Any:
    methods = {
        name: to_graph(value, recursive, features)
        for name, value in vars(entity).items()
        if inspect.isfunction(value) and not (name.startswith("__") and name != "__call__")
    }
    return type("Tf" + entity.__name__, (entity,), methods)


def to_code(entity: Any, recursive: bool, features: Iterable[str]) -> str:
    """Returns the source code of a converted function."""
    return textwrap.dedent(inspect.getsource(to_graph(entity, recursive, features)))
