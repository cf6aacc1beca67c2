"""Partial shapes as plain tuples: an int or None for each dimension; None instead of a tuple for unknown rank.

Ops' shape rules work on these. The functions raise ValueError with TensorFlow's wording; the caller adds the node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Dim = int | None
Shape = tuple[Dim, ...] | None


def to_text(shape: Shape) -> str:
    """Returns TensorFlow's spelling of a shape: `[2,?,3]`, `<unknown>`."""
    if shape is None:
        return "<unknown>"
    return "[" + ",".join("?" if d is None else str(d) for d in shape) + "]"


def from_text(text: str) -> Shape:
    """Returns the shape that `[2,?,3]` or `?` stands for.

    >>> from_text("[2,?,3]")
    (2, None, 3)
    """
    text = text.strip()
    if text in ("?", "<unknown>"):
        return None
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(f"A shape is written [2,?,3] or ?, not {text!r}")
    inside = text[1:-1].strip()
    return tuple(None if d.strip() == "?" else int(d) for d in inside.split(",")) if inside else ()


def is_full(shape: Shape) -> bool:
    """Whether every dimension is known."""
    return shape is not None and None not in shape


def num_elements(shape: Shape) -> int | None:
    """Returns the number of elements, or None where a dimension is not known (and none is 0)."""
    if shape is None:
        return None
    n = 1
    for d in shape:
        if d is None:
            return None
        n *= d
    return n


def merge_dim(a: Dim, b: Dim) -> Dim:
    """Returns the dimension that both describe.

    Raises:
      ValueError: They differ.
    """
    if a is None:
        return b
    if b is None or a == b:
        return a
    raise ValueError(f"Dimensions must be equal, but are {a} and {b}")


def merge(a: Shape, b: Shape) -> Shape:
    """Returns the shape that both describe.

    Raises:
      ValueError: Ranks or dimensions differ.
    """
    if a is None:
        return b
    if b is None or a == b:
        return a
    if len(a) != len(b):
        raise ValueError(f"Shapes must be equal rank, but are {len(a)} and {len(b)}")
    try:
        return tuple([merge_dim(x, y) for x, y in zip(a, b, strict=True)])
    except ValueError:
        i = next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if None not in (x, y) and x != y)
        raise ValueError(
            f"Dimension {i} in both shapes must be equal, but are {a[i]} and {b[i]}."
            f" Shapes are {to_text(a)} and {to_text(b)}."
        ) from None


def merge_all(shapes: Iterable[Shape]) -> Shape:
    result: Shape = None
    for shape in shapes:
        result = merge(result, shape)
    return result


