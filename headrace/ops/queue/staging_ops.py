"""The ops of staging areas: Stage and its relatives, MapStage and OrderedMapStage and theirs."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import OPS, op, raw
from headrace.ops.queue.queue_ops import text
from headrace.resources.queue import invalid
from headrace.resources.staging import MapStagingArea, StagingArea

_LIMITS = "capacity: int >= 0 = 0\n      memory_limit: int >= 0 = 0"
_NAMES = 'container: string = ""\n      shared_name: string = ""\n      stateful'


class _OrderedMapStagingArea(MapStagingArea):
    """A class of its own, so that areas of both kinds may have one name."""


# -- the areas -----------------------------------------------------------------------------------------------


def _place(ctx, container, shared_name):
    return text(container) or "localhost", text(shared_name) or ctx.op.name


def _area(ctx, capacity, memory_limit, container, shared_name):
    container, name = _place(ctx, container, shared_name)
    return ctx.resources.lookup_or_create(
        container, name, StagingArea, lambda: StagingArea(capacity, memory_limit)
    )


def _map(ctx, capacity, memory_limit, dtypes, container, shared_name):
    container, name = _place(ctx, container, shared_name)
    is_ordered = ctx.op.type.startswith("Ordered")
    cls = _OrderedMapStagingArea if is_ordered else MapStagingArea
    return ctx.resources.lookup_or_create(
        container, name, cls, lambda: cls(dtypes, capacity, memory_limit, is_ordered)
    )


def _own(values):
    return [np.array(v) for v in values]


def _check_types(values, dtypes, ctx):
    """Checks what came out of an area against what the node declares."""
    if len(values) != len(dtypes):
        raise invalid(f"Mismatch stage/unstage: {len(values)} vs. {len(dtypes)}")
    for i, (v, dtype) in enumerate(zip(values, dtypes, strict=True)):
        if v.dtype != dtype.storage:
            raise errors.InternalError(
                None,
                None,
                f"Output {i} of type {v.dtype} does not match declared output type {dtype.name} for node "
                f"{ctx.op.name}",
            )


def _waited(ctx, pending, dtypes, first=0):
    """Waits for tensors, which must be of the types that the node declares."""
    pending.check = lambda values: _check_types(values[first:], dtypes, ctx)
    return ctx.wait(pending)


def _scalar(value, what):
    if np.size(value) != 1:
        raise invalid(f"{what} must be a scalar, but has shape {shapes.to_text(np.shape(value))}")
    return int(np.asarray(value).reshape(()))


def _places(indices):
    return np.asarray(indices).reshape(-1).tolist()


# -- in order ------------------------------------------------------------------------------------------------


def _stage(values, *, capacity, memory_limit, container, shared_name, ctx):
    area = _area(ctx, capacity, memory_limit, container, shared_name)
    ctx.wait(area.put(_own(values)))
    return []


def _unstage(*, capacity, memory_limit, dtypes, container, shared_name, ctx):
    return _waited(ctx, _area(ctx, capacity, memory_limit, container, shared_name).get(), dtypes)


def _stage_peek(index, *, capacity, memory_limit, dtypes, container, shared_name, ctx):
    area = _area(ctx, capacity, memory_limit, container, shared_name)
    return _waited(ctx, area.peek(_scalar(index, "index")), dtypes)


def _stage_size(*, capacity, memory_limit, container, shared_name, ctx):
    return np.int32(_area(ctx, capacity, memory_limit, container, shared_name).size())


def _stage_clear(*, capacity, memory_limit, container, shared_name, ctx):
    _area(ctx, capacity, memory_limit, container, shared_name).clear()
    return []


def _unknown(*operands, dtypes):
    return [None] * len(dtypes)


def _peek_shape(index, *, dtypes):
    return [None] * len(dtypes)


def _map_read_shape(key, indices, *, dtypes):
    return [None] * len(dtypes)


def _no_key_shape(indices, *, dtypes):
    return [None] * (1 + len(dtypes))


def _nothing(*operands):
    return []


# -- under keys ----------------------------------------------------------------------------------------------


def _map_stage(key, indices, values, *, capacity, memory_limit, dtypes, container, shared_name, ctx):
    area = _map(ctx, capacity, memory_limit, dtypes, container, shared_name)
    ctx.wait(area.put(_scalar(key, "key"), _places(indices), _own(values)))
    return []


def _all_types(ctx, dtypes, indices):
    """Returns the types that a tuple must have at the very least, which is all that a reading node knows."""
    places = _places(indices)
    return [*dtypes, *[None] * max(0, max(places, default=-1) + 1 - len(dtypes))]


def _map_read(key, indices, take, *, capacity, memory_limit, dtypes, container, shared_name, ctx):
    area = _map(ctx, capacity, memory_limit, _all_types(ctx, dtypes, indices), container, shared_name)
    return _waited(ctx, area.get(_scalar(key, "key"), _places(indices), take), dtypes)


def _map_peek(key, indices, *, capacity, memory_limit, dtypes, container, shared_name, ctx):
    return _map_read(
        key, indices, False, capacity=capacity, memory_limit=memory_limit, dtypes=dtypes, container=container,
        shared_name=shared_name, ctx=ctx,
    )  # fmt: skip


def _map_unstage(key, indices, *, capacity, memory_limit, dtypes, container, shared_name, ctx):
    return _map_read(
        key, indices, True, capacity=capacity, memory_limit=memory_limit, dtypes=dtypes, container=container,
        shared_name=shared_name, ctx=ctx,
    )  # fmt: skip


def _map_unstage_no_key(indices, *, capacity, memory_limit, dtypes, container, shared_name, ctx):
    area = _map(ctx, capacity, memory_limit, _all_types(ctx, dtypes, indices), container, shared_name)
    return _waited(ctx, area.get_any(_places(indices)), dtypes, first=1)


def _map_size(*, capacity, memory_limit, dtypes, container, shared_name, ctx):
    return np.int32(_map(ctx, capacity, memory_limit, dtypes, container, shared_name).size())


def _map_incomplete_size(*, capacity, memory_limit, dtypes, container, shared_name, ctx):
    return np.int32(_map(ctx, capacity, memory_limit, dtypes, container, shared_name).incomplete_size())


def _map_clear(*, capacity, memory_limit, dtypes, container, shared_name, ctx):
    _map(ctx, capacity, memory_limit, dtypes, container, shared_name).clear()
    return []


_SOME = "dtypes: list(type) >= 1"
_ANY = "dtypes: list(type)"
_FAKE = "dtypes: list(type)\n      fake_dtypes: list(type) >= 1"
_OPS = (  # name, operands, results, types, shape rule, host rule, whether it waits, what it does
    ("Stage", "values: dtypes", "", _SOME, _nothing, _stage, True, "Puts tensors into a staging area."),
    ("Unstage", "", "values: dtypes", _SOME, _unknown, _unstage, True,
     "Takes the first tensors out of a staging area, once there are any."),
    ("StagePeek", "index: int32", "values: dtypes", _SOME, _peek_shape, _stage_peek, True,
     "Gives tensors that are in a staging area, once they are there."),
    ("StageSize", "", "size: int32", _ANY, shapes.scalar, _stage_size, False,
     "How many tuples are in a staging area."),
    ("StageClear", "", "", _ANY, _nothing, _stage_clear, False, "Throws away what is in a staging area."),
)  # fmt: skip
_MAP_OPS = (
    ("Stage", "key: int64, indices: int32, values: fake_dtypes", "", _FAKE, _nothing, _map_stage, True,
     "Puts tensors, or some of a tuple, into a map."),
    ("Peek", "key: int64, indices: int32", "values: dtypes", _SOME, _map_read_shape, _map_peek, True,
     "Gives tensors that are in a map, once the key's tuple is complete."),
    ("Unstage", "key: int64, indices: int32", "values: dtypes", _SOME, _map_read_shape, _map_unstage, True,
     "Takes tensors out of a map, once the key's tuple is complete."),
    ("UnstageNoKey", "indices: int32", "key: int64, values: dtypes", _SOME, _no_key_shape, _map_unstage_no_key,
     True, "Takes tensors of any key out of a map, once a tuple is complete."),
    ("Size", "", "size: int32", _ANY, shapes.scalar, _map_size, False, "How many complete tuples are in a map."),
    ("IncompleteSize", "", "size: int32", _ANY, shapes.scalar, _map_incomplete_size, False,
     "How many incomplete tuples are in a map."),
    ("Clear", "", "", _ANY, _nothing, _map_clear, False, "Throws away what is in a map."),
)  # fmt: skip


def _declare(name, operands, results, types, shape, host, waits, does):
    made = op(
        f"""
    {name}({operands}) -> ({results})
      {_LIMITS}
      {types}
      {_NAMES}

    {does}
