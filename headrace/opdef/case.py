"""The recorder that an op's `cases` rule talks to; tests and documents replay what it recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace import shapes
from headrace.dtypes import as_dtype


@dataclass
class Case:
    """One call of the op: operands (arrays or lists), attrs, and what is expected of it.

    Attributes:
      gives: The expected output, or a tuple of outputs; None if any (the tiers still must agree).
      grad: Whether the gradient is checked numerically.
      tol: Relative and absolute tolerance on `gives`.
    """

    operands: tuple[Any, ...]
    attrs: dict[str, Any]
    gives: Any = None
    grad: bool = True
    tol: float | None = None


@dataclass
class ShapeCase:
    """Static shapes in, static shapes out; `values` gives operands that are constants."""

    inputs: str
    outputs: str
    attrs: dict[str, Any]
    values: dict[str, Any]


@dataclass
class Failure:
    """A call that must be refused: shapes as text (while building) or operands (while running)."""

    inputs: Any
    match: str
    attrs: dict[str, Any]
    values: dict[str, Any]
    raises: Any = None


@dataclass
class Limit:
    """An expected failure: dtypes that a rule can't do, and why."""

    slot: str
    dtypes: tuple[Any, ...]
    why: str


@dataclass
class Program:
    """A small program: `function(step)`, where `step(fetch, gives=..., fails=..., feed=...)` runs the graph."""

    function: Callable[..., Any]
    name: str


@dataclass
class Recorder:
    """Collects an op's cases.

    `case(*operands, gives=..., **attrs)` records a call; `case.shapes`, `case.fails`, `case.limit`, `case.program` and
    `case.needs_known` the rest. `case.normal`, `case.uniform`, `case.integers` make operands from a fixed seed.
    """

    calls: list[Case] = field(default_factory=list)
    shape_cases: list[ShapeCase] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    random: np.random.RandomState = field(default_factory=lambda: np.random.RandomState(20150709))

    def __call__(
        self, *operands: Any, gives: Any = None, grad: bool = True, tol: float | None = None, **attrs: Any
    ) -> None:
        """Records a call. Floats in lists become float32; use NumPy arrays for other types.

        Args:
          *operands: The op's inputs, in order; a list argument is a tuple of operands.
          gives: What comes out; a tuple for several outputs.
          grad: Whether the gradient, where there is one, is compared with finite differences here.
          tol: The tolerance on `gives`, by default the dtype's.
          **attrs: The op's attrs.
        """
        self.calls.append(Case(operands, attrs, gives, grad, tol))

    def shapes(
        self, inputs: str, outputs: str, *, values: dict[str, Any] | None = None, **attrs: Any
    ) -> None:
        """Records static shapes: `case.shapes("[2,?];[?,3]", "[2,3]")`; `?` alone is unknown rank.

        Args:
          inputs: One shape an input, separated by `;`.
          outputs: One shape an output, separated by `;`.
          values: Operands by name that are constants of this value instead of placeholders.
          **attrs: The op's attrs.
        """
        self.shape_cases.append(ShapeCase(inputs, outputs, attrs, values or {}))

    def fails(
        self,
        inputs: Any,
        *,
        match: str,
        raises: Any = None,
        values: dict[str, Any] | None = None,
        **attrs: Any,
    ) -> None:
        """Records a refusal: `inputs` is shapes as text (refused while building) or a tuple of operands.

        Args:
          inputs: Shapes as text, or a tuple of operands.
          match: A regular expression that the message matches.
          raises: The exception class; by default ValueError or TypeError while building, InvalidArgumentError while
            running.
          values: Operands by name that are constants, with shapes as text.
          **attrs: The op's attrs.
        """
        self.failures.append(Failure(inputs, match, attrs, values or {}, raises))

    def limit(self, slot: str, *, dtypes: Any, why: str) -> None:
        """Says that a rule can't do some dtypes, and why; the battery checks that it really can't."""
        self.limits.append(Limit(slot, tuple(as_dtype(d) for d in dtypes), why))

    def needs_known(self, match: str) -> None:
        """Says that, as in TensorFlow, nodes are refused where too little is known of the operands' static shapes.

        Args:
          match: A regular expression that the message of such a refusal matches.
        """
        self.needs.append(match)

    def program(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Records a small program, which runs in the interpreter alone and with clusters."""
        self.programs.append(Program(function, function.__name__))
        return function

    def normal(self, *shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
        return np.asarray(self.random.standard_normal(shape)).astype(as_dtype(dtype).storage)

    def uniform(
        self, *shape: int, low: float = 0.0, high: float = 1.0, dtype: Any = np.float32
    ) -> np.ndarray[Any, Any]:
        return np.asarray(self.random.uniform(low, high, shape)).astype(as_dtype(dtype).storage)

    def integers(
        self, *shape: int, low: int = -5, high: int = 6, dtype: Any = np.int32
    ) -> np.ndarray[Any, Any]:
        return np.asarray(self.random.randint(low, high, shape)).astype(as_dtype(dtype).storage)


def parse_shapes(text: str) -> list[shapes.Shape]:
    """Returns the shapes of a `;`-separated list."""
    return [shapes.from_text(part) for part in text.split(";")] if text.strip() else []
