"""Gradients against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import errors
from headrace.autodiff import gradients
from headrace.export import export
from headrace.graph import IndexedSlices, Operation
from headrace.graph.default import get_default_session
from headrace.opdef import convert_to_tensor

Array = np.ndarray[Any, Any]


def _session() -> Any:
    session = get_default_session()
    if session is None:
        raise errors.FailedPreconditionError(None, None, "compute_gradient needs a default session")
    return session


def _parts(array: Array) -> Array:
    """Returns an array's numbers in one dimension, complex ones as their two parts; a view where it can be."""
    flat = array.reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _size(array_type: np.dtype[Any], shape: Any) -> int:
    return int(np.prod(shape, dtype=np.int64)) * (2 if array_type.kind == "c" else 1)


def _theoretical(x: Any, x_shape: Any, x_data: Array, dy: Any, y_shape: Any, dx: Any, feeds: Any) -> Array:
    """The Jacobian by the gradient: one column a component of y."""
    dtype = dy.dtype.base_dtype.as_numpy_dtype
    columns = _size(np.dtype(dtype), y_shape)
    jacobian = np.zeros((_size(x_data.dtype, x_shape), columns), x_data.real.dtype)
    for column in range(columns):
        weights = np.zeros(tuple(y_shape), dtype)
        _parts(weights)[column] = 1
        got = _session().run(dx, {x: x_data, dy: weights, **feeds})
        if isinstance(dx, IndexedSlices):
            dense = np.zeros(tuple(x_shape), x_data.dtype)
            np.add.at(dense, got.indices, got.values)
            got = dense
        jacobian[:, column] = _parts(np.array(got, x_data.dtype))
    return jacobian


def _numeric(x: Any, x_shape: Any, x_data: Array, y: Any, y_shape: Any, delta: float, feeds: Any) -> Array:
    """The Jacobian by differences: one row a component of x."""
    rows = _size(x_data.dtype, x_shape)
    y_type = np.dtype(y.dtype.base_dtype.as_numpy_dtype)
    jacobian = np.zeros((rows, _size(y_type, y_shape)), x_data.real.dtype)
    for row in range(rows):
        ends = []
        for step in (delta, -delta):
            moved = x_data.copy()
            _parts(moved)[row] += step
            ends.append(_parts(np.array(_session().run(y, {x: moved, **feeds}))))
        jacobian[row] = (ends[0] - ends[1]) / (2 * delta)
    return jacobian


def _pair(
    x: Any, x_shape: Any, x_data: Array, dx: Any, y: Any, dy: Any, y_shape: Any, delta: float, feeds: Any
) -> tuple[Array, Array]:
    return (
        _theoretical(x, x_shape, x_data, dy, y_shape, dx, feeds),
        _numeric(x, x_shape, x_data, y, y_shape, delta, feeds),
    )


@export("test.compute_gradient")
def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Returns the Jacobian of `y` by `x` twice: by the gradient and by differences. Needs a default session.

    Args:
      x: A tensor, or a list of them.
      x_shape: Its shape; a list of shapes for a list.
      y: A tensor.
      y_shape: Its shape.
      x_init_value: Where the Jacobian is taken, an array or a list of arrays; by default a random place.
      delta: How far `x` is moved for a difference.
      init_targets: What runs first: initializers, most often.
      extra_feed_dict: Further feeds.

    Returns:
      A pair of arrays [size of x, size of y]; a list of pairs for a list. A complex number counts as two.
    """
    if init_targets is not None:
        for target in init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]:
            _session().run(target) if isinstance(target, Operation) else target.run()
    feeds = dict(extra_feed_dict or {})
    single = not isinstance(x, (list, tuple))
    xs, x_shapes = ([x], [x_shape]) if single else (list(x), list(x_shape))
    values = [x_init_value] if single else list(x_init_value or [None] * len(xs))
    data = []
    for each, shape, value in zip(xs, x_shapes, values, strict=True):
        dtype = np.dtype(each.dtype.base_dtype.as_numpy_dtype)
        if value is None:
            value = np.random.random_sample(tuple(shape))
            if dtype.kind == "c":
                value = value + 1j * np.random.random_sample(tuple(shape))
        data.append(np.array(value, dtype).reshape(tuple(shape)))
    with _session().graph.as_default():
        dy = convert_to_tensor(np.ones(tuple(y_shape), y.dtype.base_dtype.as_numpy_dtype))
        dxs = gradients(y, xs, dy)
    pairs = []
    for i, (each, shape, dx) in enumerate(zip(xs, x_shapes, dxs, strict=True)):
        others = {other: value for j, (other, value) in enumerate(zip(xs, data, strict=True)) if j != i}
        pairs.append(_pair(each, shape, data[i], dx, y, dy, y_shape, delta, {**others, **feeds}))
    return pairs[0] if single else pairs


@export("test.compute_gradient_error")
def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> float:
    """Returns the largest difference between the two Jacobians of `compute_gradient`.

    Args:
      x: A tensor, or a list of them.
      x_shape: Its shape; a list of shapes for a list.
      y: A tensor.
      y_shape: Its shape.
      x_init_value: Where the Jacobian is taken; by default a random place.
      delta: How far `x` is moved for a difference.
      init_targets: What runs first.
      extra_feed_dict: Further feeds.
    """
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    return max(
        float(np.fabs(theory - numeric).max(initial=0.0))
        for theory, numeric in (found if isinstance(found, list) else [found])
    )
