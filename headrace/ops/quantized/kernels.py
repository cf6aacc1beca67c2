"""What kernels of quantized ops check before they compute."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from headrace.dtypes import DType
from headrace.errors import InvalidArgumentError


def invalid(message: str) -> NoReturn:
    """Raises an InvalidArgumentError; the runtime adds the node."""
    raise InvalidArgumentError(None, None, message)


def no_kernel(ctx: Any, rows: tuple[dict[str, str], ...] = ()) -> NoReturn:
    """Refuses a node for whose types TensorFlow has no kernel on the CPU.

    Args:
      ctx: The node's context.
      rows: The types that there are kernels for, by attr.
    """
    op = ctx.op
    types = ", ".join(f"{k}=DT_{v.name.upper()}" for k, v in op.attrs.items() if isinstance(v, DType))
    known = "\n".join(
        "  device='CPU'; " + "; ".join(f"{k} in [DT_{v.upper()}]" for k, v in row.items()) for row in rows
    )
    invalid(
        f"No OpKernel was registered to support Op '{op.type}' used by node {op.name} with these attrs: [{types}]\n"
        f"Registered devices: [CPU]\nRegistered kernels:\n{known or '  <no registered kernels>'}\n"
    )


def check_kernel(ctx: Any, *rows: dict[str, str]) -> None:
    """Refuses a node whose types are in none of the rows.

    Raises:
      InvalidArgumentError: They are not.
    """
    attrs = ctx.op.attrs
    if not any(all(attrs[k].base_dtype.name == v for k, v in row.items()) for row in rows):
        no_kernel(ctx, rows)


def one(value: Any, what: str = "a range's end") -> Any:
    """Returns the first number of what should be a scalar; TensorFlow does not mind other shapes here.

    Raises:
      InvalidArgumentError: There is none.
    """
    if np.size(value) == 0:
        invalid(f"{what} must not be empty")
    return np.float32(np.asarray(value).reshape(-1)[0])
