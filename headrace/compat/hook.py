"""The import hook: `import tensorflow` and what is below it find headrace."""

from __future__ import annotations

import importlib
import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any

from headrace.compat.internal import InternalModule, is_internal, leads_inside
from headrace.compat.v2_names import DIFFERENT
from headrace.export import NAMES
from headrace.namespace import Namespace, is_namespace, load_providers, no_such_name

# The second name is TensorFlow 1.15's own for its inside; pickles hold it.
ROOTS = ("tensorflow", "tensorflow_core")
INSIDE = ("python", "core", "tools", "compiler")


class TensorFlow(Namespace):
    """The module `tensorflow`: the public names, and TensorFlow's inside."""

    def __getattr__(self, name: str) -> Any:
        if name in INSIDE:
            return importlib.import_module(f"{self.__name__}.{name}")
        return super().__getattr__(name)


class Version1(Namespace):
    """The module `tensorflow.compat.v1`: the public names without tf.contrib."""

    def __getattr__(self, name: str) -> Any:
        if name == "contrib" and not self.__dict__["_path"]:
            raise AttributeError(
                "headrace has no tf.compat.v1.contrib; the nearest that exists is tf.contrib"
            )
        return super().__getattr__(name)


class Version2(Namespace):
    """A module of `tensorflow.compat.v2`: tf's own objects, but none that TensorFlow 2 has otherwise.

    The others are there if they are exported under their full name, `compat.v2.nn.dropout`.
    """

    def __getattr__(self, name: str) -> Any:
        path = self.__dict__["_path"]
        full = f"{path}.{name}" if path else name
        own = "compat.v2." + full
        load_providers(own)
        if own in NAMES:
            return NAMES[own]
        if full in DIFFERENT:
            raise no_such_name("compat.v2" + ("." + path if path else ""), name)
        return super().__getattr__(name)


def _public_path(path: str) -> tuple[type[Namespace], str]:
    """Splits "compat.v1.nn" into the class that serves it and the public name "nn"."""
    for version, kind in (("compat.v1", Version1), ("compat.v2", Version2)):
        while path == version or path.startswith(version + "."):
            path = path[len(version) + 1 :]
            if not (path == version or path.startswith(version + ".")):
                return kind, path
    return Namespace, path


class ProtoModule(types.ModuleType):
    """A package of `tensorflow.core`, whose modules are the wire messages."""


def make(name: str) -> types.ModuleType | None:
    """Makes the module of a name that begins with a root, or returns None if there is none."""
    path = name.partition(".")[2]
    if not path:
        return TensorFlow(name, "")
    if path.endswith("_pb2"):
        return _messages(name, path)
    if path == "core" or path.startswith("core."):
        return ProtoModule(name) if _has_messages(path) else None
    if is_internal(path):
        return InternalModule(name, path)
    kind, public = _public_path(path)
    if public in NAMES and isinstance(NAMES[public], types.ModuleType):
        copy = types.ModuleType(name)
        vars(copy).update(
            {key: value for key, value in vars(NAMES[public]).items() if not key.startswith("__")}
        )
        return copy
    if not public or is_namespace(public) or is_namespace("compat.v2." + public):
        return kind(name, public)
    if public.startswith("contrib."):
        load_providers(public)
        return kind(name, public) if is_namespace(public) or leads_inside(public) else None
    return None


def _messages(name: str, path: str) -> types.ModuleType | None:
    from headrace import proto

    file = "tensorflow/" + path.removesuffix("_pb2").replace(".", "/") + ".proto"
    try:
        source = proto.file(file)
    except KeyError:
        return None
    module = types.ModuleType(name)
    vars(module).update({key: value for key, value in vars(source).items() if not key.startswith("__")})
    return module


def _has_messages(path: str) -> bool:
    from headrace import proto

    folder = "tensorflow/" + path.replace(".", "/") + "/"
    return any(file.startswith(folder) for file in proto.files())


class TensorFlowFinder:
    """Finds every module under `tensorflow`; the first in line on `sys.meta_path` once installed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in ROOTS:
            return None
        module = make(name)
        if module is None:
            # Looking further would at best find another TensorFlow's file.
            raise ModuleNotFoundError(f"headrace has no module {name}", name=name)
        spec = ModuleSpec(name, self, origin="headrace", is_package=not name.endswith("_pb2"))
        spec.loader_state = module
        return spec

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        module: types.ModuleType = spec.loader_state
        spec.loader_state = None
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        if isinstance(module, Namespace):
            load_providers(vars(module)["_path"])


_FINDER = TensorFlowFinder()


def install() -> None:
    """Makes `import tensorflow` find headrace from here on, whatever else is installed.

    Raises:
      RuntimeError: Another TensorFlow is imported already.
    """
    present = sys.modules.get("tensorflow")
    if present is not None and not isinstance(present, TensorFlow):
        raise RuntimeError(
            "another tensorflow is imported already: call headrace.compat.install() before the first import of it"
        )
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)  # type: ignore[arg-type]


def uninstall() -> None:
    """Takes the hook back, and the modules it made out of `sys.modules`."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)  # type: ignore[arg-type]
    for name in [name for name in sys.modules if name.partition(".")[0] in ROOTS]:
        del sys.modules[name]
