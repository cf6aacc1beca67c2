"""Which part of a larger tensor a variable is, for partitioned variables in checkpoints."""

from __future__ import annotations

from typing import Any


class SaveSliceInfo:
    """Where one part of a partitioned variable lies in the whole.

    Args:
      full_name: The name of the whole.
      full_shape: Its shape.
      var_offset: Where the part starts, for each dimension.
      var_shape: The part's shape.
      save_slice_info_def: A SaveSliceInfoDef to take all that from.
      import_scope: A name scope to put before the name in `save_slice_info_def`.
    """

    def __init__(
        self,
        full_name: Any = None,
        full_shape: Any = None,
        var_offset: Any = None,
        var_shape: Any = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ):
        if save_slice_info_def is not None:
            from headrace.graph.default import prepend_name_scope

            self.full_name = prepend_name_scope(save_slice_info_def.full_name, import_scope)
            self.full_shape = list(save_slice_info_def.full_shape)
            self.var_offset = list(save_slice_info_def.var_offset)
            self.var_shape = list(save_slice_info_def.var_shape)
        else:
            self.full_name = full_name
            self.full_shape = full_shape
            self.var_offset = var_offset
            self.var_shape = var_shape

    @property
    def spec(self) -> str:
        """The slice as checkpoints write it: the full shape, then `offset,size` for each dimension."""
        shape = " ".join(str(d) for d in self.full_shape)
        parts = ":".join(f"{o},{s}" for o, s in zip(self.var_offset, self.var_shape, strict=True))
        return f"{shape} {parts}"

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns a SaveSliceInfoDef, or None if the name is not in `export_scope`."""
        from headrace.graph.default import strip_name_scope
        from headrace.proto import SaveSliceInfoDef

        if export_scope is not None and not self.full_name.startswith(export_scope):
            return None
        return SaveSliceInfoDef(
            full_name=strip_name_scope(self.full_name, export_scope),
            full_shape=[int(d) for d in self.full_shape],
            var_offset=[int(d) for d in self.var_offset],
            var_shape=[int(d) for d in self.var_shape],
        )
