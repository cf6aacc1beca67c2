"""Reads the compiled descriptors into a private pool and makes message classes from them."""

import copyreg
from functools import cached_property
from importlib import resources
from types import ModuleType
from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

import headrace.proto

_SHARED = (any_pb2, wrappers_pb2)  # the only files of protobuf's own that TensorFlow's files import


class Registry:
    """All of the project's messages and enums, by file and by name."""

    def __init__(self) -> None:
        stored = resources.files("headrace.proto").joinpath("descriptors.binpb").read_bytes()
        compiled = descriptor_pb2.FileDescriptorSet.FromString(stored)
        self.pool = descriptor_pool.DescriptorPool()
        for module in _SHARED:
            self.pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        for entry in compiled.file:
            self.pool.AddSerializedFile(entry.SerializeToString())
        self.files = tuple(entry.name for entry in compiled.file)
        self._modules: dict[str, ModuleType] = {}

    def file(self, name: str) -> ModuleType:
        """Returns the module for one `.proto` file, the same one each time."""
        if name not in self._modules:
            self._modules[name] = self._make_module(self.pool.FindFileByName(name))
        return self._modules[name]

    def public(self, name: str) -> Any:
        """Returns the top-level message class, enum wrapper or enum value called `name`."""
        return getattr(self.file(self._where[name]), name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that `public` knows."""
        return tuple(self._where)

    @cached_property
    def _where(self) -> dict[str, str]:
        where: dict[str, str] = {}
        # TensorFlow's main package wins over its smaller ones (tensorflow.error, tensorflow.tfprof ...).
        packages = {name: self.pool.FindFileByName(name).package for name in self.files}
        for name in sorted(self.files, key=lambda name: packages[name] != "tensorflow"):
            descriptor = self.pool.FindFileByName(name)
            for enum in descriptor.enum_types_by_name.values():
                where.setdefault(enum.name, name)
                for value in enum.values_by_name:
                    where.setdefault(value, name)
            for message in descriptor.message_types_by_name:
                where.setdefault(message, name)
        return where

    def _make_module(self, descriptor: Any) -> ModuleType:
        module = ModuleType(descriptor.name.removesuffix(".proto").replace("/", ".") + "_pb2")
        module.DESCRIPTOR = descriptor  # type: ignore[attr-defined]
        for enum in descriptor.enum_types_by_name.values():
            setattr(module, enum.name, EnumTypeWrapper(enum))
            for value in enum.values:
                setattr(module, value.name, value.number)
        for message in descriptor.message_types_by_name.values():
            setattr(module, message.name, _message_class(message, module.__name__))
        return module


def _message_class(descriptor: Any, module: str) -> type:
    made = message_factory.GetMessageClass(descriptor)
    made.__module__ = module
    copyreg.pickle(made, _reduce)  # protobuf's own way would look for the message in the default pool
    for nested in descriptor.nested_types:
        _message_class(nested, module)
    return made


def _reduce(message: Any) -> tuple[Any, tuple[str, bytes]]:
    return _restore, (message.DESCRIPTOR.full_name, message.SerializePartialToString())


def _restore(full_name: str, data: bytes) -> Any:
    pool = headrace.proto._registry().pool
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(full_name)).FromString(data)
