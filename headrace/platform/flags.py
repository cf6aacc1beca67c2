"""tf.flags: absl's flags, parsed by themselves when one is first read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from absl import flags as _absl
from absl.flags import *  # noqa: F403

from headrace.export import export_value

__all__ = [*_absl.__all__, "FLAGS"]


class _SelfParsingFlags:
    """absl's FLAGS, which reads the command line when a program asks for a flag without having parsed it.

    Old programs define flags at the top and read them anywhere, with or without `tf.app.run`.
    """

    def __init__(self, values: _absl.FlagValues):
        self.__dict__["_values"] = values

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__["_values"]
        is_flag = not (hasattr(type(values), name) or name in values.__dict__)
        if is_flag and not values.is_parsed():
            values(sys.argv)
        return getattr(values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_values"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["_values"], name)

    def __call__(self, *args: Any, **kwargs: Any) -> list[str]:
        return self.__dict__["_values"](*args, **kwargs)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__["_values"][name]

    def __setitem__(self, name: str, flag: Any) -> None:
        self.__dict__["_values"][name] = flag

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__["_values"]

    def __len__(self) -> int:
        return len(self.__dict__["_values"])

    def __iter__(self) -> Any:
        return iter(self.__dict__["_values"])

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_values"])


FLAGS: Any = _SelfParsingFlags(_absl.FLAGS)

_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _with_old_names(define: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a DEFINE function take the argument names of TensorFlow 1.4 and before, which programs still use."""

    def defining(*args: Any, **kwargs: Any) -> Any:
        # absl names the module of the caller as the flag's home in --help; it must see past this function.
        return define(*args, **{_OLD_NAMES.get(key, key): value for key, value in kwargs.items()})

    defining.__name__ = define.__name__
    defining.__doc__ = define.__doc__
    return defining


DEFINE_string = _with_old_names(_absl.DEFINE_string)
DEFINE_boolean = _with_old_names(_absl.DEFINE_boolean)
DEFINE_bool = DEFINE_boolean
DEFINE_float = _with_old_names(_absl.DEFINE_float)
DEFINE_integer = _with_old_names(_absl.DEFINE_integer)

_absl.disclaim_key_flags()

export_value("flags", sys.modules[__name__])