def compatible(a: Shape, b: Shape) -> bool:
    """Whether some full shape fits both."""
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def most_specific_compatible(a: Shape, b: Shape) -> Shape:
    """Returns the most precise shape that describes both."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def check_count(dims: Sequence[int]) -> None:
    """Checks that 64 bits can count the elements of a shape.

    Raises:
      ValueError: They can't.
    """
    if 0 not in dims and math.prod(dims) >= 2**63:
        raise ValueError(f"Shape {to_text(tuple(dims))} would have more than 2**63 - 1 elements")


def with_rank(shape: Shape, rank: int) -> tuple[Dim, ...]:
    """Returns the shape as one of `rank` dimensions, unknown ones where it has no rank.

    Raises:
      ValueError: It has another rank.
    """
    if shape is None:
        return (None,) * rank
    if len(shape) != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {len(shape)}")
    return shape


def with_rank_at_least(shape: Shape, rank: int) -> Shape:
    if shape is not None and len(shape) < rank:
        raise ValueError(f"Shape must be at least rank {rank} but is rank {len(shape)}")
    return shape


def with_rank_at_most(shape: Shape, rank: int) -> Shape:
    if shape is not None and len(shape) > rank:
        raise ValueError(f"Shape must be at most rank {rank} but is rank {len(shape)}")
    return shape


def concatenate(a: Shape, b: Shape) -> Shape:
    return None if a is None or b is None else a + b


def broadcast(a: Shape, b: Shape) -> Shape:
    """Returns the shape of an elementwise operation on the two, by NumPy's rules.

    Raises:
      ValueError: Two dimensions differ and neither is 1.
    """
    if a is None or b is None:
        return None
    if a == b and None not in a:
        return a
    rank = max(len(a), len(b))
    out: list[Dim] = []
    for i in range(-rank, 0):
        x = a[i] if -i <= len(a) else 1
        y = b[i] if -i <= len(b) else 1
        if x == y and x is not None:
            out.append(x)
        elif x == 1:
            out.append(y)
        elif y == 1:
            out.append(x)
        elif x is None or y is None:
            # An unknown dimension against n > 1 can only be 1 or n; two unknown ones can be anything.
            known = y if x is None else x
            out.append(known)
        else:
            raise ValueError(f"Dimensions must be equal, but are {x} and {y}")
    return tuple(out)


def normal_axis(axis: int, rank: int) -> int:
    """Returns a possibly negative axis as 0 <= axis < rank.

    Raises:
      ValueError: It is out of range.
    """
    if not -rank <= axis < rank:
        raise ValueError(f"Shape must be at least rank {axis + 1 if axis >= 0 else -axis} but is rank {rank}")
    return axis + rank if axis < 0 else axis


class WindowTooLongError(ValueError):
    """A window is longer than what it slides over.

    That is refused while a graph is built. Of shapes that are known only when it runs TensorFlow's kernels say
    whether that leaves no place, or less than none.
    """


def window(
    size: Dim,
    kernel: Dim,
    stride: int,
    dilation: int = 1,
    padding: str = "VALID",
    explicit: Sequence[int] = (0, 0),
) -> Dim:
    """Returns how many places a sliding window takes along one dimension.

    Raises:
      ValueError: The stride is not positive.
      WindowTooLongError: The window does not fit.
    """
    if stride <= 0:
        raise ValueError(f"Stride must be > 0, but got {stride}")
    if dilation < 1:
        raise ValueError(f"Dilation rate must be >= 1, but got {dilation}")
    if size is None or (kernel is None and padding != "SAME"):
        return None
    if padding == "SAME":
        return -(-size // stride)
    span = (kernel - 1) * dilation + 1  # type: ignore[operator]
    if padding == "EXPLICIT":
        size = size + explicit[0] + explicit[1]
    if size < span:
        raise WindowTooLongError(f"Negative dimension size caused by subtracting {span} from {size}")
    return (size - span + stride) // stride


def places(size: int, span: int, stride: int, padding: int = 0) -> int:
    """Returns how many places a sliding window takes when the graph runs.

    Args:
      size: The number of elements.
      span: From the window's first element to its last.
      stride: The window's step.
      padding: The number of elements around them.

    Raises:
      WindowTooLongError: Less than none: the window is longer by more than a step.
    """
    out = size + padding - span + stride
    out = out // stride if out >= 0 else -(-out // stride)
    if out < 0:
        raise WindowTooLongError(
            f"Computed output size would be negative: {out} [input_size: {size}, effective_filter_size: {span}, "
            f"stride: {stride}]"
        )
    return out


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Returns the (before, after) padding that TensorFlow's "SAME" means along one dimension."""
    span = (kernel - 1) * dilation + 1
    total = max(0, (-(-size // stride) - 1) * stride + span - size)
    return total // 2, total - total // 2


# -- shape rules that many ops share: each returns a function (shapes) -> shape -----------------------------


def unchanged(x: Shape, *_: Any) -> Shape:
    """The output has the first operand's shape."""
    return x


def unchanged_min_rank(rank: int) -> Callable[[Shape], Shape]:
    """The output has the operand's shape, which must be of at least this rank."""
    return lambda x: with_rank_at_least(x, rank)


def unchanged_rank(rank: int) -> Callable[[Shape], Shape]:
    """The output has the operand's shape, which must be of this rank."""
    return lambda x: with_rank(x, rank)


def scalar(*_: Any) -> Shape:
    """The output is a scalar."""
    return ()


def unknown(*_: Any) -> Shape:
    """Nothing is known of the output's shape."""
    return None


def broadcasted(x: Shape, y: Shape) -> Shape:
    """The output has the operands' broadcast shape."""
    return broadcast(x, y)
