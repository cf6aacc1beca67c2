"""The queue ops, both generations: those whose handle is a resource and those whose handle names one."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import OPS, op, raw
from headrace.resources.queue import Queue, invalid, numbered, type_name
from headrace.resources.queue_kinds import PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue
from headrace.resources.random import words

# -- making queues -------------------------------------------------------------------------------------------


def text(value):
    """Returns a string attr as str."""
    return value.decode() if isinstance(value, bytes) else value


def _made(cls, container, shared_name, ctx, *arguments):
    """Returns the queue of a node in its session, made the first time."""
    shared = text(shared_name)
    container = text(container) or "localhost"
    if not shared:
        return ctx.node_object(lambda: cls(numbered(ctx.op.name), *arguments))
    made = None

    def make():
        nonlocal made
        made = cls(shared, *arguments)
        return made

    found = ctx.resources.lookup_or_create(container, shared, Queue, make)
    if found is not made:
        found.check_same(cls(shared, *arguments), ctx.op.type)
    return found


def _fifo(*, component_types, shapes, capacity, container, shared_name, ctx):
    return _made(Queue, container, shared_name, ctx, component_types, shapes, capacity)


def _padding(*, component_types, shapes, capacity, container, shared_name, ctx):
    return _made(PaddingFIFOQueue, container, shared_name, ctx, component_types, shapes, capacity)


def _priority(*, component_types, shapes, capacity, container, shared_name, ctx):
    return _made(PriorityQueue, container, shared_name, ctx, component_types, shapes, capacity)


def _shuffle(
    *, component_types, shapes, capacity, min_after_dequeue, seed, seed2, container, shared_name, ctx
):
    rest = (component_types, shapes, capacity, min_after_dequeue, words(seed, seed2), (seed, seed2))
    return _made(RandomShuffleQueue, container, shared_name, ctx, *rest)


_TYPES = "component_types: list(type) >= 1\n      shapes: list(shape) >= 0 = []"
_ANY_TYPES = "component_types: list(type) >= 0 = []\n      shapes: list(shape) >= 0"
_SEEDS = "min_after_dequeue: int = 0\n      seed: int = 0\n      seed2: int = 0\n      "
_KINDS = (  # name, host rule, types, further attrs, what comes out first
    ("FIFOQueue", _fifo, _TYPES, "", "the one that went in first"),
    ("PaddingFIFOQueue", _padding, _TYPES, "", "the one that went in first; where several are taken, padded"),
    ("PriorityQueue", _priority, _ANY_TYPES, "", "the one of the least first component"),
    ("RandomShuffleQueue", _shuffle, _TYPES, _SEEDS, "any of them"),
)


def _declare_kind(name, host, types, more, first):
    for ending, handle, flag, shape in (
        ("", "Ref(string)", "\n      stateful", (2,)),
        ("V2", "resource", "", ()),
    ):
        op(
            f"""
    {name}{ending}() -> (handle: {handle})
      {types}
      capacity: int = -1
      {more}container: string = ""
      shared_name: string = ""{flag}

    Makes a queue of elements. Out comes first {first}.
""",
            shape=lambda shape=shape: shape,
            host=host,
        )  # fmt: skip


for _row in _KINDS:
    _declare_kind(*_row)

FakeQueue = op("""
    FakeQueue(resource: resource) -> (handle: Ref(string))

    Makes a handle of the older kind of one of the newer.
