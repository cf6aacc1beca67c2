"""tf.train.Saver: saves variables to checkpoints and restores them, by nodes that it adds to the graph."""

from __future__ import annotations

import os
import time
from typing import Any

from headrace import errors, shapes
from headrace.checkpoint import meta_graph, state
from headrace.checkpoint.saveable import by_name, saveables
from headrace.checkpoint.state import checkpoint_exists, remove_checkpoint
from headrace.export import NAMES, export
from headrace.graph import (
    GraphKeys,
    Tensor,
    colocate_with,
    control_dependencies,
    device,
    get_default_graph,
    name_scope,
)
from headrace.opdef import constant_node, raw
from headrace.platform import tf_logging as logging
from headrace.platform.file_io import files_of
from headrace.tensor_shape import to_tuple


@export("train.Saver")
class Saver:
    """Saves variables and restores them.

    Args:
      var_list: Variables or saveable objects; or a dictionary from names in the checkpoint to those; by default all
        that the graph holds when the saver is built.
      reshape: Restores tensors of another shape with the same number of elements.
      sharded: Accepted; one file is written in any case.
      max_to_keep: How many of the latest checkpoints are kept, all if 0 or None.
      keep_checkpoint_every_n_hours: One checkpoint of each such span is never deleted.
      name: The name scope of the saver's nodes.
      restore_sequentially: Restores one variable after another.
      saver_def: A SaverDef to take over instead of building nodes.
      builder: Not supported.
      defer_build: Waits with building for `build()` or the first use.
      allow_empty: Makes a graph without variables no error.
      write_version: The format; V2 is written.
      pad_step_number: Pads step numbers with zeros, so that file names sort.
      save_relative_paths: Writes relative paths into the file `checkpoint`.
      filename: The default of the node that is fed with the path.

    Raises:
      TypeError: `var_list` holds something else.
      ValueError: There is nothing to save, or two of one name.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: Any = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ):
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set defer_build=False or "
                "var_list=None."
            )
        self._var_list = var_list
        self._reshape = reshape
        self._max_to_keep = max_to_keep
        self._keep_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._sequentially = restore_sequentially
        self._allow_empty = allow_empty
        self._pad_step_number = pad_step_number
        self._relative = save_relative_paths
        self._filename = filename
        self._is_built = False
        self._is_empty = False
        self.saver_def = saver_def
        self._last: list[tuple[str, float]] = []
        self._next_kept = time.time() + keep_checkpoint_every_n_hours * 3600
        if saver_def is not None:
            self._is_built = True
            self._max_to_keep = saver_def.max_to_keep
            self._keep_hours = saver_def.keep_checkpoint_every_n_hours
        elif not defer_build:
            self.build()

    # -- nodes -------------------------------------------------------------------------------------------------
    def build(self) -> None:
        """Adds the saver's nodes to the default graph."""
        if self._is_built:
            return
        self._is_built = True
        variables = self._var_list
        if variables is None:
            variables = _all_saveable()
        if not variables:
            if not self._allow_empty:
                raise ValueError("No variables to save")
            self._is_empty = True
            return
        items = saveables(by_name(variables))
        with name_scope(self._name, "save", [s.op for s in items]):
            given = constant_node(self._filename or "model", name="filename/input")
            name = raw.PlaceholderWithDefault(given, shape=(), name="filename")
            filename = raw.PlaceholderWithDefault(name, shape=(), name="Const")
            saved = self._add_save(filename, items)
            restored = self._add_restore(filename, items)
        from headrace.proto import SaverDef

        self.saver_def = SaverDef(
            filename_tensor_name=filename.name,
            save_tensor_name=saved.name,
            restore_op_name=restored.name,
            max_to_keep=self._max_to_keep or 0,
            keep_checkpoint_every_n_hours=self._keep_hours,
            version=SaverDef.V2,
        )

    @staticmethod
    def _add_save(filename: Tensor, items: list[Any]) -> Tensor:
        names, slices, tensors = [], [], []
        for item in items:
            for spec in item.specs:
                names.append(spec.name)
                slices.append(spec.slice_spec)
                tensors.append(spec.tensor)
        save = raw.SaveV2(filename, names, slices, tensors, name="SaveV2")
        with control_dependencies([save]), colocate_with(filename):
            return raw.Identity(filename, name="control_dependency")  # type: ignore[no-any-return]

    def _add_restore(self, filename: Tensor, items: list[Any]) -> Any:
        names = [spec.name for item in items for spec in item.specs]
        slices = [spec.slice_spec for item in items for spec in item.specs]
        dtypes = [spec.dtype for item in items for spec in item.specs]
        with device("CPU:0"):
            values = raw.RestoreV2(filename, names, slices, dtypes=dtypes, name="RestoreV2")
        assigned: list[Any] = []
        at = 0
        for item in items:
            mine = list(values[at : at + len(item.specs)])
            at += len(item.specs)
            wanted = None
            if self._reshape:
                wanted = []
                for spec in item.specs:
                    dims = to_tuple(spec.tensor.get_shape())
                    if shapes.is_full(dims):
                        wanted.append(dims)
                if len(wanted) != len(mine):
                    wanted = None
            controls = assigned[-1:] if self._sequentially else []
            with control_dependencies(controls):
                assigned.append(item.restore(mine, wanted))
        with control_dependencies([getattr(a, "op", a) for a in assigned]):
            return raw.NoOp(name="restore_all")

    # -- saving ------------------------------------------------------------------------------------------------
    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the checkpoints that would be deleted first, oldest first."""
        return [path for path, _ in self._last]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        self._last = [(path, float("inf")) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[tuple[str, float]]) -> None:
        self._last = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: list[str]) -> None:
        """Takes over checkpoints of an earlier run, so that they are deleted in turn."""
        found = [p for p in checkpoint_paths if checkpoint_exists(p)]
        self._last = [(p, os.path.getmtime(p + ".index")) for p in found if os.path.exists(p + ".index")]

    def as_saver_def(self) -> Any:
        """Returns the SaverDef that another saver can be made from."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        return self.saver_def

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """Returns a saver for nodes that are in the graph already."""
        if import_scope:
            from headrace.graph.default import prepend_name_scope

            copy = type(saver_def)()
            copy.CopyFrom(saver_def)
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(copy, field, prepend_name_scope(getattr(copy, field), import_scope))
            saver_def = copy
        return Saver(saver_def=saver_def, name=import_scope)

    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Saves the variables and returns the path of the checkpoint.

        Args:
          sess: A session.
          save_path: What the files' names start with.
          global_step: A number (or a tensor or variable of one) to put behind it.
          latest_filename: The file that names the checkpoints, `checkpoint` by default.
          meta_graph_suffix: The suffix of the MetaGraph file.
          write_meta_graph: Whether to write that.
          write_state: Whether to update the file that names the checkpoints.
          strip_default_attrs: Leaves attrs that have their default out of the MetaGraph.
          save_debug_info: Accepted; nothing more is written.

        Raises:
          TypeError: `sess` is no session.
          ValueError: The folder does not exist, or `latest_filename` collides with `save_path`.
        """
        if not self._is_built:
            self.build()
        latest_filename = latest_filename or "checkpoint"
        save_path = os.fspath(save_path)
        if not hasattr(sess, "run"):
            raise TypeError(f"'sess' must be a Session; {sess}")
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        if latest_filename == os.path.basename(save_path):
            raise ValueError(
                f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{save_path}'"
            )
        path = save_path
        if global_step is not None:
            step = global_step
            if not isinstance(step, int) and (hasattr(step, "_as_graph_element") or isinstance(step, Tensor)):
                step = (
                    NAMES["train.global_step"](sess, step) if "train.global_step" in NAMES else sess.run(step)
                )
            path = f"{save_path}-{int(step):08d}" if self._pad_step_number else f"{save_path}-{int(step)}"
        if self._is_empty:
            return None
        folder = os.path.dirname(save_path)
        try:
            result = sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: path})
        except (errors.FailedPreconditionError, errors.NotFoundError) as e:
            files, local = files_of(folder or ".")
            if not files.isdir(local):
                raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.") from e
            raise
        path = result.decode() if isinstance(result, bytes) else str(result)
        if write_state:
            self._remember(path, meta_graph_suffix)
            state.write_state(folder or ".", path, self.last_checkpoints, latest_filename, self._relative)
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph(f"{path}.{meta_graph_suffix}", strip_default_attrs=strip_default_attrs)
        return path

    def _remember(self, path: str, suffix: str) -> None:
        if not self._max_to_keep:
            return
        self._last = [row for row in self._last if row[0] != path]
        self._last.append((path, time.time()))
        if len(self._last) > self._max_to_keep:
            old, when = self._last.pop(0)
            if when > self._next_kept:
                self._next_kept += self._keep_hours * 3600
                return
            try:
                remove_checkpoint(old, 2, suffix)
            except OSError as e:
                logging.warning("Ignoring: %s", e)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Any = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """Returns (and writes) the default graph with this saver; see `tf.train.export_meta_graph`."""
        return meta_graph.export_meta_graph(
            filename=filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
        )

    # -- restoring ---------------------------------------------------------------------------------------------
    def restore(self, sess: Any, save_path: Any) -> None:
        """Restores the variables from a checkpoint; they need no initialization before.

        Raises:
          ValueError: There is no checkpoint of that path.
          NotFoundError: A variable is not in the checkpoint.
          InvalidArgumentError: A variable has another shape or type there.
        """
        if not self._is_built:
            self.build()
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = os.fspath(save_path)
        if not checkpoint_exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        logging.info("Restoring parameters from %s", path)
        begin = "Restoring from checkpoint failed. This is most likely due to a "
        end = "Please ensure that you have not altered the graph expected based on the checkpoint. Original error:\n\n"
        try:
            sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: path})
        except errors.NotFoundError as e:
            raise errors.NotFoundError(
                e.node_def,
                e.op,
                f"{begin}Variable name or other graph key that is missing from the checkpoint. {end}{e.message}",
            ) from e
        except errors.InvalidArgumentError as e:
            raise errors.InvalidArgumentError(
                e.node_def,
                e.op,
                f"{begin}mismatch between the current graph and the graph from the checkpoint. {end}{e.message}",
            ) from e


def _all_saveable() -> list[Any]:
    graph = get_default_graph()
    return [
        *graph.get_collection(GraphKeys.GLOBAL_VARIABLES),
        *graph.get_collection(GraphKeys.SAVEABLE_OBJECTS),
    ]


@export("train.import_meta_graph")
def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Adds a saved graph and its collections to the default graph.

    Args:
      meta_graph_or_file: A MetaGraphDef, or the path of a file of one.
      clear_devices: Leaves devices out.
      import_scope: A name scope to put the nodes under.
      **kwargs: `input_map` and what else `tf.import_graph_def` takes.

    Returns:
      A saver for the saved graph's own nodes, or None if it has no variables.
    """
    meta = meta_graph_or_file
    if isinstance(meta, (str, os.PathLike)):
        meta = meta_graph.read(os.fspath(meta))
    scope = meta_graph.load(meta, clear_devices, import_scope, kwargs.get("input_map"))
    if meta.HasField("saver_def"):
        return Saver.from_proto(meta.saver_def, scope)
    if get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES):
        return Saver()
    return None
