"""What a saver saves: variables, partitioned ones among them, and objects that say how they are saved."""

from __future__ import annotations

import collections.abc
from typing import Any

from headrace import shapes
from headrace.export import export_value
from headrace.graph import Operation, Tensor, colocate_with, device
from headrace.opdef import raw
from headrace.tensor_shape import to_tuple


class SaveSpec:
    """One tensor in a checkpoint: its value in the graph, its name and, for a part of a larger one, its place.

    Args:
      tensor: The tensor to save, or a function that makes it.
      slice_spec: `10 4 0,5:0,4` (whole shape, then start and length of each dimension), or ''.
      name: The name in the checkpoint.
      dtype: The type, the tensor's own if None.
    """

    def __init__(self, tensor: Any, slice_spec: str, name: str, dtype: Any = None, device: Any = None):
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        self._dtype = dtype
        self.device = device

    @property
    def tensor(self) -> Any:
        return self._tensor() if callable(self._tensor) else self._tensor

    @property
    def dtype(self) -> Any:
        return (self.tensor.dtype if self._dtype is None else self._dtype).base_dtype


class SaveableObject:
    """Something that is saved as some tensors and restored from them; programs subclass it.

    Args:
      op: What it is an object of.
      specs: Its SaveSpecs.
      name: Its name.
    """

    def __init__(self, op: Any, specs: list[SaveSpec], name: str):
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def device(self) -> Any:
        return self.specs[0].device

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Any:
        """Returns the operation that takes the restored tensors over."""
        raise NotImplementedError("Calling an abstract method.")


export_value("python.training.saver.BaseSaverBuilder.SaveSpec", SaveSpec)
export_value("python.training.saver.BaseSaverBuilder.SaveableObject", SaveableObject)


class ReferenceSaveable(SaveableObject):
    """A reference variable, or one part of a partitioned one."""

    def __init__(self, variable: Any, slice_spec: str, name: str):
        tensor = variable if isinstance(variable, Tensor) else variable._as_graph_element()
        super().__init__(tensor, [SaveSpec(tensor, slice_spec, name)], name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Any:
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = raw.Reshape(value, list(restored_shapes[0]))
        full = shapes.is_full(self.op._dims)
        with colocate_with(self.op.op):
            return raw.Assign(self.op, value, validate_shape=restored_shapes is None and full)


class ResourceSaveable(SaveableObject):
    """A resource variable, or one part of a partitioned one."""

    def __init__(self, variable: Any, slice_spec: str, name: str):
        read = variable._graph_element if hasattr(variable, "_graph_element") else variable.value()
        self.handle = variable.handle
        self._dims = to_tuple(variable.shape)
        super().__init__(self.handle, [SaveSpec(read, slice_spec, name)], name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Any:
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = raw.Reshape(value, list(restored_shapes[0]))
        with device(self.handle.device or None):
            value = raw.Identity(value)
            if value._dims is None:
                value._dims = self._dims
            return raw.AssignVariableOp(self.handle, value)


def _is_resource(variable: Any) -> bool:
    return getattr(getattr(variable, "handle", None), "dtype", None) is not None and hasattr(
        variable, "handle"
    )


def _is_variable(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.op.type in ("Variable", "VariableV2", "AutoReloadVariable")
    return hasattr(value, "_as_graph_element") and hasattr(value, "initializer")


def _name_of(variable: Any) -> str:
    if isinstance(variable, Tensor):
        return variable.op.name
    name = getattr(variable, "_shared_name", None)
    return name if isinstance(name, str) else variable.op.name  # type: ignore[no-any-return]


def by_name(variables: Any) -> dict[str, Any]:
    """Returns name in the checkpoint -> variable, list of parts, or saveable object.

    Raises:
      TypeError: Something is no variable.
      ValueError: Two have one name.
    """
    if isinstance(variables, collections.abc.Mapping):
        return {str(k): list(v) if _is_partitioned(v) else v for k, v in variables.items()}
    if not isinstance(variables, (list, tuple, set, frozenset)):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {variables}")
    out: dict[str, Any] = {}
    for v in variables:
        if isinstance(v, SaveableObject) or hasattr(v, "specs"):
            out[v.name] = v
            continue
        if _is_partitioned(v):
            _put(out, v.name, list(v))
            continue
        if not _is_variable(v):
            raise TypeError(f"Variable to save is not a Variable: {v}")
        info = getattr(v, "_save_slice_info", None)
        if info is not None:
            parts = out.setdefault(info.full_name, [])
            if not isinstance(parts, list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {info.full_name}")
            parts.append(v)
            continue
        _put(out, _name_of(v), v)
    return out


def _put(out: dict[str, Any], name: str, value: Any) -> None:
    if name in out:
        raise ValueError(f"At least two variables have the same name: {name}")
    out[name] = value


def _is_partitioned(value: Any) -> bool:
    return type(value).__name__ == "PartitionedVariable"


def saveables(named: dict[str, Any]) -> list[SaveableObject]:
    """Returns saveable objects, sorted by name.

    Raises:
      TypeError: Something is no variable.
      ValueError: One variable stands under two names.
    """
    out: list[SaveableObject] = []
    seen: set[int] = set()
    for name in sorted(named):
        value = named[name]
        if isinstance(value, SaveableObject) or hasattr(value, "specs"):
            out.append(value)
            continue
        parts = value if isinstance(value, (list, tuple)) else [value]
        for part in parts:
            if not _is_variable(part):
                raise TypeError(f"names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a "
                                f"variable: {part}")  # fmt: skip
            key = id(part.op if isinstance(part, (Tensor, Operation)) else part._as_graph_element().op)
            if key in seen:
                raise ValueError(f"The same saveable will be restored with two names: {name}")
            seen.add(key)
            info = getattr(part, "_save_slice_info", None)
            spec = info.spec if info is not None else ""
            out.append(
                ResourceSaveable(part, spec, name)
                if _is_resource(part)
                else ReferenceSaveable(part, spec, name)
            )
    return out
