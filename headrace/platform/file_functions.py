"""The functions of TensorFlow's inner module file_io, which programs import: tf.gfile's under longer names."""

from __future__ import annotations

import uuid
from typing import Any

from headrace.platform import gfile
from headrace.platform.file_io import FileIO, stat

file_exists = file_exists_v2 = gfile.exists
is_directory = is_directory_v2 = gfile.isdir
list_directory = list_directory_v2 = gfile.listdir
create_dir = create_dir_v2 = gfile.mkdir
recursive_create_dir = recursive_create_dir_v2 = gfile.makedirs
delete_file = delete_file_v2 = gfile.remove
delete_recursively = delete_recursively_v2 = gfile.rmtree
copy = copy_v2 = gfile.copy
rename = rename_v2 = gfile.rename
walk_v2 = gfile.walk
walk = gfile.Walk
get_matching_files = get_matching_files_v2 = gfile.glob
stat_v2 = stat


def read_file_to_string(filename: Any, binary_mode: bool = False) -> Any:
    """Returns the whole content of a file, as text or as bytes."""
    with FileIO(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: Any, file_content: Any) -> None:
    """Makes a file of a text or bytes."""
    with FileIO(filename, "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: str, contents: Any, overwrite: bool = True) -> None:
    """Makes a file of a text or bytes that is either there in full or not at all."""
    part = f"{filename}.tmp{uuid.uuid4().hex}"
    write_string_to_file(part, contents)
    try:
        rename(part, filename, overwrite)
    except Exception:
        delete_file(part)
        raise


def filecmp(filename_a: Any, filename_b: Any) -> bool:
    """Says whether two files have the same content."""
    if stat(filename_a).length != stat(filename_b).length:
        return False
    with FileIO(filename_a, "rb") as a, FileIO(filename_b, "rb") as b:
        while block := a.read(1 << 20):
            if block != b.read(1 << 20):
                return False
    return True


def file_crc32(filename: Any, block_size: int = 1 << 20) -> str:
    """Returns the CRC-32 of a file's content as "0x" and hexadecimal digits."""
    import zlib

    crc = 0
    with FileIO(filename, "rb") as file:
        while block := file.read(block_size):
            crc = zlib.crc32(block, crc)
    return hex(crc)
