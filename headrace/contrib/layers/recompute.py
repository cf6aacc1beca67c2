"""tf.contrib.layers.recompute_grad."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from headrace.autodiff import recompute_grad as recomputed
from headrace.export import NAMES, export


@export("contrib.layers.recompute_grad")
def recompute_grad(
    fn: Callable[..., Any], use_data_dep: Any = None, tupleize_grads: bool = False
) -> Callable[..., Any]:
    """Returns a function like `fn` that is computed again for its gradient, so that nothing in it needs to be kept.

    Unlike what `tf.recompute_grad` takes, `fn` may make variables with `tf.get_variable`.

    Args:
      fn: A function of tensors that returns a tensor or a list of them.
      use_data_dep: Not used: it is computed again once the gradient of its results is there.
      tupleize_grads: Not used.
    """

    @functools.wraps(fn)
    def wrapped(*args: Any) -> Any:
        scope = NAMES["get_variable_scope"]()
        calls = itertools.count()

        def once_more(*inner: Any) -> Any:
            if next(calls) == 0:
                return fn(*inner)
            with NAMES["variable_scope"](scope, reuse=True):
                return fn(*inner)

        return recomputed(once_more)(*args)

    return wrapped
