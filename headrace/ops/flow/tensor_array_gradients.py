"""The gradients of TensorArray ops: what flows back through an array is an array of gradients."""

from __future__ import annotations

from headrace.graph import control_dependencies, get_default_graph, name_scope
from headrace.opdef import raw


def _source_of(grad):
    """Returns which call of `tf.gradients` a gradient comes from, by its name.

    In the body of a loop's gradient it is the call that goes through the loop: inside and outside arrays are the same.

    Raises:
      ValueError: The name has no part that starts with "gradients".
    """
    parts, places = _places(grad.name)
    graph = get_default_graph().outer_graph
    while graph is not None:
        outer = _places(graph.get_name_scope())
        parts, places = outer if outer[1] else (parts, places)
        graph = graph.outer_graph
    if not places:
        raise ValueError(
            "Expected op/tensor name to start with gradients (excluding scope), got: "
            f"{grad.name}. This means that a tf.gradients op with this op in its dependency path has a custom name "
            "that does not start with 'gradients'. Please make sure all calls to tf.gradients that have non-empty "
            "'name' arguments use names that start with 'gradients'."
        )
    return "/".join(parts[: places[-1] + 1])


def _places(name):
    """Returns the parts of a name, and at which of them is one of `tf.gradients`."""
    parts = name.split("/")
    return parts, [i for i, part in enumerate(parts) if part.startswith("gradients")]


def _gradients_of(handle, flow, grad):
    """Returns the array of gradients, and a flow that says that it is there."""
    with (
        name_scope(None, "TensorArrayGrad", [handle]),
        get_default_graph().colocate_with(handle.op),
    ):
        array, _ = raw.TensorArrayGradV3(handle, flow, source=_source_of(grad))
        with control_dependencies([array]):
            return array, raw.Identity(flow, name="gradient_flow")


def _read(op, grad):
    handle, index, flow = op.inputs
    array, flow = _gradients_of(handle, flow, grad)
    with name_scope(None, "TensorArrayWrite", [array]):
        return None, None, raw.TensorArrayWriteV3(array, index, grad, flow)


def _write(op, dflow):
    handle, index, value, _ = op.inputs
    array, flow = _gradients_of(handle, dflow, dflow)
    grad = raw.TensorArrayReadV3(array, index, flow, dtype=value.dtype.base_dtype)
    return None, None, grad, dflow


def _gather(op, grad):
    handle, indices, flow = op.inputs
    array, flow = _gradients_of(handle, flow, grad)
    with name_scope(None, "TensorArrayScatter", [array]):
        return None, None, raw.TensorArrayScatterV3(array, indices, grad, flow)


def _scatter(op, dflow):
    handle, indices, value, _ = op.inputs
    array, flow = _gradients_of(handle, dflow, dflow)
    grad = raw.TensorArrayGatherV3(array, indices, flow, dtype=value.dtype.base_dtype)
    return None, None, grad, dflow


def _concat(op, grad, _):
    handle, flow = op.inputs
    array, flow = _gradients_of(handle, flow, grad)
    with name_scope(None, "TensorArraySplit", [array]):
        return None, raw.TensorArraySplitV3(array, grad, op.outputs[1], flow)


def _split(op, dflow):
    handle, value, _, _ = op.inputs
    array, flow = _gradients_of(handle, dflow, dflow)
    grad, _ = raw.TensorArrayConcatV3(array, flow, dtype=value.dtype.base_dtype)
    return None, grad, None, dflow


GRADIENTS = {
    "Read": _read,
    "Write": _write,
    "Gather": _gather,
    "Scatter": _scatter,
    "Concat": _concat,
    "Split": _split,
}
