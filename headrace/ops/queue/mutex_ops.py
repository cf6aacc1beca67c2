"""The ops of mutexes."""

from __future__ import annotations

import contextlib

import numpy as np

from headrace import errors, shapes
from headrace.opdef import op, raw
from headrace.ops.queue.queue_ops import text
from headrace.resources.mutex import Lock, Mutex
from headrace.resources.queue import invalid

MutexV2 = op("""
    MutexV2() -> (resource: resource)
      container: string = ""
      shared_name: string = ""

    Makes a mutex, which one lock at a time may hold.
""", shape=shapes.scalar)  # fmt: skip


@MutexV2.host
def mutex_v2_host(*, container, shared_name, ctx):
    name = text(shared_name) or ctx.op.name
    return ctx.resources.lookup_or_create(text(container) or "localhost", name, Mutex, Mutex)


MutexLock = op("""
    MutexLock(mutex: resource) -> (mutex_lock: variant)

    Takes a mutex, once it is free; it is given back when the lock is consumed, or when the step ends.
""", shape=shapes.scalar)  # fmt: skip


def _only(value):
    return value.item() if isinstance(value, np.ndarray) and value.size == 1 else value


@MutexLock.host(waits=True)
def mutex_lock_host(mutex, *, ctx):
    mutex = _only(mutex)
    if not isinstance(mutex, Mutex):
        raise invalid("The handle is not one of a mutex")
    pending = mutex.lock()
    # A step that fails never comes to consume its locks.
    ctx.at_end(lambda: _give_back(pending))
    return ctx.wait(pending)[0]


def _give_back(pending):
    with contextlib.suppress(errors.OpError):
        if pending.done:
            pending.result()[0].release()


ConsumeMutexLock = op("""
    ConsumeMutexLock(mutex_lock: variant) -> ()
      stateful

    Gives a mutex back.
""", shape=lambda mutex_lock: [])  # fmt: skip


@ConsumeMutexLock.host
def consume_mutex_lock_host(mutex_lock):
    lock = _only(mutex_lock)
    if not isinstance(lock, Lock):
        raise invalid("Expected a variant input from a mutex op")
    lock.release()
    return []


def _cases(case):
    @case.program
    def a_mutex_is_free_again_after_its_lock_was_consumed(step):
        mutex = raw.MutexV2(shared_name="m")
        for _ in range(2):
            step(raw.ConsumeMutexLock(raw.MutexLock(mutex)))


for _op in (MutexV2, MutexLock, ConsumeMutexLock):
    _op.cases(_cases)