""", shape=lambda resource: (2,))  # fmt: skip


@FakeQueue.host
def fake_queue_host(resource):
    return queue_of(resource)


# -- using them ----------------------------------------------------------------------------------------------


def queue_of(handle):
    """Returns the queue that a handle stands for."""
    if isinstance(handle, np.ndarray) and handle.size == 1:
        handle = handle.item()
    if not isinstance(handle, Queue):
        raise invalid("The handle is not one of a queue")
    return handle


def _check_insertion(queue, ctx, given):
    if tuple(given) != queue.types:
        kind = "string_ref" if ctx.op._inputs[0]._dtype.is_ref else "resource"
        have, want = (f"{kind}, {', '.join(map(type_name, types))}->" for types in (given, queue.types))
        raise invalid(f"Signature mismatch, have: {have} expected: {want}")


def _check_removal(queue, ctx, given):
    if tuple(given) != queue.types:
        kind = "string_ref" if ctx.op._inputs[0]._dtype.is_ref else "resource"
        inputs = f"{kind}, int32" if len(ctx.op._inputs) > 1 else kind
        have, want = (f"{inputs}->{', '.join(map(type_name, types))}" for types in (given, queue.types))
        raise invalid(f"Signature mismatch, have: {have} expected: {want}")


def _check_timeout(timeout_ms):
    if timeout_ms != -1:
        raise errors.InvalidArgumentError(None, None, "Timeout not supported yet.")


def _own(value):
    """Returns an array that nobody else can change."""
    return np.array(value)


def _enqueue(handle, components, *, Tcomponents, timeout_ms, ctx):
    queue = queue_of(handle)
    _check_timeout(timeout_ms)
    _check_insertion(queue, ctx, Tcomponents)
    ctx.wait(queue.enqueue(tuple(map(_own, components))))
    return []


def _enqueue_many(handle, components, *, Tcomponents, timeout_ms, ctx):
    queue = queue_of(handle)
    _check_timeout(timeout_ms)
    _check_insertion(queue, ctx, Tcomponents)
    ctx.wait(queue.enqueue_many(tuple(map(_own, components))))
    return []


def _dequeue(handle, *, component_types, timeout_ms, ctx):
    queue = queue_of(handle)
    _check_timeout(timeout_ms)
    _check_removal(queue, ctx, component_types)
    return ctx.wait(queue.dequeue())


def _number(n, what):
    if np.ndim(n):
        raise invalid(f"{what} expects a scalar, but got shape {shapes.to_text(np.shape(n))}")
    if n < 0:
        raise invalid(f"{what} requested {n} < 0 elements")
    return int(n)


def _dequeue_many(handle, n, *, component_types, timeout_ms, ctx):
    queue = queue_of(handle)
    _check_timeout(timeout_ms)
    n = _number(n, "DequeueManyOp")
    _check_removal(queue, ctx, component_types)
    return ctx.wait(queue.dequeue_many(n))


def _dequeue_up_to(handle, n, *, component_types, timeout_ms, ctx):
    queue = queue_of(handle)
    _check_timeout(timeout_ms)
    n = _number(n, "DequeueUpToOp")
    _check_removal(queue, ctx, component_types)
    return ctx.wait(queue.dequeue_many(n, fewer=True))


def _close(handle, *, cancel_pending_enqueues, ctx):
    ctx.wait(queue_of(handle).close(cancel_pending_enqueues))
    return []


def _size(handle):
    return np.int32(queue_of(handle).size())


def _is_closed(handle):
    return np.bool_(queue_of(handle).closed)


_TAKES = "component_types: list(type) >= 1\n      timeout_ms: int = -1"
_GIVES = "Tcomponents: list(type) >= 1\n      timeout_ms: int = -1"


def _takes_shape(handle, *, component_types):
    return [None] * len(component_types)


def _takes_many_shape(handle, n, *, component_types, ctx):
    number = ctx.constant("n")
    if ctx.op._inputs[0]._dtype.name == "resource" and number is not None and number.ndim == 0 and number < 0:
        raise ValueError(f"Input 'n' must be >= 0, but is {number}")
    return [None] * len(component_types)


def _gives_shape(handle, components):
    return []


_USES = (  # name, further operands, results, attrs, shape rule, host rule, whether it waits, what it does
    ("Enqueue", ", components: Tcomponents", "", _GIVES, _gives_shape, _enqueue, True,
     "Puts an element into a queue, once there is room."),
    ("EnqueueMany", ", components: Tcomponents", "", _GIVES, _gives_shape, _enqueue_many, True,
     "Puts the slices of tensors into a queue, each once there is room."),
    ("Dequeue", "", "components: component_types", _TAKES, _takes_shape, _dequeue, True,
     "Takes an element off a queue, once there is one."),
    ("DequeueMany", ", n: int32", "components: component_types", _TAKES, _takes_many_shape, _dequeue_many, True,
     "Takes a number of elements off a queue, once there are so many, joined along a new dimension."),
    ("DequeueUpTo", ", n: int32", "components: component_types", _TAKES, _takes_many_shape, _dequeue_up_to, True,
     "Takes a number of elements off a queue, or those that are left once it is closed."),
    ("Close", "", "", "cancel_pending_enqueues: bool = false", lambda handle: [], _close, True,
     "Has a queue take no more elements."),
    ("Size", "", "size: int32", "", None, _size, False, "How many elements a queue holds."),
    ("IsClosed", "", "is_closed: bool", "", shapes.scalar, _is_closed, False,
     "Whether a queue takes no more elements."),
)  # fmt: skip


def _handle_shape(handle):
    return handle


def _declare_use(name, operands, results, attrs, shape, host, waits, does):
    for ending, handle in (("", "Ref(string)"), ("V2", "resource")):
        # In TensorFlow the newer QueueSize has the shape of its handle.
        rule = shape or (_handle_shape if ending else shapes.scalar)
        declines = {} if ending or name == "IsClosed" else {"grad": None}
        made = op(
            f"""
    Queue{name}{ending}(handle: {handle}{operands}) -> ({results})
      {attrs}

    {does}
