"""Counts the floating-point operations of a step from the shapes in its graph, for any runtime (also Python 3.7)."""


def _size(shape):
    total = 1
    for d in shape.as_list():
        if d is None:
            return 0
        total *= d
    return total


def _matmul(op):
    rows = op.inputs[0].shape.as_list()
    transposed = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
    depth = rows[-2] if transposed else rows[-1]
    return 2 * (depth or 0) * _size(op.outputs[0].shape)


def _convolution(op, filters, output):
    """Each output element takes a product and a sum for each weight that leads to its channel."""
    height, width, depth, _ = filters.shape.as_list()
    if op.type.startswith("Depthwise"):
        depth = 1
    return 2 * height * width * depth * _size(output.shape)


def _of(op):
    if op.type in ("MatMul", "BatchMatMul", "BatchMatMulV2"):
        return _matmul(op)
    if op.type in ("Conv2D", "DepthwiseConv2dNative"):
        return _convolution(op, op.inputs[1], op.outputs[0])
    if op.type in ("Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput"):
        return _convolution(op, op.inputs[1], op.inputs[2])
    if op.type in ("Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter"):
        return _convolution(op, op.outputs[0], op.inputs[2])
    return 0


def count(fetches):
    """Returns operations of products of matrices and of convolutions that lead to (possibly nested) fetches."""
    waiting, seen, total = [], set(), 0
    nested = [fetches]
    while nested:
        found = nested.pop()
        if isinstance(found, (list, tuple)):
            nested.extend(found)
        else:
            waiting.append(getattr(found, "op", found))
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        total += _of(op)
        waiting.extend(t.op for t in op.inputs)
        waiting.extend(op.control_inputs)
    return total
