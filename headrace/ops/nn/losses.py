"""Public cross entropies and the loss of counts: graphs made of other ops."""

from __future__ import annotations

import math

from headrace.export import export
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.nn.names import only_named, public, renamed
from headrace.shapes import compatible


@export("nn.softmax_cross_entropy_with_logits_v2")
def softmax_cross_entropy_with_logits_v2(labels, logits, axis=None, name=None, dim=None):
    """Returns the cross entropy between labels and softmax(logits), with gradients to both.

    Args:
      labels: Probabilities, of the logits' shape and type.
      logits: Unscaled log probabilities.
      axis: The axis of the classes, by default the last.
      name: A name for the operation.
      dim: The deprecated name of `axis`.
    """
    axis = renamed("axis", axis, "dim", dim)
    return _softmax_cross_entropy(labels, logits, -1 if axis is None else axis, name)


@export("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    _sentinel=None, labels=None, logits=None, dim=-1, name=None, axis=None
):  # fmt: skip
    """Returns the cross entropy between labels and softmax(logits), with no gradient to the labels.

    Args:
      _sentinel: Nothing; it keeps positional arguments out.
      labels: Probabilities, of the logits' shape and type.
      logits: Unscaled log probabilities.
      dim: The axis of the classes.
      name: A name for the operation.
      axis: Another name of `dim`.
    """
    dim = renamed("axis", axis, "dim", None if axis is not None and dim == -1 else dim)
    only_named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with public.name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        labels = raw.StopGradient(convert_to_tensor(labels), name="labels_stop_gradient")
    return _softmax_cross_entropy(labels, logits, dim, scope)


def _softmax_cross_entropy(labels, logits, axis, name):
    with public.name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        dtype = logits.dtype.base_dtype
        narrow = dtype.name in ("float16", "bfloat16")
        exact = public.cast(logits, "float32") if narrow else logits
        labels = public.cast(labels, exact.dtype)
        rank = public.rank(exact)
        dims = logits._dims
        if axis != -1 and not (dims is not None and axis == len(dims) - 1):
            exact = _axis_to_end(exact, axis, rank)
            labels = _axis_to_end(labels, axis, rank)
        shape = public.shape(exact)
        flat, flat_labels = _flatten_outer(exact), _flatten_outer(labels)
        loss = raw.SoftmaxCrossEntropyWithLogits(flat, flat_labels, name=scope).loss
        outer = raw.Slice(shape, [0], [raw.Sub(rank, 1)])
        loss = raw.Reshape(loss, outer)
        if dims is not None and exact._dims is not None:
            kept = list(dims)
            del kept[axis]
            loss.set_shape(kept)
        return public.cast(loss, dtype) if narrow else loss


def _axis_to_end(x, axis, rank):
    order = public.concat([public.range(axis), public.range(axis + 1, rank), [axis]], 0)
    return public.transpose(x, order)


def _flatten_outer(x):
    """Reshapes to two axes: all outer ones in one, then the last."""
    rank = public.rank(x)
    last = raw.Slice(public.shape(x), [raw.Sub(rank, 1)], [1])
    flat = raw.Reshape(x, public.concat([[-1], last], 0))
    dims = x._dims
    if dims is not None and None not in dims:
        flat.set_shape([math.prod(dims[:-1]), dims[-1]])
    return flat


