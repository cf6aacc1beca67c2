"""The op Einsum: sums of products of one or two tensors, written with a letter for each axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.errors import InvalidArgumentError
from headrace.lazy import jnp
from headrace.opdef import op
from headrace.shapes import Shape

Einsum = op("""
    Einsum(inputs: N * T) -> (output: T)
      equation: string
      N: int >= 1
      T: type

    Sums of products over the axes whose letters are not in the result's: "ij,jk->ik" is a matrix product. Three dots
    stand for any further axes, which broadcast.
""")  # fmt: skip

_DOTS = "..."


def _parse(equation: Any) -> tuple[list[list[str]], list[str]]:
    """Returns the letters of each operand's axes and of the result's, three dots being one letter.

    Raises:
      ValueError: The equation is malformed.
    """
    text = equation.decode() if isinstance(equation, bytes) else equation
    sides = text.split("->")
    if len(sides) != 2:
        raise ValueError(f"Expecting exactly one '->' in einsum equation: {text}")
    inputs = sides[0].split(",")
    if len(inputs) not in (1, 2):
        raise ValueError(f"Expecting 1 or 2 input subscripts in equation '{text}' but got: {len(inputs)}")
    parsed = [_letters(part, "input") for part in inputs]
    output = _letters(sides[1], "output")
    known = {letter for part in parsed for letter in part}
    for letter in output:
        if letter not in known:
            raise ValueError(
                f"Einsum output subscripts for equation '{text}' has label '{letter}' which is not present in the "
                "input subscripts"
            )
    return parsed, output


def _letters(part: str, what: str) -> list[str]:
    periods = part.count(".")
    if periods and (periods != 3 or _DOTS not in part):
        raise ValueError(
            f"Expected at most one ellipsis (...), but found {periods} periods (.) in the {what} subscript: {part}"
        )
    before, dots, after = part.partition(_DOTS)
    return [*before, *([_DOTS] if dots else []), *after]


def _matched(equation: Any, count: int) -> tuple[list[list[str]], list[str]]:
    inputs, output = _parse(equation)
    if len(inputs) != count:
        text = equation.decode() if isinstance(equation, bytes) else equation
        raise ValueError(f"Expected {len(inputs)} inputs for equation {text} but got: {count}")
    return inputs, output


@Einsum.shape
def einsum_shape(inputs, *, equation):
    letters, output = _matched(equation, len(inputs))
    sizes: dict[str, Any] = {}
    batch: Shape = ()
    for shape, part in zip(inputs, letters, strict=True):
        dots = _DOTS in part
        if shape is None:
            batch = None if dots else batch
            for letter in part:
                sizes.setdefault(letter, None)
            continue
        extra = len(shape) - (len(part) - dots)
        if extra and not dots:
            raise ValueError(f"Shape must be rank {len(part)} but is rank {len(shape)}")
        if extra < 0:
            raise ValueError(f"Shape must be at least rank {len(part) - 1} but is rank {len(shape)}")
        if dots:
            at = part.index(_DOTS)
            batch = shapes.broadcast(batch, shape[at : at + extra])
            part, shape = part[:at] + part[at + 1 :], shape[:at] + shape[at + extra :]
        for letter, size in zip(part, shape, strict=True):
            sizes[letter] = shapes.merge_dim(sizes.get(letter), size)
    if _DOTS not in output:
        if batch:
            raise ValueError(f"Shape must be at most rank 0 but is rank {len(batch)}")
        return tuple(sizes[letter] for letter in output)
    if batch is None:
        return None
    at = output.index(_DOTS)
    return (
        *(sizes[letter] for letter in output[:at]),
        *batch,
        *(sizes[letter] for letter in output[at + 1 :]),
    )


def _check(inputs: Any, letters: Any, output: Any) -> None:
    """Checks the ranks and sizes that only the step knows.

    Raises:
      InvalidArgumentError: They do not fit the equation.
    """
    sizes: dict[str, int] = {}
    for i, (x, part) in enumerate(zip(inputs, letters, strict=True)):
        dots = _DOTS in part
        rank = len(part) - dots
        if (x.ndim < rank) if dots else (x.ndim != rank):
            words = "at least " if dots else ""
            raise InvalidArgumentError(
                None, None, f"Expected input {i} to have rank {words}{rank} but got: {x.ndim}"
            )
        at = part.index(_DOTS) if dots else len(part)
        axes = [*range(at), *range(x.ndim - (rank - at), x.ndim)] if dots else range(x.ndim)
        for axis, letter in zip(axes, [c for c in part if c != _DOTS], strict=True):
            want = sizes.setdefault(letter, x.shape[axis])
            if x.shape[axis] != want:
                shape = "[" + ",".join(map(str, x.shape)) + "]"
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Expected dimension {want} at axis {axis} of the input shaped {shape} but got dimension "
                    f"{x.shape[axis]}",
                )
        if dots and _DOTS not in output and x.ndim > rank:
            raise InvalidArgumentError(
                None, None, f"Expected input {i} to have rank {rank} but got: {x.ndim}"
            )


def _computed(xp: Any, inputs: Any, equation: Any) -> Any:
    letters, output = _matched(equation, len(inputs))
    _check(inputs, letters, output)
    numbers: dict[str, Any] = {_DOTS: Ellipsis}
    for part in letters:
        for letter in part:
            numbers.setdefault(letter, len(numbers) - 1)
    operands: list[Any] = []
    for x, part in zip(inputs, letters, strict=True):
        operands += [x, [numbers[letter] for letter in part]]
    once = list(dict.fromkeys(output))
    result = xp.einsum(*operands, [numbers[letter] for letter in once]).astype(inputs[0].dtype)
    if len(once) < len(output):
        result = _on_diagonals(xp, result, once, output)
    return result


def _on_diagonals(xp: Any, value: Any, once: Any, output: Any) -> Any:
    """Returns a result with a second axis for each letter that comes twice in the output, zero off the diagonal."""
    dots = value.ndim - sum(letter != _DOTS for letter in once)

    def spelt(letters: Any) -> list[str]:
        return [
            c for letter in letters for c in ([f".{i}" for i in range(dots)] if letter == _DOTS else [letter])
        ]

    axes, seen = spelt(once), []
    for letter in spelt(output):
        if letter not in seen:
            seen.append(letter)
            continue
        axes.append(f"{letter}{len(seen)}")
        seen.append(axes[-1])
        at, size = axes.index(letter), value.shape[axes.index(letter)]
        mask = np.eye(size, dtype=bool).reshape(
            [size if i in (at, value.ndim) else 1 for i in range(value.ndim + 1)]
        )
        value = xp.where(mask, value[..., None], np.zeros((), value.dtype))
    return xp.transpose(value, [axes.index(letter) for letter in seen])


@Einsum.host
def einsum_host(inputs, *, equation):
    # NumPy gives a view where nothing is to be computed.
    return np.array(_computed(np, inputs, equation))


@Einsum.lower
def einsum_lower(inputs, *, equation):
    return _computed(jnp, inputs, equation)


@Einsum.cases
def einsum_cases(case):
    a, b = [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 5.0]]
    case((a, b), equation="ij,jk->ik", gives=[[7.0, 12.0], [15.0, 26.0]])
    case((a,), equation="ii->i", gives=[1.0, 4.0])
    case(([1.0, 2.0],), equation="i->ii", gives=[[1.0, 0.0], [0.0, 2.0]])
    case((a,), equation="ij->", gives=np.float32(10.0))
    case((case.normal(3, 1, 2, 4), case.normal(5, 4, 2)), equation="...ij,...jk->k...i")
    case(
        (np.zeros([2, 0], np.float32), np.zeros([0, 3], np.float32)),
        equation="ij,jk->ik",
        gives=np.zeros([2, 3], np.float32),
    )
    case.shapes("[2,?];[5,?]", "[2,?,5]", equation="ij,jk->ikj")
    case.shapes("?;[5,?]", "?", equation="...ij,jk->...ikj")
    case.fails("[2,2];[3,2]", match="Dimensions must be equal, but are 2 and 3", equation="ij,jk->ik")
    case.fails("[2]", match="Shape must be rank 2 but is rank 1", equation="ij->ji")
    case.fails("[2,2]", match="Expecting exactly one '->'", equation="ij")
    case.fails("[2,2]", match="label 'k' which is not present", equation="ij->ik")
    case.fails(
        ((a, [[1.0, 2.0]]),), match="Dimensions must be equal|Expected dimension 2", equation="ij,jk->ik"
    )
