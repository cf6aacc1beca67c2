"""Timelines: the StepStats of a traced step as a file for chrome://tracing or Perfetto."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class AllocationMaximum(NamedTuple):
    """The most that an allocator held: when, how many bytes, and of which tensors."""

    timestamp: int
    num_bytes: int
    tensors: set[str]


class StepStatsAnalysis(NamedTuple):
    """What `Timeline.analyze_step_stats` found."""

    chrome_trace: ChromeTrace
    allocator_maximums: dict[str, AllocationMaximum]


class ChromeTrace:
    """Trace events; those that name the rows come first, as viewers want it."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []

    def name_row(self, pid: int, name: str) -> None:
        """Gives a row of the picture its name."""
        self._rows.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}})

    def add(self, ph: str, category: str | None, name: str, pid: int, tid: int, ts: int, **more: Any) -> None:
        """Adds an event of phase `ph` at `ts` microseconds, on line `tid` of row `pid`."""
        event = {"ph": ph, "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, **more}
        self._events.append(event)

    def format_to_string(self, pretty: bool = False) -> str:
        """Returns the trace as JSON.

        Args:
          pretty: Whether it is laid out in lines.
        """
        trace = {"traceEvents": [*self._rows, *self._events]}
        return json.dumps(trace, indent=4) if pretty else json.dumps(trace, separators=(",", ":"))


@dataclass
class _Tensor:
    """An output while it lives.

    Attributes:
      created: When its node started.
      ended: When its node was done: until then it lives at least.
      read: When the last reader was at its last microsecond.
    """

    name: str
    id: int
    pid: int
    place: tuple[int, int]
    created: int
    ended: int
    allocator: str
    num_bytes: int
    read: list[int] = field(default_factory=list)

    @property
    def last(self) -> int:
        return max(self.read, default=self.ended)


def _parse_label(label: str) -> tuple[str, list[str]]:
    """`[cpu 1MB] f = Relu(d/e, g:1)` -> ("Relu", ["d/e", "g:1"])."""
    _, equals, call = label.partition(" = ")
    op, opens, rest = call.partition("(")
    if not equals or not opens or not rest.endswith(")"):
        return "unknown", []
    inputs = rest[:-1]
    return op, inputs.split(", ") if inputs else []


def _describe(stats: Any, of_streams: bool) -> tuple[str, str, list[str]]:
    """Returns a node's name, its op and what it reads. Streams of a GPU call a node `name:op`."""
    if of_streams:
        parts = stats.node_name.split(":")
        return parts[0], (parts[1].split("#")[0] if len(parts) > 1 else "unknown"), []
    op, inputs = _parse_label(stats.timeline_label)
    return stats.node_name, op, inputs


class Timeline:
    """The timeline of one step.

    Args:
      step_stats: The StepStats of a RunMetadata that `Session.run` filled in under `RunOptions.FULL_TRACE`.
      graph: The graph; not needed.
    """

    def __init__(self, step_stats: Any, graph: Any = None):
        self._step_stats = step_stats
        self._graph = graph

    def analyze_step_stats(self, show_dataflow: bool = True, show_memory: bool = True) -> StepStatsAnalysis:
        """Returns the trace and how full the allocators were.

        Args:
          show_dataflow: Whether arrows lead from nodes to their readers on other lines.
          show_memory: Whether tensors and allocators are shown.
        """
        picture = _Picture(self._step_stats)
        if show_memory:
            picture.show_births()
        picture.show_nodes(show_dataflow)
        if show_memory:
            picture.show_deaths()
        maximums = picture.follow_allocators(show_memory)
        return StepStatsAnalysis(picture.trace, maximums)

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False) -> str:
        """Returns the trace as text, to be written to a file that chrome://tracing opens.

        Args:
          show_dataflow: Whether arrows lead from nodes to their readers on other lines.
          show_memory: Whether tensors and allocators are shown.
        """
        return self.analyze_step_stats(show_dataflow, show_memory).chrome_trace.format_to_string(pretty=True)


