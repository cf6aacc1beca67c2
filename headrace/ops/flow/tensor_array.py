"""tf.TensorArray: an array of tensors that is written element by element, kept as a tensor list."""

from __future__ import annotations

import contextlib

import numpy as np

from headrace import dtypes, shapes
from headrace.dtypes import as_dtype
from headrace.export import NAMES
from headrace.graph import Tensor, get_default_graph, name_scope, numbering
from headrace.graph.functional import numbered
from headrace.opdef import constant_node, constant_value, convert_to_tensor, export, raw
from headrace.opdef.element_shapes import as_operand
from headrace.resources.array_log import ArrayFacts
from headrace.tensor_shape import TensorShape, to_tuple


@export("TensorArray")
class TensorArray:
    """An array of tensors of one type, each of which is written and read on its own.

    Writing gives a new TensorArray, which has to be used from then on. It may be a loop variable of `tf.while_loop`
    and what a branch of `tf.cond` returns; gradients flow through it.

    An element is written once, and read once unless `clear_after_read` is False. After `tf.enable_control_flow_v2()`
    both may be done any number of times. One that was never written counts as zeros where its shape is known. Nodes
    have the names that TensorFlow's have in either case.

    Args:
      dtype: The elements' type.
      size: How many elements there are, an int or a scalar int32 tensor.
      dynamic_size: Whether writing beyond the end makes the array longer.
      clear_after_read: Whether an element can be read once only, as is TensorFlow 1's default.
      tensor_array_name: What messages call it, `TensorArray` by default.
      handle: Not used here: what holds the array is `flow`.
      flow: The tensor list of another TensorArray, to be used instead of a new one.
      infer_shape: Whether all elements have one shape.
      element_shape: What is known of the elements' shape.
      colocate_with_first_write_call: No effect here.
      name: The new list's name.

    Raises:
      ValueError: Neither `size` nor `flow` is given, or both.
    """

    def __init__(
        self,
        dtype,
        size=None,
        dynamic_size=None,
        clear_after_read=None,
        tensor_array_name=None,
        handle=None,
        flow=None,
        infer_shape=True,
        element_shape=None,
        colocate_with_first_write_call=True,
        name=None,
    ):
        del colocate_with_first_write_call
        clears = clear_after_read in (None, True)
        self._home, self._handle = (
            None,
            object(),
        )  # the graph it was made in, and what stands for its handle there
        if handle is not None:
            raise ValueError("A TensorArray has no handle here: pass the other one's flow")
        if flow is not None and size is not None:
            raise ValueError("Cannot provide both a flow and size at the same time")
        if flow is None and size is None:
            raise ValueError("Size must be provided if flow is not provided")
        self._dtype = as_dtype(dtype).base_dtype
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape
        # What is known of the elements' shape: shared by all arrays that were made of this one by writing.
        self._known = [None if element_shape is None else to_tuple(TensorShape(element_shape))]
        # How it was made, where it is to behave as an array that is changed in place: the mark of its nodes.
        self._facts = None
        if numbered(get_default_graph()):
            known = size if isinstance(size, int) else None
            if (
                isinstance(size, Tensor)
                and (value := constant_value(size)) is not None
                and np.size(value) == 1
            ):
                known = int(value)
            self._facts = ArrayFacts(
                tensor_array_name or "TensorArray",
                bool(dynamic_size),
                clears,
                infer_shape,
                self._known[0],
                known,
            )
        with name_scope(name, self._named("TensorArray", "TensorArrayV2"), [size, flow]) as scope:
            if flow is None:
                flow = raw.TensorListReserve(
                    as_operand(self._known[0]), size, element_dtype=self._dtype, name=scope
                )
                self._mark(flow)
                self._home = get_default_graph()
                self._count(-1)
            self._flow = flow

    def _named(self, in_place, functional):
        """Returns the name that TensorFlow gives a node or scope in either of its ways to keep arrays."""
        return functional if self._facts is None else in_place

    def _mark(self, tensor):
        """Marks a node that works on the array; returns the node's output."""
        if self._facts is not None:
            tensor.op.__dict__["array"] = self._facts
        return tensor

    # -- what it is ------------------------------------------------------------------------------------------
    @property
    def flow(self):
        """The tensor list, a variant tensor: it says which writes went before."""
        return self._flow

    @property
    def handle(self):
        """None: there is no resource behind it."""
        return None

    @property
    def dtype(self):
        """The elements' type."""
        return self._dtype

    @property
    def dynamic_size(self):
        """Whether it grows when it is written beyond its end."""
        return self._dynamic_size

    @property
    def element_shape(self):
        """What is known of the elements' shape, a TensorShape."""
        return TensorShape.of(self._known[0])

    def _with_flow(self, flow):
        """Returns the same array with another list: after a write, in a loop's body or behind it."""
        new = TensorArray.__new__(type(self))
        new._dtype, new._dynamic_size, new._infer_shape = self._dtype, self._dynamic_size, self._infer_shape
        new._known, new._flow, new._facts = self._known, flow, self._facts
        new._home, new._handle = self._home, self._handle
        return new

    def _components(self):
        return [self._flow]

    def _from_components(self, parts):
        # TensorFlow makes it anew, which takes a name.
        with name_scope(None, self._named("TensorArray", "TensorArrayV2"), parts):
            new = self._with_flow(parts[0])
        # A loop's or branch's array learns of shapes on its own.
        new._known = list(self._known)
        return new

    def _check(self, dims):
        """Refuses elements of a wrong shape; learns their shape.

        Raises:
          ValueError: The shape contradicts what is known.
        """
        if not shapes.compatible(dims, self._known[0]):
            raise ValueError(
                f"Inconsistent shapes: saw {TensorShape.of(dims)} but expected {self.element_shape} "
            )
        if self._infer_shape:
            self._known[0] = shapes.merge(self._known[0], dims)

    def identity(self):
        """Returns the same array behind an Identity node, which may wait for control dependencies."""
        return self._from_components([raw.Identity(self._flow)])

    def grad(self, source, flow=None, name=None):
        """Not available: gradients of tensor lists are lists.

        Raises:
          NotImplementedError: Always.
        """
        raise NotImplementedError("TensorArray.grad: use tf.gradients, which goes through tensor arrays")

    def _count(self, difference):
        """Counts how many nodes more TensorFlow's own arrays take, whose handle comes into bodies beside the flow."""
        graph = get_default_graph()
        if numbered(graph):
            numbering.shift(graph, difference)
            if self._home is not None:
                numbering.passed_in(graph, self._handle, self._home)

    # -- single elements -------------------------------------------------------------------------------------
    def read(self, index, name=None):
        """Returns one element.

        Args:
          index: Which, an int or a scalar int32 tensor.
          name: The scope's name.
        """
        self._count(-1)
        if self._facts is not None:
            value = self._item(index, name or "TensorArrayReadV3")
        else:
            with name_scope(name, "TensorArrayV2Read", [self._flow, index]):
                value = self._item(index, name or "TensorListGetItem")
        if self._known[0] is not None:
            value._dims = shapes.merge(value._dims, self._known[0])
        return value

    def _item(self, index, name):
        shape = as_operand(self._known[0])
        return self._mark(
            raw.TensorListGetItem(self._flow, index, shape, element_dtype=self._dtype, name=name)
        )

    def write(self, index, value, name=None):
        """Returns the array with another element at a place.

        Args:
          index: Which, an int or a scalar int32 tensor.
          value: The element.
          name: The scope's name.

        Raises:
          ValueError: The value's shape contradicts that of other elements.
        """
        self._count(0)
        scope = self._named("TensorArrayWrite", "TensorArrayV2Write")
        with name_scope(name, scope, [self._flow, index, value]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check(value._dims)
            flow = self._flow
            if self._dynamic_size:
                graph = get_default_graph()
                with numbering.counted_as(graph, 0) if numbered(graph) else contextlib.nullcontext():
                    flow = self._long_enough(index)
            node_name = name or self._named("TensorArrayWriteV3", "TensorListSetItem")
            dtype = value.dtype.base_dtype
            self._mark(flow := raw.TensorListSetItem(flow, index, value, element_dtype=dtype, name=node_name))
        return self._with_flow(flow)

    def _long_enough(self, index):
        flow = self._flow
        grown = NAMES["cond"](
            index >= raw.TensorListLength(flow),
            lambda: raw.TensorListResize(flow, index + 1),
            lambda: flow,
        )
        return _kept(grown, flow)

    # -- many elements ---------------------------------------------------------------------------------------
    def stack(self, name=None):
        """Returns all elements as the rows of one tensor.

        Args:
          name: The scope's name.
        """
        self._count(3)
        with name_scope(name, self._named("TensorArrayStack", "TensorArrayV2Stack"), [self._flow]):
            shape = as_operand(self._known[0])
            node_name = "TensorListStack" if self._facts is None else name or "TensorArrayGatherV3"
            return self._mark(
                raw.TensorListStack(self._flow, shape, element_dtype=self._dtype, name=node_name)
            )

    def gather(self, indices, name=None):
        """Returns some elements as the rows of one tensor.

        Args:
          indices: Which, a vector of int32.
          name: The node's name.
        """
        self._count(-1)
        shape = as_operand(self._known[0])
        name = name or self._named("TensorArrayGatherV3", None)
        value = raw.TensorListGather(self._flow, indices, shape, element_dtype=self._dtype, name=name)
        self._mark(value)
        if self._known[0] is not None:
            value._dims = shapes.merge(value._dims, (None, *self._known[0]))
        return value

    def concat(self, name=None):
        """Returns all elements one after the other, joined along their first dimension.

        Args:
          name: The node's name.
        """
        self._count(-2)
        dims = self._known[0]
        shape = -1 if dims is None else [-1, *as_operand((0, *dims[1:]))[1:]]
        lengths = constant_node(np.zeros([0], np.int64), dtypes.int64)
        name = name or self._named("TensorArrayConcatV3", None)
        value, _ = raw.TensorListConcatV2(self._flow, shape, lengths, element_dtype=self._dtype, name=name)
        return self._mark(value)

    def unstack(self, value, name=None):
        """Returns an array of a tensor's rows.

        Args:
          value: A tensor.
          name: The scope's name.

        Raises:
          ValueError: The rows' shape contradicts what is known of the elements.
        """
        self._count(7 if isinstance(value, Tensor) else 8)
        with name_scope(name, "TensorArrayUnstack", [self._flow, value]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            row = value._dims[1:] if value._dims is not None else None
            self._check(row)
            if self._facts is None:
                flow = raw.TensorListFromTensor(value, as_operand(row), name="TensorListFromTensor")
            elif self._is_new():
                with name_scope(name, "TensorArrayScatter"):
                    name = name or "TensorArrayScatterV3"
                    flow = self._mark(raw.TensorListFromTensor(value, as_operand(row), name=name))
            else:  # what was written before must not be written again
                with numbering.counted_as(get_default_graph(), 1):
                    places = NAMES["range"](NAMES["shape"](value)[0])
                    with name_scope(name, "TensorArrayScatter"):
                        flow = self._scattered(value, places, name or "TensorArrayScatterV3")
        return self._with_flow(flow)

    def _is_new(self):
        """Whether nothing can have been written to it yet."""
        op = self._flow.op
        while op.type == "Identity":
            op = op.inputs[0].op
        return op.type == "TensorListReserve"

    def _scattered(self, value, indices, name):
        return self._mark(raw.TensorListScatterIntoExistingList(self._flow, value, indices, name=name))

    def scatter(self, indices, value, name=None):
        """Returns the array with a tensor's rows as the elements at some places.

        Args:
          indices: The places, a vector of int32.
          value: A tensor with as many rows.
          name: The scope's name.

        Raises:
          ValueError: The rows' shape contradicts what is known of the elements.
        """
        self._count(0)
        with name_scope(name, "TensorArrayScatter", [self._flow, value, indices]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check(value._dims[1:] if value._dims is not None else None)
            if self._facts is None:
                name = "TensorListScatterIntoExistingList"
            flow = self._scattered(value, indices, name or "TensorArrayScatterV3")
        return self._with_flow(flow)

    def split(self, value, lengths, name=None):
        """Returns an array of pieces of a tensor.

        Args:
          value: A tensor.
          lengths: How many rows each piece has, a vector of integers.
          name: The scope's name.

        Raises:
          ValueError: The pieces' shape contradicts what is known of the elements.
        """
        self._count(-1)
        with name_scope(name, "TensorArraySplit", [self._flow, value, lengths]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            lengths = NAMES["cast"](lengths, dtypes.int64)
            dims = value._dims
            known = _constant_lengths(lengths)
            if self._infer_shape and dims is not None and known is not None and len(set(known)) == 1:
                self._check((known[0], *dims[1:]))
            name = name or self._named("TensorArraySplitV3", "TensorListSplit")
            flow = raw.TensorListSplit(value, as_operand(self._known[0]), lengths, name=name)
            self._mark(flow)
            if self._facts is not None and "array" in self._flow.op.__dict__ and not self._is_new():
                flow.op.__dict__["refills_array"] = True
        return self._with_flow(flow)

    def size(self, name=None):
        """Returns the number of elements, a scalar tensor.

        Args:
          name: The node's name.
        """
        self._count(0)
        return raw.TensorListLength(self._flow, name=name or self._named("TensorArraySizeV3", None))

    def close(self, name=None):
        """Returns an operation after which the array can't be used; there is no resource to give back.

        Args:
          name: The node's name.
        """
        if self._facts is None:
            return raw.NoOp(name=name)
        op = raw.TensorListLength(self._flow, name=name or "TensorArrayCloseV3").op
        op.__dict__["closes_array"] = True
        return op


def _constant_lengths(lengths):
    value = constant_value(lengths)
    return None if value is None else value.tolist()


def _kept(new, old):
    """Has one list's tensor know what another one's does."""
    if new._handle_data is None:
        new._handle_data = old._handle_data
    return new
