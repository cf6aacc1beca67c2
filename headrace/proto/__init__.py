"""TensorFlow's wire messages, in a descriptor pool of headrace's own.

The messages and enums of TensorFlow's `.proto` files are attributes of this module::

    from headrace.proto import GraphDef, NodeDef, DataType, DT_FLOAT

and `file("tensorflow/core/framework/graph.proto")` gives what `graph_pb2` would hold. The pool is private
because protobuf allows one definition of a name in a pool, and tensorboard and TensorFlow bring theirs.

Importing this module loads nothing; the first name asked for loads protobuf and all the messages.
"""

from functools import cache
from types import ModuleType
from typing import Any

__all__ = ["file", "files"]


def file(name: str) -> ModuleType:
    """Returns a module with what protoc would generate for one `.proto` file.

    Args:
      name: The file's path as TensorFlow imports it, such as "tensorflow/core/framework/graph.proto".

    Returns:
      A module with the file's message classes, enum wrappers and enum values, and its `DESCRIPTOR`. The same
      module each time, and not entered in `sys.modules`.

    Raises:
      KeyError: There is no such file.
    """
    return _registry().file(name)


def files() -> tuple[str, ...]:
    """Returns the paths of all the `.proto` files, each file after those it imports."""
    return _registry().files


@cache
def _registry() -> Any:
    from headrace.proto.registry import Registry

    return Registry()


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = _registry().public(name)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no message, enum or enum value {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_registry().names})
