"""Ops about the process that runs the graph."""

from __future__ import annotations

import time

import numpy as np

from headrace import errors
from headrace.export import export
from headrace.opdef import op, raw
from headrace.shapes import scalar, unknown

Abort = op("""
    Abort() -> ()
      error_msg: string = ""
      exit_without_error: bool = false

    Fails. In TensorFlow it ends the process; here it ends the step, since a graph is no more than data to the program
    that runs it.
""")  # fmt: skip


@Abort.host
def abort_host(*, error_msg, exit_without_error):
    text = error_msg.decode() if isinstance(error_msg, bytes) else error_msg
    raise errors.AbortedError(None, None, text or "Aborted by the graph")


@Abort.cases
def abort_cases(case):
    @case.program
    def fails_and_lets_the_process_live(step):
        step(raw.Abort(error_msg="enough"), fails=errors.AbortedError, match="enough")
        step(raw.Abort(exit_without_error=True), fails=errors.AbortedError, match="Aborted by the graph")


Timestamp = op("""
    Timestamp() -> (ts: double)
      stateful

    Seconds since 1970, when the step comes to it.
""", shape=scalar, grad=None)  # fmt: skip


@Timestamp.host
def timestamp_host():
    return np.float64(time.time())


@Timestamp.cases
def timestamp_cases(case):
    @case.program
    def is_now(step):
        before = time.time()
        step(raw.Less(raw.Timestamp(), np.float64(before - 1)), gives=False)
        step(raw.Less(raw.Timestamp(), np.float64(before + 3600)), gives=True)


Fact = op("""
    Fact() -> (fact: string)

    A fact about factorials.
""", shape=unknown)  # fmt: skip


@Fact.host
def fact_host():
    return np.array(b"0! == 1", object)


@Fact.cases
def fact_cases(case):
    case(gives=np.array(b"0! == 1", object))


@export("user_ops.my_fact")
def my_fact():
    """Returns a fact about factorials, a scalar string."""
    return raw.Fact()


@export("timestamp")
def timestamp(name=None):
    """Returns the seconds since 1970 at the time when the step comes to the node.

    Args:
      name: The node's name.
    """
    return raw.Timestamp(name=name)