""",
            shape=rule,
            **declines,
        )
        made.host(host, waits=waits)


for _row in _USES:
    _declare_use(*_row)


# -- cases ---------------------------------------------------------------------------------------------------


def _make(kind, ending):
    more = {"capacity": 4} if kind != "RandomShuffleQueue" else {"capacity": 4, "seed": 1, "seed2": 2}
    types = [] if kind == "PriorityQueue" else ["int64"]
    component_shapes = [] if kind == "PriorityQueue" else [()]
    return getattr(raw, kind + ending)(component_types=types, shapes=component_shapes, **more)


def _cases(kind, ending):
    def use(name, *operands, **attrs):
        made = getattr(raw, f"Queue{name}{ending}")(*operands, **attrs)
        return made[0] if isinstance(made, (list, tuple)) else made

    def cases(case):
        @case.program
        def elements_go_through_until_it_is_closed(step):
            queue = _make(kind, ending)
            one = use("Dequeue", queue, component_types=["int64"])
            step(use("Enqueue", queue, [np.int64(7)]))
            step(use("Size", queue), gives=np.int32(1))
            step(one, gives=np.int64(7))
            step(use("EnqueueMany", queue, [np.array([5, 5, 5])]))
            step(use("DequeueMany", queue, 2, component_types=["int64"]), gives=np.array([5, 5]))
            step(use("IsClosed", queue), gives=np.False_)
            step(use("Close", queue))
            step(use("IsClosed", queue), gives=np.True_)
            rest = use("DequeueUpTo", queue, 3, component_types=["int64"])
            step(rest, gives=np.array([5]))
            step(rest, fails=errors.OutOfRangeError, match="is closed and has insufficient elements")
            step(one, fails=errors.OutOfRangeError, match="requested 1, current size 0")
            more = use("Enqueue", queue, [np.int64(7)])
            step(more, fails=errors.CancelledError, match="is closed")

    return cases


def _fake_cases(case):
    @case.program
    def an_older_op_takes_from_a_newer_queue(step):
        queue = _make("FIFOQueue", "V2")
        step(raw.QueueEnqueueV2(queue, [np.int64(7)]))
        step(raw.QueueSize(raw.FakeQueue(queue)), gives=np.int32(1))


for _ending in ("", "V2"):
    for _row in _KINDS:
        OPS[_row[0] + _ending].cases(_cases(_row[0], _ending))
    for _row in _USES:
        OPS[f"Queue{_row[0]}{_ending}"].cases(_cases("FIFOQueue", _ending))
FakeQueue.cases(_fake_cases)
