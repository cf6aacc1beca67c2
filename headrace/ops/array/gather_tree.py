"""GatherTree: the sequences that a beam search found, put together from its end. Runs on the host only."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import export, op, raw
from headrace.ops.array.failing import invalid

GatherTree = op("""
    GatherTree(step_ids: T, parent_ids: T, max_sequence_lengths: int32, end_token: T) -> (beams: T)
      T: {int32}

    Follows each beam from the last step back through its parents, and returns the ids on the way.
""")  # fmt: skip


@GatherTree.shape
def gather_tree_shape(step_ids, parent_ids, max_sequence_lengths, end_token):
    both = shapes.merge(shapes.with_rank(step_ids, 3), shapes.with_rank(parent_ids, 3))
    [batch] = shapes.with_rank(max_sequence_lengths, 1)
    shapes.with_rank(end_token, 0)
    return (both[0], shapes.merge_dim(both[1], batch), both[2])


@GatherTree.host
def gather_tree_host(step_ids, parent_ids, max_sequence_lengths, end_token):
    if step_ids.ndim != 3:
        invalid(f"step_ids must be a 3-tensor, saw shape: {shapes.to_text(step_ids.shape)}")
    if step_ids.shape != parent_ids.shape:
        invalid("step_ids.shape must match parent_ids.shape")
    steps, batch, width = step_ids.shape
    if max_sequence_lengths.shape != (batch,):
        invalid("batch size dimensions step_ids.shape[1] and max_seq_lengths.shape[0] must match")
    if end_token.ndim:
        invalid(f"end_token must be a scalar, saw shape: {shapes.to_text(end_token.shape)}")
    beams = np.full_like(step_ids, end_token)
    rows = np.arange(batch)[:, None]
    at = np.broadcast_to(np.arange(width), (batch, width))
    last = np.minimum(max_sequence_lengths, steps)[:, None] - 1
    for step in range(steps - 1, -1, -1):
        in_sequence = step <= last
        beams[step] = np.where(in_sequence, step_ids[step, rows, at], end_token)
        parents = np.where(in_sequence, parent_ids[step, rows, at], at)
        wrong = np.argwhere((parents < 0) | (parents >= width)) if step else ()
        if len(wrong):
            row, beam = wrong[0]
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Saw invalid parent id {parents[row, beam]} at (batch, time, beam) == ({row}, {step - 1}, {beam})",
            )
        at = parents
    ended = np.cumsum(beams == end_token, axis=0) > 0
    beams[ended] = end_token
    return beams


@GatherTree.cases
def gather_tree_cases(case):
    ids = [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]]
    parents = [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]]
    case(ids, parents, [3], 10, gives=[[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]]])
    case(ids, parents, [2], 10, gives=[[[1, 2, 2]], [[4, 5, 6]], [[10, 10, 10]]])
    case(ids, parents, [0], 10, gives=[[[10, 10, 10]], [[10, 10, 10]], [[10, 10, 10]]])
    case(ids, parents, [9], 10, gives=[[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]]])
    case(ids, parents, [3], 6, gives=[[[2, 2, 2]], [[6, 5, 6]], [[6, 8, 6]]])
    case.shapes("[?,?,4];[3,?,?];[7];?", "[3,7,4]")
    case.fails("[2,3];[2,3];[2];[]", match="must be rank 3 but is rank 2")
    case.fails("[3,1,3];[2,1,3];[1];[]", match="are 3 and 2")
    case.fails("[3,1,3];[3,1,3];[2];[]", match="are 1 and 2")


@export("contrib.seq2seq.gather_tree")
def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token, name=None):
    """Returns the sequences that a beam search found.

    Args:
      step_ids: The id that each beam took in each step: an int32 tensor of steps, batch and beams.
      parent_ids: Which beam of the step before each beam goes on from.
      max_sequence_lengths: For each row of the batch the length of its longest sequence.
      end_token: What stands after a sequence's end; what comes after the first one in a sequence becomes it.
      name: The node's name.

    Raises:
      ValueError: The shapes don't fit each other.
      InvalidArgumentError: When it runs: a parent is none of the beams.
    """
    return raw.GatherTree(step_ids, parent_ids, max_sequence_lengths, end_token, name=name)
