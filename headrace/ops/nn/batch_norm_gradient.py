"""The second gradient of fused batch normalization: the first one written out in small ops, and those differentiated.

TensorFlow differentiates what it wrote out with a tape, whose nodes stand directly in the scope of the gradient and
come in the order of a queue. The tape here gives the same nodes in the same order.
"""

from __future__ import annotations

import collections

from headrace.graph.default import get_default_graph
from headrace.opdef import raw
from headrace.ops.nn.names import public


def second_gradient(op, *grads):
    """Returns the gradients of a batch norm's gradient op with respect to its inputs."""
    dy, x, scale, mean, variance = op.inputs[:5]
    graph = get_default_graph()
    start = len(graph._ops)
    first = _training if op.attrs["is_training"] else _inference
    wide_x, wide_dy = public.cast(x, scale.dtype), public.cast(dy, scale.dtype)
    dx, dscale, doffset = first(
        wide_dy, wide_x, scale, mean, variance, op.attrs["epsilon"], op.attrs["data_format"]
    )
    targets = public.cast(dx, x.dtype), dscale, doffset
    recorded = graph._ops[start:]
    found = tape_gradients(targets, [dy, x, scale], grads[:3], recorded)
    return [*found, *[None] * (len(op.inputs) - 3)]


def _training(dy, x, scale, mean, variance, epsilon, data_format):
    keep = data_format == "NCHW"
    axes = [0, 2, 3] if keep else [0, 1, 2]
    if keep:
        scale = public.reshape(scale, [1, public.size(scale), 1, 1])
    mean_dy = public.reduce_mean(dy, axes, keepdims=keep)
    mean_x = public.reduce_mean(x, axes, keepdims=keep)
    spread = public.reduce_mean(raw.SquaredDifference(x, raw.StopGradient(mean_x)), axes, keepdims=keep)
    dy_centered = dy - mean_dy
    x_centered = x - mean_x
    mean_product = public.reduce_mean(dy * x_centered, axes, keepdims=keep)
    factor = scale * raw.Rsqrt(spread + epsilon)
    bend = raw.Reciprocal(spread + epsilon) * mean_product * x_centered
    dx = factor * (dy_centered - bend)
    inverse = raw.Rsqrt(spread + epsilon)
    dscale = inverse * public.reduce_sum(dy * x_centered, axes, keepdims=keep)
    if keep:
        dscale = public.squeeze(dscale)
    return dx, dscale, public.reduce_sum(dy, axes)


def _inference(dy, x, scale, mean, variance, epsilon, data_format):
    axes = [0, 1, 2]
    doffset = public.reduce_sum(dy, axes)
    inverse = raw.Rsqrt(variance + epsilon)
    dscale = public.reduce_sum(dy * (x - mean) * inverse, axes)
    return dy * scale * inverse, dscale, doffset


def tape_gradients(targets, sources, seeds, recorded):
    """Returns the gradient of each source, None where nothing leads to it.

    Args:
      targets: Tensors to differentiate.
      sources: Tensors to differentiate by.
      seeds: The gradients with respect to the targets.
      recorded: The operations between the two, in the order of their making.
    """
    depends = set(sources)
    for op in recorded:
        if depends.intersection(op.inputs):
            depends.update(op.outputs)
    makers = {t: op for op in recorded for t in op.outputs if t in depends}
    uses = _count_uses(targets, makers, depends)
    waiting = {}
    for t, n in uses.items():
        if t in makers and n:
            waiting[makers[t]] = waiting.get(makers[t], 0) + 1
    gradients = collections.defaultdict(list)
    for t, seed in zip(targets, seeds, strict=True):
        gradients[t].append(seed)
    queue = collections.deque(makers[t] for t in targets if t in makers and not waiting.get(makers[t]))
    while queue:
        op = queue.popleft()
        rule = op.kind.gradient
        incoming = [_added(gradients.pop(t, [])) for t in op.outputs]
        if rule is None:
            outgoing = [None] * len(op.inputs)
        elif op.type == "AddV2" and op.inputs[1] not in depends and op.inputs[1]._rank() == 0:
            outgoing = [incoming[0], None]  # a tape knows that nobody asks for the scalar's gradient
        else:
            outgoing = rule(op, *incoming)
        outgoing = outgoing if isinstance(outgoing, (list, tuple)) else [outgoing]
        for t, g in zip(op.inputs, outgoing, strict=True):
            if t not in depends:
                continue
            if g is not None:
                gradients[t].append(g)
            uses[t] -= 1
            if uses[t] == 0 and t in makers:
                waiting[makers[t]] -= 1
                if not waiting[makers[t]]:
                    queue.append(makers[t])
    return [_added(gradients.get(t, [])) for t in sources]


def _count_uses(targets, makers, depends):
    """Returns how many inputs of operations below the targets each tensor is."""
    uses = collections.Counter()
    seen = set()
    stack = [makers[t] for t in targets if t in makers]
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        for t in op.inputs:
            if t in depends:
                uses[t] += 1
                if t in makers:
                    stack.append(makers[t])
    return uses


def _added(gradients):
    if not gradients:
        return None
    return gradients[0] if len(gradients) == 1 else public.add_n(gradients)
