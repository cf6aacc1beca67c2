"""Counts, of each op, the golden cases that reach it, and names the attrs that none of its calls varies.

`python -m tests.golden.counts [LEAST]` lists the ops with fewer than `LEAST` cases, by default three, without those in
`FEW`.

A case is a row of `raw_ops`; a line of `topics` or `small_calls` that names the op; a record of `random_streams`; a
program, graph or call of the other files that has a node of the op.
"""

from __future__ import annotations

import collections
import json
import pathlib
import re
import sys
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

# Calls in a topic, and nodes of old graphs.
_NAMED = re.compile(r"\b(?:(?:raw|r)\.|old\(\")([A-Z]\w*)")

# Ops of which TensorFlow on a CPU says too little to have three cases.
FEW = dict.fromkeys(
    (
        "CudnnRNN CudnnRNNBackprop CudnnRNNBackpropV2 CudnnRNNBackpropV3 "
        "CudnnRNNCanonicalToParams CudnnRNNCanonicalToParamsV2 CudnnRNNParamsSize CudnnRNNParamsToCanonical "
        "CudnnRNNParamsToCanonicalV2 CudnnRNNV2 CudnnRNNV3"
    ).split(),
    "has kernels on GPUs only; that a CPU refuses it is a case of its own file",
)


def counts() -> collections.Counter[str]:
    """Returns the number of golden cases by op."""
    found: collections.Counter[str] = collections.Counter()
    for path in (HERE / "raw_ops").glob("*.json"):
        found.update(row[0] for row in _read(path))
    for path in (HERE / "topics").glob("*.txt"):
        for line in path.read_text(encoding="utf-8").split("\n"):
            found.update(set(_NAMED.findall(line)))
    for source in _read(HERE / "small_calls.json"):
        found.update(set(_NAMED.findall(source)))
    found.update(record["op"] for record in _read(HERE / "random_streams.json")["records"])
    for path in [
        *HERE.glob("*_graphs.json"),
        *(HERE / "graphs").glob("*.json"),
        *(HERE / "topics").glob("*.json"),
    ]:
        whole = _read(path)
        for part in whole.values() if isinstance(whole, dict) else whole:
            found.update(set(_nodes(part)))
    for name in ("nn_values.json", "nn_second.json", "nn_more.json"):
        found.update(key.split(" ")[0] for key in _read(HERE / name))
    return found


def _read(path: pathlib.Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _nodes(part: Any) -> Any:
    """Yields the ops of the nodes in a kept graph, however deep it lies."""
    if isinstance(part, dict):
        for value in part.values():
            yield from _nodes(value)
    elif isinstance(part, list):
        if len(part) >= 4 and all(isinstance(v, str) for v in part[:2]) and isinstance(part[2], list):
            yield part[1]
        else:
            for value in part:
                yield from _nodes(value)


def constant_attrs() -> dict[str, list[str]]:
    """Returns the attrs of each op that have one value in all of its rows."""
    values: dict[str, dict[str, set[str]]] = {}
    for path in (HERE / "raw_ops").glob("*.json"):
        for row in _read(path):
            for key, value in row[1].items():
                values.setdefault(row[0], {}).setdefault(key, set()).add(json.dumps(value, sort_keys=True))
    return {op: sorted(k for k, seen in attrs.items() if len(seen) < 2) for op, attrs in values.items()}


def main() -> None:
    """Lists the ops with few cases and the attrs that do not vary."""
    from headrace.opdef import OPS
    from tests.golden.raw_seeds import AREAS

    least = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    found, constant = counts(), constant_attrs()
    for name, op in sorted(OPS.items()):
        if op.module.split(".")[2] not in AREAS:
            continue
        few = found[name] < least and name not in FEW
        if few or constant.get(name):
            print(
                f"{name}: {found[name]} cases; attrs of one value: {', '.join(constant.get(name, [])) or '-'}"
            )


if __name__ == "__main__":
    main()