""",
        shape=shape,
    )
    made.host(host, waits=waits)


for _row in _OPS:
    _declare(*_row)
for _prefix in ("Map", "OrderedMap"):
    for _row in _MAP_OPS:
        _declare(_prefix + _row[0], *_row[1:])


# -- cases ---------------------------------------------------------------------------------------------------


def _stage_cases(case):
    @case.program
    def the_first_comes_out_first(step):
        area = {"shared_name": "area"}
        types = {"dtypes": ["int32", "float32"], **area}
        step(raw.Stage([np.int32(1), np.float32(2)], **area))
        step(raw.Stage([np.int32(3), np.float32(4)], **area))
        step(raw.StageSize(**types), gives=np.int32(2))
        step(raw.StagePeek(1, **types)[0], gives=np.int32(3))
        step(raw.Unstage(**types)[1], gives=np.float32(2))
        step(raw.StageClear(**types))
        step(raw.StageSize(**types), gives=np.int32(0))
        one = {"memory_limit": 6, "shared_name": "small"}
        large = raw.Stage([np.array([1, 2], np.int32)], **one)
        step(large, fails=errors.ResourceExhaustedError, match="combined size of '8' bytes")


def _map_cases(prefix):
    def use(name, *operands, **attrs):
        attrs.setdefault("dtypes", ["int32", "int32"])
        return getattr(raw, prefix + name)(*operands, shared_name="map", **attrs)

    def cases(case):
        @case.program
        def tuples_become_complete_and_are_taken_apart(step):
            step(use("Stage", np.int64(5), np.array([0], np.int32), [np.int32(1)]))
            step(use("Size"), gives=np.int32(0))
            step(use("IncompleteSize"), gives=np.int32(1))
            again = use("Stage", np.int64(5), np.array([0], np.int32), [np.int32(1)])
            step(again, fails=errors.InvalidArgumentError, match="was already initialized '2'")
            step(use("Stage", np.int64(5), np.array([1], np.int32), [np.int32(2)]))
            step(use("Size"), gives=np.int32(1))
            step(use("Peek", np.int64(5), np.array([0, 1], np.int32))[1], gives=np.int32(2))
            first = use("Unstage", np.int64(5), np.array([0], np.int32), dtypes=["int32"])
            step(first[0], gives=np.int32(1))
            step(first[0], fails=errors.InvalidArgumentError, match="has already been removed")
            rest = use("UnstageNoKey", np.array([1], np.int32), dtypes=["int32"])
            step(rest[0], gives=np.int64(5))
            step(use("Clear"))
            step(use("Size"), gives=np.int32(0))
            far = use("Stage", np.int64(5), np.array([2], np.int32), [np.int32(1)])
            step(far, fails=errors.InvalidArgumentError, match="Index '2' for key '5' was out of bounds '2'")

    return cases


for _row in _OPS:
    OPS[_row[0]].cases(_stage_cases)
for _prefix in ("Map", "OrderedMap"):
    for _row in _MAP_OPS:
        OPS[_prefix + _row[0]].cases(_map_cases(_prefix))
