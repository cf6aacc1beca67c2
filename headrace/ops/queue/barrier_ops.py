"""The ops of barriers."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import OPS, op, raw
from headrace.ops.queue.queue_ops import text
from headrace.resources.barrier import Barrier as BarrierState
from headrace.resources.queue import invalid, numbered


def _handle(handle):
    (n,) = shapes.with_rank(handle, 1)
    if n not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {n}")


def _state(handle):
    if isinstance(handle, np.ndarray) and handle.size == 1:
        handle = handle.item()
    if not isinstance(handle, BarrierState):
        raise invalid("The handle is not one of a barrier")
    return handle


Barrier = op("""
    Barrier() -> (handle: Ref(string))
      component_types: list(type) >= 1
      shapes: list(shape) >= 0 = []
      capacity: int = -1
      container: string = ""
      shared_name: string = ""
      stateful

    Makes a map whose values are inserted component by component, and taken when they are complete.
""", shape=lambda: (2,))  # fmt: skip


@Barrier.host
def barrier_host(*, component_types, shapes, capacity, container, shared_name, ctx):
    if capacity != -1:
        raise invalid(
            "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a limited "
            "capacity."
        )
    if shapes and len(shapes) != len(component_types):
        raise invalid("All of the component shapes must be specified")
    shared = text(shared_name)
    if not shared:
        return ctx.node_object(lambda: BarrierState(numbered(ctx.op.name), component_types, shapes))
    declared = BarrierState(shared, component_types, shapes)
    found = ctx.resources.lookup_or_create(
        text(container) or "localhost", shared, BarrierState, lambda: declared
    )
    if found is not declared:
        found.check_same(declared)
    return found


BarrierInsertMany = op("""
    BarrierInsertMany(handle: Ref(string), keys: string, values: T) -> ()
      T: type
      component_index: int

    Gives some keys one component each.
""")  # fmt: skip


@BarrierInsertMany.shape
def barrier_insert_many_shape(handle, keys, values):
    _handle(handle)
    shapes.with_rank(keys, 1)
    values = shapes.with_rank_at_least(values, 1)
    if values is not None:
        shapes.merge(keys, values[:1])
    return []


@BarrierInsertMany.host
def barrier_insert_many_host(handle, keys, values, *, T, component_index):
    barrier = _state(handle)
    if 0 <= component_index < len(barrier.types) and barrier.types[component_index] != T:
        raise invalid(
            f"The barrier's component {component_index} is of type {barrier.types[component_index].name}, not {T.name}"
        )
    barrier.insert_many(component_index, keys, values)
    return []


BarrierTakeMany = op("""
    BarrierTakeMany(handle: Ref(string), num_elements: int32)
        -> (indices: int64, keys: string, values: component_types)
      component_types: list(type) >= 1
      allow_small_batch: bool = false
      wait_for_incomplete: bool = false
      timeout_ms: int = -1

    Takes a number of complete values out of a barrier, once there are so many; the oldest keys first.
""")  # fmt: skip


@BarrierTakeMany.shape
def barrier_take_many_shape(handle, num_elements, *, component_types):
    return [None] * (2 + len(component_types))


@BarrierTakeMany.host(waits=True)
def barrier_take_many_host(
    handle, num_elements, *, component_types, allow_small_batch, wait_for_incomplete, timeout_ms, ctx
):
    barrier = _state(handle)
    if timeout_ms != -1:
        raise invalid("Timeout not supported yet.")
    if barrier.types != tuple(component_types):
        raise invalid("The node's component types are not those of the barrier")
    if np.ndim(num_elements):
        raise invalid("num_elements must be a scalar.")
    if num_elements < 0:
        raise invalid(f"Num_elements must be nonnegative, but is {num_elements}")
    return ctx.wait(barrier.take_many(int(num_elements), allow_small_batch))


BarrierClose = op("""
    BarrierClose(handle: Ref(string)) -> ()
      cancel_pending_enqueues: bool = false

    Has a barrier take no new keys.
""", shape=lambda handle: [])  # fmt: skip


@BarrierClose.host
def barrier_close_host(handle, *, cancel_pending_enqueues):
    _state(handle).close(cancel_pending_enqueues)
    return []


BarrierReadySize = op("""
    BarrierReadySize(handle: Ref(string)) -> (size: int32)

    How many complete values a barrier holds.
""")  # fmt: skip
BarrierIncompleteSize = op("""
    BarrierIncompleteSize(handle: Ref(string)) -> (size: int32)

    How many incomplete values a barrier holds.
""")  # fmt: skip


def _size_shape(handle):
    _handle(handle)
    return ()


BarrierReadySize.shape(_size_shape)
BarrierIncompleteSize.shape(_size_shape)


@BarrierReadySize.host
def barrier_ready_size_host(handle):
    return np.int32(_state(handle).ready_size())


@BarrierIncompleteSize.host
def barrier_incomplete_size_host(handle):
    return np.int32(_state(handle).incomplete_size())


def _cases(case):
    @case.program
    def values_are_taken_once_they_are_complete(step):
        barrier = raw.Barrier(component_types=["float32", "int32"], shapes=[(), ()])
        keys = np.array([b"a", b"b"], object)
        step(raw.BarrierInsertMany(barrier, keys, np.float32([1, 2]), component_index=0))
        step(raw.BarrierIncompleteSize(barrier), gives=np.int32(2))
        step(raw.BarrierInsertMany(barrier, keys[1:], np.int32([4]), component_index=1))
        step(raw.BarrierReadySize(barrier), gives=np.int32(1))
        twice = raw.BarrierInsertMany(barrier, keys[:1], np.float32([1]), component_index=0)
        step(twice, fails=errors.InvalidArgumentError, match="Key a already has a value for component 0")
        taken = raw.BarrierTakeMany(barrier, 1, component_types=["float32", "int32"])
        step(taken.values[0], gives=np.float32([2]))
        step(raw.BarrierClose(barrier, cancel_pending_enqueues=True))
        step(taken.keys, fails=errors.OutOfRangeError, match="is closed and has insufficient elements")
        step(raw.BarrierClose(barrier), fails=errors.CancelledError, match="is already closed")


for _name in ("", "InsertMany", "TakeMany", "Close", "ReadySize", "IncompleteSize"):
    OPS["Barrier" + _name].cases(_cases)
