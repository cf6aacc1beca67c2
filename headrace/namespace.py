"""The public names as modules: `tf`, `tf.nn`, `tf.train` ...

There are two trees over the one dictionary of `headrace.export`. Under `headrace` a public module that is an
implementation package as well (`headrace.train`) is that package, which serves the public names first; the others
(`headrace.nn`) are `Namespace` objects. Under `tensorflow` (see `headrace.compat`) all are `Namespace` objects.
"""

from __future__ import annotations

import difflib
import importlib
import sys
import types
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from typing import Any

from headrace.export import COMPUTED, NAMES, NAMESPACES, load_later, load_more  # noqa: F401

NAMESPACES.update(("compat.v1", "compat.v2"))

LAZY: dict[str, str] = {
    "app": "headrace.platform.app",
    "flags": "headrace.platform.flags",
    "logging": "headrace.platform.tf_logging",
    "gfile": "headrace.platform.gfile",
    "io.gfile": "headrace.platform.gfile",
    "resource_loader": "headrace.platform.resource_loader",
    "sysconfig": "headrace.platform.sysconfig",
    "compat": "headrace.platform.strings",
    "disable_v2_behavior": "headrace.compat.behavior",
    "disable_eager_execution": "headrace.compat.behavior",
    "disable_v2_tensorshape": "headrace.compat.behavior",
    "enable_v2_tensorshape": "headrace.compat.behavior",
    "enable_tensor_equality": "headrace.compat.behavior",
    "disable_tensor_equality": "headrace.compat.behavior",
    "debugging.get_log_device_placement": "headrace.compat.behavior",
    "debugging.set_log_device_placement": "headrace.compat.behavior",
    "get_logger": "headrace.platform.tf_logging",
    "load_op_library": "headrace.compat.libraries",
    "load_file_system_library": "headrace.compat.libraries",
    "load_library": "headrace.compat.libraries",
    "enable_v2_behavior": "headrace.compat.behavior",
    "enable_eager_execution": "headrace.compat.behavior",
    "data": "headrace.data",
    "keras": "headrace.keras",
    "estimator": "headrace.estimator",
    "distribute": "headrace.distributed",
    "train.Server": "headrace.distributed",
    "lite": "headrace.lite",
    "profiler": "headrace.debug",
    "autograph": "headrace.autograph",
    "test": "headrace.testing",
    "contrib": "headrace.contrib",
}
LAZY.update(
    dict.fromkeys(
        (
            "AttrValue ConfigProto Event GPUOptions GraphDef GraphOptions HistogramProto MetaGraphDef NameAttrList "
            "NodeDef OptimizerOptions RunMetadata RunOptions SessionLog Summary SummaryMetadata TensorInfo "
            "summary.Event summary.SessionLog summary.Summary summary.SummaryDescription summary.TaggedRunMetadata"
        ).split(),
        "headrace.session.messages",
    )
)
LAZY.update(
    dict.fromkeys(
        (
            "train.BytesList train.ClusterDef train.Example train.Feature train.FeatureList train.FeatureLists "
            "train.Features train.FloatList train.Int64List train.JobDef train.SaverDef train.SequenceExample "
            "train.ServerDef"
        ).split(),
        "headrace.train.messages",
    )
)
"""What is imported on first touch of a public name: the name (or the module it is in) and who provides it."""


def load_providers(name: str) -> None:
    """Imports what a public name needs and `import headrace` left out; does nothing the second time."""
    for key in [key for key in LAZY if name == key or name.startswith(key + ".")]:
        provider = LAZY.pop(key, None)
        if provider:
            try:
                import_present(provider)
            except BaseException:
                LAZY[key] = provider
                raise
    if name.startswith("contrib."):
        # tf.contrib.x lives in headrace.contrib.x, and each comes on its own touch.
        import_present("headrace." + name)


