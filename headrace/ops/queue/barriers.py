"""Barrier: the class around the ops of barriers."""

from __future__ import annotations

from headrace.export import export
from headrace.opdef import constant_value, raw
from headrace.ops.queue.queues import as_shape_list, as_type_list
from headrace.tensor_shape import TensorShape


@export("python.ops.data_flow_ops.Barrier")
class Barrier:
    """A map whose values are inserted component by component, and taken when they are complete.

    Args:
      types: The types of a value's components.
      shapes: Their shapes, fully known; None for scalars.
      shared_name: A name under which other graphs of the session find the same barrier.
      name: The node's name.

    Raises:
      ValueError: A shape is not fully known, or is one of no elements.
    """

    def __init__(self, types, shapes=None, shared_name=None, name="barrier"):
        self._types = as_type_list(types)
        if shapes is not None:
            shapes = as_shape_list(shapes, self._types)
            self._shapes = [TensorShape(s) for s in shapes]
            for i, shape in enumerate(self._shapes):
                if shape.num_elements() == 0:
                    dims = tuple(shape.as_list())
                    raise ValueError(
                        f"Empty tensors are not supported, but received shape '{dims}' at index {i}"
                    )
        else:
            self._shapes = [TensorShape(None) for _ in self._types]
        self._barrier_ref = raw.Barrier(
            component_types=self._types,
            shapes=[] if shapes is None else self._shapes,
            shared_name=shared_name or "",
            name=name,
        )
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self):
        """The node's output."""
        return self._barrier_ref

    @property
    def name(self):
        """The node's name."""
        return self._barrier_ref.op.name

    def insert_many(self, component_index, keys, values, name=None):
        """Returns an operation that gives some keys one component each.

        Args:
          component_index: Which component.
          keys: A vector of strings.
          values: One row for each key.
          name: The operation's name.
        """
        name = name or f"{self._name}_BarrierInsertMany"
        return raw.BarrierInsertMany(
            self._barrier_ref, keys, values, component_index=component_index, name=name
        )

    def take_many(self, num_elements, allow_small_batch=False, timeout=None, name=None):
        """Returns complete values, which are taken out once there are enough; the oldest keys first.

        Args:
          num_elements: How many.
          allow_small_batch: Whether those that are left in a closed barrier will do.
          timeout: Not supported, as in TensorFlow.
          name: The operation's name.

        Returns:
          A named tuple: `indices` that grow with the age of insertion, `keys`, and `values`, one tensor for each
          component.
        """
        if timeout is not None:
            raise TypeError(f"Expected bool for argument 'wait_for_incomplete' not {timeout}.")
        taken = raw.BarrierTakeMany(
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            name=name or f"{self._name}_BarrierTakeMany",
        )
        operation = taken[0].op
        count = None
        if not allow_small_batch:
            known = constant_value(operation.inputs[1])
            count = None if known is None else known.item()
        operation.outputs[0].set_shape([count])
        operation.outputs[1].set_shape([count])
        for tensor, shape in zip(operation.outputs[2:], self._shapes, strict=True):
            tensor.set_shape(TensorShape([count]).concatenate(shape))
        return taken

    def close(self, cancel_pending_enqueues=False, name=None):
        """Returns an operation after which there are no new keys.

        Args:
          cancel_pending_enqueues: Whether keys that are not complete are forgotten.
          name: The operation's name.
        """
        return raw.BarrierClose(
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_BarrierClose",
        )

    def ready_size(self, name=None):
        """Returns how many values are complete."""
        return raw.BarrierReadySize(self._barrier_ref, name=name or f"{self._name}_BarrierReadySize")

    def incomplete_size(self, name=None):
        """Returns how many values are not complete."""
        return raw.BarrierIncompleteSize(
            self._barrier_ref, name=name or f"{self._name}_BarrierIncompleteSize"
        )
