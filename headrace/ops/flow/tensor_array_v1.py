"""The TensorArray ops of graphs with Switch and Merge: arrays that are changed in place, in the order of their flow.

There are three generations of each op, which differ in what their handle is: a reference to a string, a string, a
resource. Here a handle is the array itself.
"""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.graph import control_dependencies
from headrace.opdef import OPS, op, raw
from headrace.ops.flow import tensor_array_kernels as kernels
from headrace.ops.flow.tensor_array_gradients import GRADIENTS

_MAKE = """
    {name}(size: int32) -> (handle: {handle}{flow})
{attrs}
      stateful{deprecated}

    Makes an array of tensors, which lives until the step ends.
"""
_DTYPE = "      dtype: type"
_SHAPE = "      element_shape: shape = ?"
_DYNAMIC = "      dynamic_size: bool = false\n      clear_after_read: bool = true"
_NAME = '      tensor_array_name: string = ""'
_GENERATIONS = (  # ending, type of the handle, what else an array's making says, attrs, deprecated at
    ("", "Ref(string)", "", "\n".join((_DTYPE, _DYNAMIC, _NAME, _SHAPE)), 16),
    ("V2", "string", "", "\n".join((_DTYPE, _SHAPE, _DYNAMIC, _NAME)), 26),
    (
        "V3",
        "resource",
        ", flow: float",
        "\n".join((_DTYPE, _SHAPE, _DYNAMIC, "      identical_element_shapes: bool = false", _NAME)),
        None,
    ),
)


# -- shapes --------------------------------------------------------------------------------------------------


def _check_handle(handle):
    (n,) = shapes.with_rank(handle, 1)
    if n not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {n}")


def _held(ctx):
    data = ctx.handle("handle")
    return data[0][1] if data else None


def _make_shape(size):
    shapes.with_rank(size, 0)
    return (2,)


def _make_v3_shape(size, *, dtype, element_shape, identical_element_shapes, ctx):
    shapes.with_rank(size, 0)
    if shapes.is_full(element_shape) or identical_element_shapes:
        ctx.set_handle([(dtype, element_shape)])
    return [(2,), ()]


def _read_shape(handle, index, flow_in, *, ctx):
    _check_handle(handle)
    shapes.with_rank(index, 0)
    shapes.with_rank(flow_in, 0)
    return _held(ctx)


def _write_shape(handle, index, value, flow_in, *, ctx):
    _check_handle(handle)
    shapes.with_rank(index, 0)
    shapes.with_rank(flow_in, 0)
    shapes.merge(_held(ctx), value)
    return ()


def _gather_shape(handle, indices, flow_in, *, element_shape, ctx):
    _check_handle(handle)
    indices = shapes.with_rank(indices, 1)
    shapes.with_rank(flow_in, 0)
    known = _held(ctx)
    return shapes.concatenate(indices, element_shape if known is None else known)


def _scatter_shape(handle, indices, value, flow_in, *, ctx):
    _check_handle(handle)
    shapes.with_rank(indices, 1)
    shapes.with_rank(flow_in, 0)
    shapes.merge(_held(ctx), value[1:] if value else None)
    return ()


def _concat_shape(handle, flow_in):
    _check_handle(handle)
    shapes.with_rank(flow_in, 0)
    return [None, (None,)]


def _split_shape(handle, value, lengths, flow_in):
    _check_handle(handle)
    shapes.with_rank(lengths, 1)
    shapes.with_rank(flow_in, 0)
    return ()


def _size_shape(handle, flow_in):
    _check_handle(handle)
    return ()


def _close_shape(handle):
    _check_handle(handle)
    return []


def _grad_shape(handle, flow_in):
    _check_handle(handle)
    shapes.with_rank(flow_in, 0)
    return (2,)


def _grad_v3_shape(handle, flow_in, *, ctx):
    _check_handle(handle)
    shapes.with_rank(flow_in, 0)
    if ctx.handle("handle"):
        ctx.set_handle(ctx.handle("handle"))
    return [(2,), ()]


def _grad_with_shape_shape(handle, flow_in, shape_to_prepend, *, ctx):
    _check_handle(handle)
    shapes.with_rank(flow_in, 0)
    shapes.with_rank(shape_to_prepend, 1)
    data = ctx.handle("handle")
    if data:
        prefix = ctx.as_shape("shape_to_prepend")
        prefix = None if prefix is None else (None,) * len(prefix)
        ctx.set_handle([(data[0][0], shapes.concatenate(prefix, data[0][1]))])
    return [(2,), ()]


# -- the ops -------------------------------------------------------------------------------------------------