class _Picture:
    """A trace in the making: two rows a device, one for its nodes and one for their tensors."""

    _ALLOCATORS = 0  # the row of the allocators

    def __init__(self, step_stats: Any):
        self.trace = ChromeTrace()
        self.trace.name_row(self._ALLOCATORS, "Allocators")
        self._devices: list[tuple[Any, int, list[int]]] = []
        self._tensors: dict[str, _Tensor] = {}
        self._births: list[tuple[_Tensor, Any]] = []
        for i, device in enumerate(step_stats.dev_stats):
            self.trace.name_row(2 * i + 1, device.device + " Compute")
            self.trace.name_row(2 * i + 2, device.device + " Tensors")
            self._devices.append((device, 2 * i + 1, _lines(device.node_stats)))
        for device, stats, pid, line in self._nodes():
            if not _of_streams(device):
                self._note_outputs(stats, pid, line)
        for device, stats, _, _ in self._nodes():
            _, _, inputs = _describe(stats, _of_streams(device))
            for tensor in filter(None, map(self._tensors.get, inputs)):
                tensor.read.append(stats.all_start_micros + stats.all_end_rel_micros - 1)

    def _nodes(self) -> Iterator[tuple[Any, Any, int, int]]:
        for device, pid, lines in self._devices:
            for stats, line in zip(device.node_stats, lines, strict=True):
                yield device, stats, pid, line

    def _note_outputs(self, stats: Any, pid: int, line: int) -> None:
        for output in stats.output:
            name = f"{stats.node_name}:{output.slot}" if output.slot else stats.node_name
            description = output.tensor_description
            allocation = description.allocation_description
            tensor = _Tensor(
                name=name,
                id=len(self._births),
                pid=pid + 1,
                place=(pid, line),
                created=stats.all_start_micros,
                ended=stats.all_start_micros + stats.all_end_rel_micros,
                allocator=allocation.allocator_name,
                num_bytes=allocation.requested_bytes,
            )
            self._tensors[name] = tensor
            self._births.append((tensor, description))

    def show_births(self) -> None:
        for tensor, description in self._births:
            line = tensor.place[1]
            self.trace.add("N", "Tensor", tensor.name, tensor.pid, line, tensor.created, id=tensor.id)
            snapshot = {"snapshot": {"tensor_description": str(description).replace('"', "")}}
            self.trace.add(
                "O", "Tensor", tensor.name, tensor.pid, line, tensor.ended - 1, id=tensor.id, args=snapshot
            )

    def show_nodes(self, show_dataflow: bool) -> None:
        arrows = itertools.count()
        for device, stats, pid, line in self._nodes():
            name, op, inputs = _describe(stats, _of_streams(device))
            start, took = stats.all_start_micros, stats.all_end_rel_micros
            args = {"name": name, "op": op, **{f"input{i}": each for i, each in enumerate(inputs)}}
            self.trace.add("X", "Op", op, pid, line, start, dur=took, args=args)
            if not show_dataflow:
                continue
            for each in inputs:
                tensor = self._tensors.get(each)
                if tensor is not None and tensor.place != (pid, line):
                    arrow = next(arrows)
                    self.trace.add("s", "DataFlow", each, *tensor.place, tensor.ended, id=arrow)
                    self.trace.add("t", "DataFlow", each, pid, line, start, id=arrow)

    def show_deaths(self) -> None:
        for tensor in self._tensors.values():
            self.trace.add("D", "Tensor", tensor.name, tensor.pid, 0, tensor.last, id=tensor.id)

    def follow_allocators(self, show: bool) -> dict[str, AllocationMaximum]:
        """Adds up what each allocator holds over time, and returns its maximum."""
        changes: dict[str, list[tuple[int, int, str]]] = {}
        for tensor in self._tensors.values():
            changes.setdefault(tensor.allocator, []).extend(
                (
                    (tensor.created, tensor.num_bytes, tensor.name),
                    (tensor.last, -tensor.num_bytes, tensor.name),
                )
            )
        maximums = {}
        for allocator, steps in changes.items():
            held, most = 0, AllocationMaximum(0, 0, set())
            alive: set[str] = set()
            for when, change, name in sorted(steps):
                held += change
                (alive.add if change >= 0 else alive.discard)(name)
                if held > most.num_bytes:
                    most = AllocationMaximum(when, held, set(alive))
                if show:
                    self.trace.add(
                        "C", "Memory", allocator, self._ALLOCATORS, 0, when, args={allocator: held}
                    )
            maximums[allocator] = most
        return maximums


def _of_streams(device: Any) -> bool:
    return "/stream:" in device.device or "/memcpy" in device.device


def _lines(node_stats: Any) -> list[int]:
    """Returns for each node the first line on which it overlaps no earlier one."""
    ends: list[int] = []
    out = []
    for stats in node_stats:
        start = stats.all_start_micros
        line = next((i for i, end in enumerate(ends) if end < start), len(ends))
        if line == len(ends):
            ends.append(0)
        ends[line] = start + stats.all_end_rel_micros
        out.append(line)
    return out
