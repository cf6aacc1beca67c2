"""The queue classes of the public API."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from headrace.dtypes import as_dtype, int64
from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.graph.seeds import get_seed
from headrace.opdef import constant_value, convert_to_tensor, export, raw
from headrace.tensor_shape import Dimension, TensorShape


def as_type_list(dtypes):
    """Returns one type or many as a list."""
    try:
        return [as_dtype(t) for t in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]
    except TypeError:
        raise TypeError(f"Expected DataType for argument 'component_types' not {dtypes!r}.") from None


def as_shape_list(shapes, dtypes, may_be_partial=False):
    """Returns components' shapes as a list of TensorShapes, of unknown ones if None is given.

    Args:
      shapes: A list of shapes, or the shape of the only component.
      dtypes: The components' types.
      may_be_partial: Whether dimensions may be unknown; then only a list of shapes will do.

    Raises:
      TypeError: It is something else.
      ValueError: A shape is not as fully known as it must be.
    """
    if may_be_partial and (
        not isinstance(shapes, Sequence) or not shapes or any(s is None or isinstance(s, int) for s in shapes)
    ):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if shapes is None:
        return [TensorShape(None)] * len(dtypes)
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, (list, tuple)):
        raise TypeError("shapes must be a TensorShape or a list or tuple of TensorShapes.")
    try:
        given = [TensorShape(shapes)]
    except (TypeError, ValueError, AttributeError):
        given = [TensorShape(s) for s in shapes]
    if not may_be_partial and any(not s.is_fully_defined() for s in given):
        raise ValueError(f"All shapes must be fully defined: {given}")
    if any(s.dims is None for s in given):
        raise ValueError(f"All shapes must have a defined rank: {given}")
    return given


@export("QueueBase", "queue.QueueBase", "io.QueueBase")
class QueueBase:
    """What all queues share: they hold elements of one or more tensors, and steps wait for room and for elements.

    Args:
      dtypes: The types of an element's components.
      shapes: Their shapes; None for unknown ones.
      names: Their names; with names, elements are dictionaries.
      queue_ref: The node's output.

    Raises:
      ValueError: There are not as many shapes or names as types.
    """

    def __init__(self, dtypes, shapes, names, queue_ref):
        self._dtypes = dtypes
        if shapes is None:
            self._shapes = [TensorShape(None) for _ in dtypes]
        else:
            if len(shapes) != len(dtypes):
                raise ValueError("Queue shapes must have the same length as dtypes")
            self._shapes = [TensorShape(s) for s in shapes]
        if names is None:
            self._names = None
        else:
            if len(names) != len(dtypes):
                raise ValueError("List of names must have the same length as the list of dtypes")
            self._names = names
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index, queues):
        """Returns the queue that a tensor picks from a list.

        Args:
          index: A scalar int tensor.
          queues: Queues of the same types and names.

        Raises:
          TypeError: They are no queues, or differ in types or names.
        """
        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        shapes = [_common([q.shapes[i] for q in queues]) for i in range(len(first.dtypes))]
        picked = NAMES["gather"](raw.Pack([q.queue_ref for q in queues], name="stack"), index)
        return QueueBase(first.dtypes, shapes, first.names, picked)

    @property
    def queue_ref(self):
        """The node's output."""
        return self._queue_ref

    @property
    def name(self):
        """The node's name."""
        return self._queue_ref.op.name

    @property
    def dtypes(self):
        """The types of an element's components."""
        return self._dtypes

    @property
    def shapes(self):
        """Their shapes."""
        return self._shapes

    @property
    def names(self):
        """Their names, None where elements are no dictionaries."""
        return self._names

    def _as_list(self, vals):
        """Returns the components of what is to be put in, in order."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals.keys(), key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"({sorted(vals.keys())}), Queue: ({sorted(self._names)})"
                )
            return [vals[k] for k in self._names]
        if self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        return list(vals) if isinstance(vals, (list, tuple)) else [vals]

    def _as_tensors(self, vals):
        return [
            convert_to_tensor(v, dtype=t, name=f"component_{i}")
            for i, (v, t) in enumerate(zip(self._as_list(vals), self._dtypes))
        ]

    def enqueue(self, vals, name=None):
        """Returns an operation that puts in an element, once there is room.

        Args:
          vals: The components: a tensor, a list, or a dictionary if the queue has names.
          name: The operation's name.

        Raises:
          ValueError: They do not fit.
        """
        with name_scope(name, f"{self._name}_enqueue", _values(vals)) as scope:
            tensors = self._as_tensors(vals)
            for tensor, shape in zip(tensors, self._shapes):
                tensor.get_shape().assert_is_compatible_with(shape)
            return raw.QueueEnqueueV2(self._queue_ref, tensors, name=scope)

    def enqueue_many(self, vals, name=None):
        """Returns an operation that puts in the slices of tensors along their first dimension, each once there is room.

        Args:
          vals: The components, as for `enqueue`, with one more dimension each.
          name: The operation's name.

        Raises:
          ValueError: They do not fit.
        """
        with name_scope(name, f"{self._name}_EnqueueMany", _values(vals)) as scope:
            tensors = self._as_tensors(vals)
            count = tensors[0].get_shape().with_rank_at_least(1)[0]
            for tensor, shape in zip(tensors, self._shapes):
                count = count.merge_with(tensor.get_shape().with_rank_at_least(1)[0])
                tensor.get_shape()[1:].assert_is_compatible_with(shape)
            return raw.QueueEnqueueManyV2(self._queue_ref, tensors, name=scope)

    def _returned(self, tensors):
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    def dequeue(self, name=None):
        """Returns the components of an element, which is taken out once there is one.

        Args:
          name: The operation's name.

        Returns:
          A tensor, a list of tensors, or a dictionary if the queue has names.
        """
        tensors = _listed(
            raw.QueueDequeueV2(
                self._queue_ref, component_types=self._dtypes, name=name or f"{self._name}_Dequeue"
            )
        )
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(shape)
        return self._returned(tensors)

    def dequeue_many(self, n, name=None):
        """Returns the components of a number of elements, joined along a new first dimension.

        Args:
          n: How many, a scalar int32.
          name: The operation's name.

        Returns:
          A tensor, a list of tensors, or a dictionary if the queue has names.
        """
        name = name or f"{self._name}_DequeueMany"
        tensors = _listed(raw.QueueDequeueManyV2(self._queue_ref, n, component_types=self._dtypes, name=name))
        count = constant_value(tensors[0].op.inputs[1])
        first = TensorShape([Dimension(None if count is None else count.item())])
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(first.concatenate(shape))
        return self._returned(tensors)

    def dequeue_up_to(self, n, name=None):
        """Returns what `dequeue_many` does, but fewer elements if the queue is closed and has no more.

        Args:
          n: How many, a scalar int32.
          name: The operation's name.

        Returns:
          A tensor, a list of tensors, or a dictionary if the queue has names.
        """
        name = name or f"{self._name}_DequeueUpTo"
        tensors = _listed(raw.QueueDequeueUpToV2(self._queue_ref, n, component_types=self._dtypes, name=name))
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(TensorShape([None]).concatenate(shape))
        return self._returned(tensors)

    def close(self, cancel_pending_enqueues=False, name=None):
        """Returns an operation after which the queue takes no more elements.

        Args:
          cancel_pending_enqueues: Whether those that wait for room shall fail.
          name: The operation's name.
        """
        return raw.QueueCloseV2(
            self._queue_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_Close",
        )

    def is_closed(self, name=None):
        """Returns whether the queue is closed."""
        return raw.QueueIsClosedV2(self._queue_ref, name=name or f"{self._name}_Is_Closed")

    def size(self, name=None):
        """Returns how many elements the queue holds."""
        return raw.QueueSizeV2(self._queue_ref, name=name or f"{self._name}_Size")


def _values(vals):
    if isinstance(vals, dict):
        return vals.values()
    return vals if isinstance(vals, (list, tuple)) else [vals]


def _listed(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _common(shapes):
    """Returns the shape that says what all have in common."""
    out = shapes[0]
    for shape in shapes[1:]:
        out = out.most_specific_compatible_shape(shape)
    return out


def _attr(shapes):
    """Returns shapes as the attr of a node has them: none at all where nothing is known."""
    return [] if shapes is None else shapes


@export("FIFOQueue", "queue.FIFOQueue")
class FIFOQueue(QueueBase):
    """A queue whose first elements come out first.

    Args:
      capacity: How many elements it holds; -1 for any number.
      dtypes: The types of an element's components.
      shapes: Their shapes, which `dequeue_many` needs.
      names: Their names; with names, elements are dictionaries.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The node's name.
    """

    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"):
        dtypes = as_type_list(dtypes)
        shapes = None if shapes is None else as_shape_list(shapes, dtypes)
        names = _as_names(names, dtypes)
        ref = raw.FIFOQueueV2(
            component_types=dtypes,
            shapes=_attr(shapes),
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(dtypes, shapes, names, ref)


def _as_names(names, dtypes):
    if names is not None and not isinstance(names, (list, tuple)):
        return [names]
    return names


@export("RandomShuffleQueue", "queue.RandomShuffleQueue", "io.RandomShuffleQueue")
class RandomShuffleQueue(QueueBase):
    """A queue that gives any of its elements.

    Args:
      capacity: How many elements it holds; -1 for any number.
      min_after_dequeue: How many must stay in it as long as it is open.
      dtypes: The types of an element's components.
      shapes: Their shapes, which `dequeue_many` needs.
      names: Their names; with names, elements are dictionaries.
      seed: The seed of the choices.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The node's name.
    """

    def __init__(
        self,
        capacity,
        min_after_dequeue,
        dtypes,
        shapes=None,
        names=None,
        seed=None,
        shared_name=None,
        name="random_shuffle_queue",
    ):
        dtypes = as_type_list(dtypes)
        shapes = None if shapes is None else as_shape_list(shapes, dtypes)
        names = _as_names(names, dtypes)
        seed1, seed2 = get_seed(seed)
        if seed1 is None and seed2 is None:
            seed1, seed2 = 0, 0
        elif seed is None and shared_name is not None:
            # Nodes of many graphs share it: the seed depends on what they have in common.
            digest = hashlib.md5(f"{seed1}{shared_name}".encode(), usedforsecurity=False).hexdigest()
            seed2 = int(digest[:8], 16) & 0x7FFFFFFF
        ref = raw.RandomShuffleQueueV2(
            component_types=dtypes,
            shapes=_attr(shapes),
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed1,
            seed2=seed2,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(dtypes, shapes, names, ref)


@export("PaddingFIFOQueue", "queue.PaddingFIFOQueue", "io.PaddingFIFOQueue")
class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose elements may differ in some dimensions; `dequeue_many` pads them with zeros or "".

    Args:
      capacity: How many elements it holds; -1 for any number.
      dtypes: The types of an element's components.
      shapes: Their shapes, in which None is a dimension that may differ.
      names: Their names; with names, elements are dictionaries.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The node's name.
    """

    def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"):
        dtypes = as_type_list(dtypes)
        shapes = as_shape_list(shapes, dtypes, may_be_partial=True)
        names = _as_names(names, dtypes)
        if len(dtypes) != len(shapes):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(dtypes)} dtypes and "
                f"{len(shapes)} shapes."
            )
        ref = raw.PaddingFIFOQueueV2(
            component_types=dtypes,
            shapes=shapes,
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(dtypes, shapes, names, ref)


@export("PriorityQueue", "queue.PriorityQueue", "io.PriorityQueue")
class PriorityQueue(QueueBase):
    """A queue whose elements come out by their first component, an int64, the least one first.

    Args:
      capacity: How many elements it holds; -1 for any number.
      types: The types of an element's other components.
      shapes: Their shapes.
      names: The names of all components; with names, elements are dictionaries.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The node's name.
    """

    def __init__(self, capacity, types, shapes=None, names=None, shared_name=None, name="priority_queue"):
        types = as_type_list(types)
        shapes = None if shapes is None else as_shape_list(shapes, types)
        if shapes is None:
            raise TypeError("Expected list for 'shapes' argument to 'priority_queue_v2' Op, not None.")
        ref = raw.PriorityQueueV2(
            component_types=types, shapes=shapes, capacity=capacity, shared_name=shared_name or "", name=name
        )
        super().__init__([int64, *types], [(), *shapes], names, ref)