_DOC = {
    "Read": "One element, which is forgotten then unless the array says otherwise.",
    "Write": "Sets one element.",
    "Gather": "Some elements as the rows of one tensor.",
    "Scatter": "Sets some elements to the rows of a tensor.",
    "Concat": "All elements one after the other, and how many rows each has.",
    "Split": "Sets the elements to pieces of a tensor, of as many rows each as `lengths` says.",
    "Size": "The number of elements.",
    "Close": "Forgets the array.",
    "Grad": "The array of the elements' gradients, into which what is written adds up.",
    "Pack": "All elements as the rows of one tensor.",
    "Unpack": "Sets all elements to the rows of a tensor.",
}
_ONE_SHAPE = "      element_shape: shape = ?\n"
_KINDS = (  # name, operands after the handle, results, attrs, shape rule, host rule
    ("Read", "index: int32, flow_in: float", "value: dtype", _DTYPE, _read_shape, kernels.read),
    (
        "Write",
        "index: int32, value: T, flow_in: float",
        "flow_out: float",
        "      T: type",
        _write_shape,
        kernels.write,
    ),
    (
        "Gather",
        "indices: int32, flow_in: float",
        "value: dtype",
        f"{_DTYPE}\n{_ONE_SHAPE}",
        _gather_shape,
        kernels.gather,
    ),
    (
        "Scatter",
        "indices: int32, value: T, flow_in: float",
        "flow_out: float",
        "      T: type",
        _scatter_shape,
        kernels.scatter,
    ),
    (
        "Concat",
        "flow_in: float",
        "value: dtype, lengths: int64",
        f"{_DTYPE}\n      element_shape_except0: shape = ?",
        _concat_shape,
        kernels.concat,
    ),
    (
        "Split",
        "value: T, lengths: int64, flow_in: float",
        "flow_out: float",
        "      T: type",
        _split_shape,
        kernels.split,
    ),
    ("Size", "flow_in: float", "size: int32", "", _size_shape, kernels.size),
    ("Close", "", "", "", _close_shape, kernels.close),
)
# An op's own version of GraphDef from which on it is refused, where it is not its generation's.
_DEPRECATED = {"TensorArrayScatter": 19, "TensorArrayConcatV2": None, "TensorArrayUnpack": 20}


def _text(doc, *parts):
    return "\n".join(part.rstrip("\n") for part in parts if part) + f"\n\n{doc}\n"


def _mark(name, generation):
    since = _DEPRECATED.get(name, generation)
    return "" if since is None else f"      deprecated {since}"


def _declare_all():
    for ending, handle, flow, attrs, since in _GENERATIONS:
        name = f"TensorArray{ending}"
        deprecated = "" if since is None else f", deprecated {since}"
        made = op(
            _MAKE.format(name=name, handle=handle, flow=flow, attrs=attrs, deprecated=deprecated), grad=None
        )
        made.shape(_make_v3_shape if ending == "V3" else _make_shape)
        made.host(kernels.make_v3 if ending == "V3" else kernels.make_v2)
        for kind, operands, results, own, shape, host in _KINDS:
            name = f"TensorArray{kind}{ending}"
            inputs = ", ".join(part for part in (f"handle: {handle}", operands) if part)
            text = _text(_DOC[kind], f"{name}({inputs}) -> ({results})", own, _mark(name, since))
            declared = op(text, grad=GRADIENTS.get(kind))
            declared.shape(shape)
            declared.host(host)
        name = f"TensorArrayGrad{ending}"
        results = f"grad_handle: {handle}{', flow_out: float' if ending == 'V3' else ''}"
        given = "string" if not ending else handle
        stateful = "      stateful" + ("" if since is None else f", deprecated {since}")
        text = _text(
            _DOC["Grad"],
            f"{name}(handle: {given}, flow_in: float) -> ({results})",
            "      source: string",
            stateful,
        )
        grad = op(text, grad=None)
        grad.shape(_grad_v3_shape if ending == "V3" else _grad_shape)
        grad.host(kernels.grad_v3 if ending == "V3" else kernels.grad)


_declare_all()

TensorArrayGradWithShape = op("""
    TensorArrayGradWithShape(handle: resource, flow_in: float, shape_to_prepend: int32) -> (grad_handle: resource, flow_out: float)
      source: string

    The array of gradients that have more dimensions than the elements: a derivative for each of many results.
""", grad=None)  # fmt: skip  # noqa: E501
TensorArrayGradWithShape.shape(_grad_with_shape_shape)
TensorArrayGradWithShape.host(kernels.grad_with_shape)

