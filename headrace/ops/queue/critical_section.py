"""tf.CriticalSection: functions that no two steps run at a time."""

from __future__ import annotations

from typing import NamedTuple

from headrace.dtypes import resource
from headrace.export import NAMES, export
from headrace.graph import (
    Operation,
    Tensor,
    colocate_with,
    control_dependencies,
    get_default_graph,
    name_scope,
    nest,
)
from headrace.graph.default import prepend_name_scope
from headrace.opdef import raw

# Collections: the critical sections of a graph, and what they execute.
_SECTIONS = "critical_sections"
_EXECUTIONS = "critical_section_executions"


class _ExecutionSignature(NamedTuple):
    """What is remembered of a call of `execute`: other critical sections look at it."""

    op: Operation
    handle: Tensor
    resources: list[Tensor]
    exclusive_resource_access: bool


@export("CriticalSection")
class CriticalSection:
    """Sees to it that of the functions which it executes only one runs at a time, in all steps of a session.

    Args:
      name: The name of the node.
      shared_name: A name under which other graphs of the session find the same critical section.
      critical_section_def: A CriticalSectionDef to be made of, instead of all of the above.
      import_scope: A name scope that its names are in.

    Raises:
      ValueError: `shared_name` and `critical_section_def` are both given.
    """

    def __init__(self, name=None, shared_name=None, critical_section_def=None, import_scope=None):
        if critical_section_def is not None and (name or shared_name):
            raise ValueError("critical_section_def and shared_name are mutually exclusive.")
        if critical_section_def is not None:
            found = prepend_name_scope(critical_section_def.critical_section_name, import_scope)
            self._handle = get_default_graph().as_graph_element(found, allow_operation=False)
            self._name = self._handle.op.name
            return
        with name_scope(name, "CriticalSection", []) as scope:
            self._handle = raw.MutexV2(shared_name=shared_name or scope, name=scope)
        self._name = self._handle.op.name
        get_default_graph().add_to_collection(_SECTIONS, self)

    @property
    def name(self):
        """The name of the node."""
        return self._name

    def _is_own(self, tensor):
        """Whether a tensor is the handle of this critical section, in whatever graph."""
        mine = self._handle.op
        if tensor is self._handle:
            return True
        if tensor.op.type != "MutexV2":
            return False
        return tensor.op.attrs["shared_name"] == mine.attrs["shared_name"] != b""

    def execute(self, fn, exclusive_resource_access=True, name=None):
        """Returns what a function gives, which runs while no other function of this critical section does.

        Args:
          fn: A function without arguments. All that it makes waits for its turn.
          exclusive_resource_access: Whether no other critical section may use the resources that it uses.
          name: The name of all this.

        Returns:
          What `fn` returned, with tensors that are there once the turn is over.

        Raises:
          ValueError: The function uses this critical section itself, or resources that another one has for itself.
        """
        with name_scope(name, "critical_section_execute", []):
            lock = raw.MutexLock(self._handle)
            graph = get_default_graph()
            before = set(graph.get_operations())
            with control_dependencies([lock]):
                result = fn()
            made = [op for op in graph.get_operations() if op not in before]
            inside = {*made, lock.op}
            used = list(
                dict.fromkeys(t for op in made for t in op.inputs if t.op not in inside or t is self._handle)
            )
            outside = [t for t in used if t is not self._handle]
            if outside:
                # The turn begins when all that the function uses is there.
                with graph.control_dependencies(None):
                    ready = NAMES["group"](*[t.op for t in outside])
                lock.op._add_control_inputs([ready])
            if any(self._is_own(t) for t in used):
                raise ValueError(
                    "The function fn attempts to directly access the CriticalSection in which it would be running.  "
                    "This is illegal and would cause deadlocks."
                )
            resources = [t for t in outside if t.dtype == resource]
            self._check_access(resources, exclusive_resource_access)
            flat = nest.flatten(result)
            values = [_identity(v) for v in flat]
            with control_dependencies(values):
                with colocate_with(self._handle):
                    over = raw.ConsumeMutexLock(lock)
                # Whoever waits for one result waits for all.
                parts = [
                    v if hasattr(v, "op") or isinstance(v, Operation) else w
                    for v, w in zip(flat, values, strict=True)
                ]
                together = NAMES["tuple"](parts)
            with control_dependencies([over]):
                out = nest.pack_sequence_as(result, [_identity(v) for v in together])
            graph.add_to_collection(
                _EXECUTIONS,
                _ExecutionSignature(lock.op, self._handle, resources, exclusive_resource_access),
            )
            return out

    def _check_access(self, resources, exclusive):
        """Refuses resources that another critical section has for itself, or that this one wants and another uses.

        Raises:
          ValueError: There are such resources.
        """
        for other in get_default_graph().get_collection(_EXECUTIONS):
            if self._is_own(other.handle) or not (exclusive or other.exclusive_resource_access):
                continue
            shared = [t for t in resources if any(t is r for r in other.resources)]
            if shared:
                raise ValueError(
                    f"This execution would access resources: {shared}.  Either this lock (CriticalSection: "
                    f"{self._handle}) or lock '{other}' (CriticalSection: {other.handle}) requested exclusive resource "
                    "access of this resource.  Did you mean to call execute with keyword argument "
                    "exclusive_resource_access=False?"
                )


def _identity(value):
    return NAMES["group"](value) if isinstance(value, Operation) else NAMES["identity"](value)