@export("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """Returns the cross entropy of softmax(logits) where one class is right.

    Args:
      _sentinel: Nothing; it keeps positional arguments out.
      labels: The right class of each row, int32 or int64, of the logits' shape less its last axis.
      logits: Unscaled log probabilities.
      name: A name for the operation.

    Raises:
      ValueError: The shapes do not fit.
    """
    only_named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with public.name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        dtype = logits.dtype.base_dtype
        narrow = dtype.name == "float16"
        exact = public.cast(logits, "float32") if narrow else logits
        label_shape = public.shape(labels)
        dims, label_dims = logits._dims, labels._dims
        outer = None if dims is None else dims[:-1]
        full = outer is not None and None not in outer and label_dims is not None and None not in label_dims
        _check_sparse_shapes(dims, label_dims, full, outer)
        if dims is not None and len(dims) == 2:
            loss = raw.SparseSoftmaxCrossEntropyWithLogits(exact, labels, name=name).loss
            return public.cast(loss, dtype) if narrow else loss
        checks = []
        if not full:
            checks.append(public.assert_equal(public.shape(labels), public.shape(logits)[:-1]))
        with public.control_dependencies(checks):
            classes = public.shape(logits)[raw.Sub(public.rank(logits), 1, name="sub")]
            loss = raw.SparseSoftmaxCrossEntropyWithLogits(
                public.reshape(exact, [-1, classes]), public.reshape(labels, [-1]), name=name
            ).loss
            loss = public.reshape(loss, label_shape)
            loss.set_shape(label_dims)
            return public.cast(loss, dtype) if narrow else loss


def _check_sparse_shapes(dims, label_dims, full, outer):
    if dims is not None and len(dims) == 0:
        raise ValueError("Logits cannot be scalars - received shape ().")
    if dims is not None and label_dims is not None and len(label_dims) != len(dims) - 1:
        raise ValueError(
            f"Rank mismatch: Rank of labels (received {len(label_dims)}) should equal rank of logits minus 1 (received "
            f"{len(dims)})."
        )
    if full and label_dims != outer:
        raise ValueError(
            f"Shape mismatch: The shape of labels (received {label_dims}) should equal the shape of logits except for "
            f"the last dimension (received {dims})."
        )


@export("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """Returns the cross entropy between labels and sigmoid(logits), element by element.

    Args:
      _sentinel: Nothing; it keeps positional arguments out.
      labels: Probabilities, of the logits' shape and type.
      logits: Unscaled log odds.
      name: A name for the operation.

    Raises:
      ValueError: The shapes differ.
    """
    only_named("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with public.name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        _same_shape("logits and labels", logits, labels)
        zeros = public.zeros_like(logits, dtype=logits.dtype)
        positive = raw.GreaterEqual(logits, zeros, name="GreaterEqual")
        rectified = raw.Select(positive, logits, zeros)
        minus_magnitude = raw.Select(positive, raw.Neg(logits), logits)
        linear = raw.Sub(rectified, raw.Mul(logits, labels, name="mul"), name="sub")
        return raw.Add(linear, raw.Log1p(raw.Exp(minus_magnitude)), name=scope)


@export("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None, targets=None):
    """Returns the cross entropy between labels and sigmoid(logits) with positive labels weighted.

    Args:
      labels: Probabilities, of the logits' shape and type.
      logits: Unscaled log odds.
      pos_weight: The factor on positive labels.
      name: A name for the operation.
      targets: The deprecated name of `labels`.

    Raises:
      ValueError: The shapes differ.
    """
    labels = renamed("labels", labels, "targets", targets)
    with public.name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        _same_shape("logits and labels", logits, labels)
        weight = 1 + (pos_weight - 1) * labels
        straight = (1 - labels) * logits
        bent = raw.AddV2(
            raw.Log1p(raw.Exp(raw.Neg(raw.Abs(logits)))), raw.Relu(raw.Neg(logits)), name="add"
        )  # fmt: skip
        return raw.Add(straight, weight * bent, name=scope)


def _same_shape(what, first, second):
    if not compatible(first._dims, second._dims):
        raise ValueError(f"{what} must have the same shape ({first.shape} vs {second.shape})")


@export("nn.log_poisson_loss")
def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """Returns the negative log likelihood of counts, less a constant unless asked for in full.

    Args:
      targets: The counts.
      log_input: The log of the predicted mean.
      compute_full_loss: Adds Stirling's approximation of log(targets!).
      name: A name for the operation.

    Raises:
      ValueError: The shapes differ.
    """
    with public.name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input = convert_to_tensor(log_input, name="log_input")
        targets = convert_to_tensor(targets, name="targets")
        _same_shape("log_input and targets", log_input, targets)
        loss = raw.Sub(raw.Exp(log_input), raw.Mul(log_input, targets, name="mul"), name="sub")
        if not compute_full_loss:
            return loss
        half = public.constant(0.5, dtype=targets.dtype)
        two_pi = public.constant(2 * math.pi, dtype=targets.dtype)
        stirling = targets * raw.Log(targets) - targets + half * raw.Log(two_pi * targets)
        zeros = public.zeros_like(targets, dtype=targets.dtype)
        ones = public.ones_like(targets, dtype=targets.dtype)
        small = public.logical_and(targets >= zeros, targets <= ones)
        return loss + raw.Select(small, zeros, stirling)