TensorArrayPack = op("""
    TensorArrayPack(handle: Ref(string), flow_in: float) -> (value: dtype)
      dtype: type
      element_shape: shape = ?
      deprecated 16

    All elements as the rows of one tensor.
""", shape=lambda handle, flow_in: None)  # fmt: skip
TensorArrayPack.host(kernels.pack)

TensorArrayUnpack = op("""
    TensorArrayUnpack(handle: Ref(string), value: T, flow_in: float) -> (flow_out: float)
      T: type
      deprecated 20

    Sets all elements to the rows of a tensor.
""", shape=shapes.scalar)  # fmt: skip
TensorArrayUnpack.host(kernels.unpack)


def _cases(make, ending):
    """Returns the cases of one generation; `make(n, **attrs)` makes an array and gives its handle and flow."""

    def use(kind, *operands, **attrs):
        return getattr(raw, f"TensorArray{kind}{ending}")(*operands, **attrs)

    def cases(case):
        @case.program
        def each_is_written_and_read_once(step):
            handle, flow = make(3)
            flow = use("Write", handle, 1, [1.0, 2.0], flow)
            step(use("Read", handle, 1, flow, dtype="float32"), gives=[1, 2])
            step(use("Size", handle, flow), gives=3)
            again = use("Write", handle, 1, [1.0, 2.0], flow)
            step(again, fails=errors.InvalidArgumentError, match="already been written to")
            once = use("Read", handle, 1, flow, dtype="float32")
            with control_dependencies([once]):
                twice = use("Read", handle, 1, flow, dtype="float32")
            step(twice, fails=errors.InvalidArgumentError, match="cleared after a previous read")
            beyond = use("Write", handle, 3, 1.0, flow)
            step(beyond, fails=errors.InvalidArgumentError, match="not resizeable and size is: 3")
            with control_dependencies([use("Close", handle)]):
                closed = use("Size", handle, flow)
            step(closed, fails=errors.InvalidArgumentError, match="already been closed")

        @case.program
        def rows_and_pieces(step):
            handle, flow = make(1, dynamic_size=True)
            flow = use("Scatter", handle, [2, 0], [[1.0], [2.0]], flow)
            step(use("Gather", handle, [0, 2], flow, dtype="float32"), gives=[[2], [1]])
            handle, flow = make(2)
            flow = use("Split", handle, [1.0, 2.0, 3.0], np.array([1, 2]), flow)
            joined = use("Concat", handle, flow, dtype="float32")
            step(list(joined), gives=([1, 2, 3], np.array([1, 2])))
            short = use("Split", handle, [1.0, 2.0, 3.0], np.array([3]), flow)
            step(short, fails=errors.InvalidArgumentError, match="not equal to the size of lengths")

        @case.program
        def gradients_add_up(step):
            handle, flow = make(2)
            flow = use("Write", handle, 0, 7.0, flow)
            made = use("Grad", handle, flow, source="gradients")
            grads = made[0] if ending == "V3" else made
            flow = use("Write", grads, 0, 5.0, flow)
            flow = use("Write", grads, 0, 6.0, flow)
            step(use("Read", grads, 0, flow, dtype="float32"), gives=11)

    return cases


def _make_one(ending):
    def make(n, **attrs):
        made = getattr(raw, f"TensorArray{ending}")(n, dtype="float32", **attrs)
        return made if ending == "V3" else (made, 0.0)

    return make


def _pack_cases(case):
    @case.program
    def rows(step):
        handle = raw.TensorArray(2, dtype="float32")
        flow = raw.TensorArrayUnpack(handle, [[1.0], [2.0]], 0.0)
        step(raw.TensorArrayPack(handle, flow, dtype="float32"), gives=[[1], [2]])


def _with_shape_cases(case):
    @case.program
    def more_dimensions(step):
        handle, flow = raw.TensorArrayV3(1, dtype="float32", element_shape=[2])
        flow = raw.TensorArrayWriteV3(handle, 0, [1.0, 2.0], flow)
        grads, flow = raw.TensorArrayGradWithShape(handle, flow, [1], source="gradients")
        step(raw.TensorArrayReadV3(grads, 0, flow, dtype="float32"), gives=[[0, 0]])


for _ending in ("", "V2", "V3"):
    for _kind in ("", "Grad", *[each[0] for each in _KINDS]):
        OPS[f"TensorArray{_kind}{_ending}"].cases(_cases(_make_one(_ending), _ending))
for _kind in (TensorArrayPack, TensorArrayUnpack):
    _kind.cases(_pack_cases)
TensorArrayGradWithShape.cases(_with_shape_cases)