def import_present(module: str) -> types.ModuleType | None:
    """Imports a module of headrace and returns it, or None if there is no such file yet."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(error.name + ".")):
            return None
        raise


def _is_known(path: str) -> bool:
    return path in NAMESPACES or any(key == path or key.startswith(path + ".") for key in LAZY)


def is_namespace(path: str) -> bool:
    """Says whether a dotted public name is a module."""
    while not _is_known(path):
        if not load_more():
            return False
    return True


def members(path: str) -> set[str]:
    """Returns the names directly in a public module, those not loaded yet included."""
    if path in COMPUTED:
        return set(COMPUTED[path])
    start = path + "." if path else ""
    known: Iterable[str] = [*NAMES, *NAMESPACES, *LAZY]
    return {name[len(start) :].split(".")[0] for name in known if name.startswith(start) and name != path} - {
        ""
    }


def lookup(path: str, name: str) -> Any:
    """Returns the object of a public name.

    Raises:
      KeyError: There is no such name, or it is a module.
    """
    if path in COMPUTED:
        return COMPUTED[path][name]
    full = f"{path}.{name}" if path else name
    if full not in NAMES:
        load_providers(full)
        while full not in NAMES:
            if _is_known(full) or not load_more():
                raise KeyError(full)
    return NAMES[full]


def no_such_name(path: str, name: str) -> AttributeError:
    """Makes the error for a public name that does not exist; it says which near one does."""
    prefix = f"tf.{path}." if path else "tf."
    nearest = [
        prefix + near for near in difflib.get_close_matches(name, sorted(members(path)), n=1, cutoff=0.65)
    ]
    if not nearest:
        nearest = sorted("tf." + full for full in NAMES if full.rpartition(".")[2] == name)
    hint = f"; the nearest that exists is {nearest[0]}" if nearest else ""
    return AttributeError(f"headrace has no {prefix}{name}{hint}")


def _attribute(module: types.ModuleType, path: str, name: str) -> Any:
    """What a module that serves the public names under `path` answers when it has no such attribute itself."""
    if name == "__all__":
        return sorted(member for member in members(path) if not member.startswith("_"))
    if not (name.startswith("__") and name.endswith("__")) or name in NAMES:
        try:
            value = lookup(path, name)
        except KeyError:
            if is_namespace(f"{path}.{name}" if path else name):
                return importlib.import_module(f"{module.__name__}.{name}")
            raise no_such_name(path, name) from None
        module.__dict__[name] = value
        return value
    raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")


class Namespace(types.ModuleType):
    """A module that has public names and nothing else.

    Args:
      name: The module's own name: "tensorflow.nn", "headrace.nn".
      path: Which public names it serves: "nn".
    """

    def __init__(self, name: str, path: str):
        super().__init__(name, f"The public names tf.{path}.*." if path else "The public names tf.*.")
        self.__dict__["_path"] = path

    def __getattr__(self, name: str) -> Any:
        return _attribute(self, self.__dict__["_path"], name)

    def __dir__(self) -> list[str]:
        return sorted(set(self.__dict__) - {"_path"} | members(self.__dict__["_path"]))


def _path_of(module: types.ModuleType) -> str:
    return vars(module)["__name__"].partition(".")[2]


class PublicModule(types.ModuleType):
    """A module of the implementation that serves public names too: its class while and after it is loaded."""

    def __getattr__(self, name: str) -> Any:
        return _attribute(self, _path_of(self), name)

    def __dir__(self) -> list[str]:
        return sorted(set(self.__dict__) | members(_path_of(self)))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, types.ModuleType):
            adopt(value)


class PublicPackage(PublicModule):
    """A package of the implementation that serves public names too.

    A public name goes before a submodule: `headrace.layers.dense` is the function, though the file
    `headrace/layers/dense.py` may exist. Inside the implementation `from headrace.layers.dense import Dense` works
    all the same, since Python finds modules by their full name.
    """

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):
            full = f"{_path_of(self)}.{name}"
            if full in NAMES:
                return NAMES[full]
        return super().__getattribute__(name)


def adopt(module: types.ModuleType) -> None:
    """Makes a module of the implementation, and those inside it, serve the public names under its path."""
    name = getattr(module, "__name__", "")
    if (
        type(module) is not types.ModuleType
        or not name.startswith("headrace.")
        or not _is_known(_path_of(module))
    ):
        return
    is_package = "__path__" in vars(module)
    module.__class__ = PublicPackage if is_package else PublicModule
    if is_package:
        for child in list(vars(module).values()):
            if isinstance(child, types.ModuleType) and getattr(child, "__name__", "").startswith(name + "."):
                adopt(child)


class NamespaceFinder:
    """Finds `headrace.nn` and other public modules that are no files; the last in line on `sys.meta_path`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        root, _, public = name.partition(".")
        first = public.split(".")[0]
        if root != "headrace" or not (first in _INSIDE or is_namespace(public) or public[:9] in _VERSIONS):
            return None
        # The compat layer knows TensorFlow's inside and its versions; it is not imported for nothing.
        module = importlib.import_module("headrace.compat.hook").make(name)
        if module is None:
            return None
        spec = ModuleSpec(name, self, origin="headrace", is_package=not name.endswith("_pb2"))
        spec.loader_state = module
        return spec

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        module: types.ModuleType = spec.loader_state
        spec.loader_state = None
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        load_providers(vars(module).get("_path", ""))


_INSIDE = ("python", "core")
_VERSIONS = ("compat.v1", "compat.v2")


def _loaded(root: str) -> Iterator[types.ModuleType]:
    for name, module in list(sys.modules.items()):
        if name.startswith(root + "."):
            yield module


def open_root(module: types.ModuleType) -> None:
    """Makes the package `headrace` serve the public names, before the implementation is loaded."""
    module.__class__ = PublicModule
    if not any(isinstance(finder, NamespaceFinder) for finder in sys.meta_path):
        sys.meta_path.append(NamespaceFinder())  # type: ignore[arg-type]


def adopt_all() -> None:
    """Adopts every loaded module of the implementation that turned out to share a name with a public module."""
    for module in _loaded("headrace"):
        adopt(module)
