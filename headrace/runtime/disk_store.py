"""A folder of entries by key: whole or not there, bounded in size, shared by any number of processes.

An entry is written beside its place and moved there, so a reader finds a whole one or none; what is on the disk all
the same (a file cut short, one of another program) fails its checksum, is ignored, and is written anew. Whatever the
folder refuses is said once, and the program goes on without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import stat
import threading
import time
from collections.abc import Iterator
from typing import Any

from headrace.platform import tf_logging

_MAGIC = b"headrace cache 1\n"
_SUFFIX = ".hrc"
_DIGEST = 32
_MOST_FACTS = 1 << 16  # bytes
# What a process that was killed while it wrote has left.
_STALE_S = 3600.0
# After a clean-up so much of the limit is used, so that not every entry pays for one.
_LOW_WATER = 0.8


class DiskStore:
    """Entries (bytes, and a few facts about them) in a folder.

    Args:
      folder: Where they are kept; made when the first is written.
      limit: How many bytes they may take together; the ones not used for longest go first.
    """

    def __init__(self, folder: str, limit: int):
        self.folder = folder
        self.limit = limit
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self._used: int | None = None  # bytes, about
        self._is_off = False
        self._is_read_only = False
        self._is_checked = False

    # -- reading -----------------------------------------------------------------------------------------------
    def facts(self, key: str) -> dict[str, Any] | None:
        """Returns what an entry says of itself, None if there is no entry."""
        head = self._read(key, whole=False)
        return None if head is None else head[0]

    def get(self, key: str) -> tuple[dict[str, Any], bytes] | None:
        """Returns an entry's facts and its bytes, None if there is none that is sound."""
        found = self._read(key, whole=True)
        if found is not None:
            with contextlib.suppress(OSError):  # a folder that can't be written to keeps no order of use
                os.utime(self._path(key))
        return found

    def _read(self, key: str, whole: bool) -> tuple[dict[str, Any], bytes] | None:
        if self._is_off or not self._may_trust():
            return None
        try:
            with open(self._path(key), "rb") as file:
                if file.readline(len(_MAGIC)) != _MAGIC:
                    raise ValueError("it is no entry of this cache")
                line = file.readline(_MOST_FACTS)
                if not line.endswith(b"\n"):
                    raise ValueError("it is cut short")
                facts = json.loads(line)
                if not whole:
                    return facts, b""
                digest = file.read(_DIGEST)
                data = file.read()
        except FileNotFoundError:
            return None
        except ValueError as e:
            self._ignore(key, str(e))
            return None
        except OSError as e:
            self._say(
                "read", f"compile cache {self.folder}: an entry can't be read ({e.strerror}); compiling"
            )
            return None
        if hashlib.blake2b(line + data, digest_size=_DIGEST).digest() != digest:
            self._ignore(key, "its checksum is wrong")
            return None
        return facts, data

    def _ignore(self, key: str, why: str) -> None:
        self._say(
            "corrupt",
            f"compile cache {self.folder}: {key[:20]} is ignored and will be written anew ({why})",
        )
        if not self._is_read_only:
            with contextlib.suppress(OSError):
                os.unlink(self._path(key))

    def discard(self, key: str, why: str) -> None:
        """Takes an entry away that turned out to be of no use, and says so."""
        self._ignore(key, why)

    def _may_trust(self) -> bool:
        """Says whether the folder is the user's own: an entry is code that will be run."""
        if not self._is_checked:
            self._is_checked = True
            try:
                found = os.stat(self.folder)
            except FileNotFoundError:
                self._is_checked = False
                return False
            except OSError as e:
                self._turn_off(f"{e.strerror}")
                return False
            owners = (0, os.geteuid()) if hasattr(os, "geteuid") else ()
            if not stat.S_ISDIR(found.st_mode):
                self._turn_off("it is not a folder")
            elif owners and found.st_uid not in owners:
                self._turn_off("it belongs to somebody else")
            elif owners and found.st_mode & stat.S_IWOTH:
                self._turn_off("everybody may write to it")
        return not self._is_off

    # -- writing -----------------------------------------------------------------------------------------------
    def put(self, key: str, data: bytes, facts: dict[str, Any] | None = None) -> bool:
        """Writes an entry; returns whether it is there now."""
        if self._is_off or self._is_read_only:
            return False
        line = json.dumps(facts or {}).encode() + b"\n"
        size = len(data) + len(line) + len(_MAGIC) + _DIGEST
        if len(line) > _MOST_FACTS or size > self.limit:
            return False
        temporary = os.path.join(self.folder, f".{os.getpid()}-{secrets.token_hex(6)}.tmp")
        try:
            if not self._is_checked:
                os.makedirs(self.folder, mode=0o700, exist_ok=True)
            if not self._may_trust():
                return False
            try:
                with open(temporary, "xb") as file:
                    file.write(_MAGIC + line)
                    file.write(hashlib.blake2b(line + data, digest_size=_DIGEST).digest())
                    file.write(data)
                os.replace(temporary, self._path(key))
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
        except OSError as e:
            self._is_read_only = True
            self._say("write", f"compile cache {self.folder}: nothing more is kept ({e.strerror or e})")
            return False
        self._make_room(size)
        return True

    def _make_room(self, size: int) -> None:
        with self._lock:
            if self._used is not None:
                self._used += size
                if self._used <= self.limit:
                    return
            entries = sorted(self._entries())
            used = sum(entry[1] for entry in entries)
            if used > self.limit:
                for _, bytes_, path in entries:
                    if used <= self.limit * _LOW_WATER:
                        break
                    with contextlib.suppress(OSError):
                        os.unlink(path)
                    used -= bytes_
            self._used = used

    def _entries(self) -> Iterator[tuple[float, int, str]]:
        """Yields when each entry was last used, its size and its path; takes away what killed processes left."""
        try:
            with os.scandir(self.folder) as files:
                for file in files:
                    with contextlib.suppress(OSError):
                        if file.name.endswith(_SUFFIX):
                            found = file.stat()
                            yield found.st_mtime, found.st_size, file.path
                        elif file.name.endswith(".tmp") and file.stat().st_mtime < time.time() - _STALE_S:
                            os.unlink(file.path)
        except OSError:
            return

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key + _SUFFIX)

    def _turn_off(self, why: str) -> None:
        self._is_off = True
        self._say("off", f"compile cache {self.folder} is not used: {why}")

    def _say(self, kind: str, message: str) -> None:
        """Warns, once of each kind of trouble."""
        if kind not in self._said:
            self._said.add(kind)
            tf_logging.warning(message)
