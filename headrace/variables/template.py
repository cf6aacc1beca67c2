"""Templates: functions that make their variables the first time and find them again later."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from headrace.export import export
from headrace.graph import GraphKeys, get_default_graph
from headrace.variables.scope import VariableScope, unique_default_name, variable_scope

__all__ = ["Template", "make_template"]


@export("make_template")
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """Returns a function that calls `func_` in a variable scope of its own, so that all calls share variables.

    Args:
      name_: The scope's name, made unique.
      func_: The function; it makes variables with `tf.get_variable`.
      create_scope_now_: Whether the scope is where this is called, not where the first call is.
      unique_name_: A name for the scope that is not made unique.
      custom_getter_: A function that stands before `tf.get_variable`.
      **kwargs: Keyword arguments for each call of `func_`.

    Raises:
      ValueError: `name_` is None.
    """
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


class Template:
    """What `tf.make_template` returns: a function with a variable scope."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Any = None,
    ):
        if name is None:
            raise ValueError("name cannot be None.")
        self._func = func
        self._name = name
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._variables_created = False
        self._variable_scope: VariableScope | None = None
        self._made_at = _here()
        if create_scope_now:
            with variable_scope(
                self._unique_name or unique_default_name(self._name), custom_getter=self._custom_getter
            ) as scope:
                self._variable_scope = scope

    def _call(self, args: Any, kwargs: Any) -> Any:
        graph = get_default_graph()
        try:
            before = len(graph.get_collection(GraphKeys.TRAINABLE_VARIABLES))
            first = not self._variables_created
            all_before = len(graph.get_collection(GraphKeys.GLOBAL_VARIABLES))
            result = self._func(*args, **kwargs)
            trainable = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
            if first:
                self._variables_created = True
            elif len(trainable) > before:
                raise ValueError(
                    "Trainable variable created when calling a template after the first time, perhaps you used "
                    f"tf.Variable when you meant tf.get_variable: {trainable[before:]}"
                )
            else:
                made = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
                if len(made) > all_before:
                    from headrace.platform import tf_logging

                    tf_logging.info(
                        "New variables created when calling a template after the first time, perhaps you used "
                        "tf.Variable when you meant tf.get_variable: %s",
                        made[all_before:],
                    )
            return result
        except Exception as error:
            # The message tells where the template comes from, which the stack does not.
            if error.args and isinstance(error.args[0], str):
                where = f"\n\noriginally defined at:\n{self._made_at}"
                if where not in error.args[0]:
                    error.args = (error.args[0] + where, *error.args[1:])
            raise

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._variable_scope is not None:
            # Only a scope that was filled once is searched; one made in advance is still to be filled.
            reuse = True if self._variables_created else None
            with variable_scope(self._variable_scope, reuse=reuse):
                return self._call(args, kwargs)
        with variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter) as scope:
            self._variable_scope = scope
            return self._call(args, kwargs)

    @property
    def name(self) -> str:
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope, None before the first call."""
        return self._variable_scope

    var_scope = variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The scope's name with a `/` at its end, None before the first call."""
        if self._variable_scope is None:
            return None
        name = self._variable_scope.name
        return name if not name or name.endswith("/") else name + "/"

    def _collected(self, key: str) -> list[Any]:
        name = self.variable_scope_name
        return [] if name is None else get_default_graph().get_collection(key, name)

    @property
    def trainable_variables(self) -> list[Any]:
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def global_variables(self) -> list[Any]:
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        return self._collected(GraphKeys.LOCAL_VARIABLES)

    @property
    def variables(self) -> list[Any]:
        return self.global_variables + self.local_variables

    @property
    def trainable_weights(self) -> list[Any]:
        return self.trainable_variables

    @property
    def non_trainable_variables(self) -> list[Any]:
        trained = set(map(id, self.trainable_variables))
        return [v for v in self.variables if id(v) not in trained]

    non_trainable_weights = non_trainable_variables

    @property
    def weights(self) -> list[Any]:
        return self.variables


def _here() -> str:
    import traceback

    from headrace.graph.traceback import as_tuples, capture

    return "".join(traceback.format_list([(r[0], r[1], r[2], r[3]) for r in as_tuples(capture(3))[-3:]]))
