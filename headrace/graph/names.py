"""Names of nodes and scopes: what may be one, and how a taken name is told apart."""

from __future__ import annotations

import re

VALID_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
VALID_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/]*$")


class NameTable:
    """The names in use, compared without regard to case, as on file systems that summaries are written to."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        # lower-case name -> the number to try next when it is asked for again
        self._next: dict[str, int] = {}

    def unique(self, name: str, mark_as_used: bool = True) -> str:
        """Returns `name`, or `name_1`, `name_2` ... where it is taken; marks what it returns."""
        key = name.lower()
        table = self._next
        i = table.get(key)
        if i is None:
            if mark_as_used:
                table[key] = 1
            return name
        free = i
        while f"{key}_{free}" in table:
            free += 1
        if mark_as_used:
            # The count for the plain name moves by one a request, whatever number was free: TensorFlow's later
            # names depend on it only through the search above, so the search may also start where it ended.
            table[key] = free + 1
            table[f"{key}_{free}"] = 1
        return f"{name}_{free}"

    def mark(self, name: str) -> None:
        """Marks a name as taken without changing it."""
        self._next.setdefault(name.lower(), 1)


def without_number(tensor_name: str) -> tuple[str, int | None]:
    """Splits `node:2` into its node and number; the number is None where there is none."""
    node, colon, number = tensor_name.partition(":")
    return (node, int(number)) if colon else (node, None)
