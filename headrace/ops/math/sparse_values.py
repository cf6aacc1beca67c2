"""Elementwise functions of sparse tensors that keep zeros: they work on the values alone."""

from __future__ import annotations

from typing import Any

from headrace.graph.default import name_scope


def is_sparse(x: Any) -> bool:
    """Whether `x` is a SparseTensor; the class lies in a layer above."""
    return type(x).__name__ == "SparseTensor" and hasattr(x, "dense_shape")


def with_values(x: Any, values: Any) -> Any:
    """Returns a SparseTensor like `x` with other values."""
    return type(x)(indices=x.indices, values=values, dense_shape=x.dense_shape)


def on_values(x: Any, function: Any, name: str | None, default: str) -> Any:
    """Applies a function to a SparseTensor's values.

    TensorFlow tries the dense function first, which fails after it has taken the name; hence node names like Abs_1.
    """
    with name_scope(name, default):
        pass
    return with_values(x, function(x.values, name=name))
