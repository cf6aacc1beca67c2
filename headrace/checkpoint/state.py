"""The file `checkpoint` in a folder of checkpoints: which there are, and which is the latest."""

from __future__ import annotations

import os
from typing import Any

from headrace.export import export
from headrace.platform import tf_logging as logging
from headrace.platform.file_io import files_of


def _message() -> Any:
    from headrace.proto import file

    return file("tensorflow/python/training/checkpoint_state.proto").CheckpointState


@export("train.generate_checkpoint_state_proto")
def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Any = None,
    all_model_checkpoint_timestamps: Any = None,
    last_preserved_timestamp: Any = None,
) -> Any:
    """Returns a CheckpointState; its paths are relative to `save_dir` where that is relative."""
    paths = list(all_model_checkpoint_paths or ())
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    stamps = all_model_checkpoint_timestamps
    if stamps and len(stamps) != len(paths):
        raise ValueError("Checkpoint timestamps, if provided, must match checkpoint paths")
    if not os.path.isabs(save_dir):
        paths = [p if not os.path.isabs(p) else os.path.relpath(p, save_dir) for p in paths]
        paths = [_relative(p, save_dir) for p in paths]
        model_checkpoint_path = paths[-1]
    return _message()(
        model_checkpoint_path=model_checkpoint_path,
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=stamps,
        last_preserved_timestamp=last_preserved_timestamp,
    )


def _relative(path: str, folder: str) -> str:
    return os.path.relpath(path, folder) if os.path.dirname(path) == folder.rstrip("/") else path


@export("train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Any = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Any = None,
    last_preserved_timestamp: Any = None,
) -> None:
    """Writes the file that names a folder's checkpoints."""
    write_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths, latest_filename)


def write_state(
    save_dir: str,
    path: str,
    all_paths: Any = None,
    latest_filename: str | None = None,
    relative: bool = False,
) -> None:
    """Writes the file `checkpoint`, replacing it in one step so that readers never see half of it."""
    from google.protobuf import text_format

    paths = list(all_paths or ())
    if relative:
        paths = [
            os.path.relpath(p, save_dir) if os.path.isabs(p) == os.path.isabs(save_dir) else p for p in paths
        ]
        path = os.path.relpath(path, save_dir) if os.path.isabs(path) == os.path.isabs(save_dir) else path
    state = generate_checkpoint_state_proto(save_dir, path, paths)
    files, folder = files_of(save_dir)
    target = os.path.join(folder, latest_filename or "checkpoint")
    with files.open(target + ".tmp", "wb") as f:
        f.write(text_format.MessageToString(state).encode())
    files.mv(target + ".tmp", target)


@export("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> Any:
    """Returns a folder's CheckpointState with full paths, or None if there is none."""
    from google.protobuf import text_format

    files, folder = files_of(str(checkpoint_dir))
    path = os.path.join(folder, latest_filename or "checkpoint")
    if not files.exists(path):
        return None
    try:
        with files.open(path, "rb") as f:
            state = text_format.Parse(f.read().decode(), _message()())
    except (text_format.ParseError, UnicodeDecodeError) as e:
        logging.warning("%s: %s", path, e)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {checkpoint_dir}")

    def whole(p: str) -> str:
        return p if os.path.isabs(p) or "://" in p else os.path.join(str(checkpoint_dir), p)

    state.model_checkpoint_path = whole(state.model_checkpoint_path)
    state.all_model_checkpoint_paths[:] = [whole(p) for p in state.all_model_checkpoint_paths]
    return state


@export("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """Returns the path of a folder's latest checkpoint, or None if there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    if checkpoint_exists(state.model_checkpoint_path):
        return state.model_checkpoint_path  # type: ignore[no-any-return]
    logging.error("Couldn't match files for checkpoint %s", state.model_checkpoint_path)
    return None


@export("train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Tells whether there is a checkpoint of this path."""
    files, path = files_of(checkpoint_prefix)
    return bool(files.exists(path + ".index") or files.exists(path))


@export("train.get_checkpoint_mtimes")
def get_checkpoint_mtimes(checkpoint_prefixes: list[str]) -> list[float]:
    """Returns when checkpoints were written, in seconds since the epoch."""
    times = []
    for prefix in checkpoint_prefixes:
        for path in (prefix + ".index", prefix):
            if os.path.exists(path):
                times.append(os.path.getmtime(path))
                break
    return times


@export("train.remove_checkpoint")
def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Deletes a checkpoint's files."""
    from headrace.formats import bundle

    for path in [*bundle.paths(checkpoint_prefix), f"{checkpoint_prefix}.{meta_graph_suffix}"]:
        if os.path.exists(path):
            os.remove(path)
