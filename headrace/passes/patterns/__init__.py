"""The tables of patterns, by the names that options call them."""

from __future__ import annotations

from headrace.passes.patterns import arithmetic, constants, copies, duplicates, remapping
from headrace.passes.rewrite import Table

TABLES: dict[str, Table] = {
    table.name: table
    for table in (copies.TABLE, constants.TABLE, arithmetic.TABLE, remapping.TABLE, duplicates.TABLE)
}
