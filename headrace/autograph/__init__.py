"""AutoGraph: Python's control flow over tensors as nodes. The rewriting of source code is done by `malt`."""

from headrace.autograph.api import converted, do_not_convert
from headrace.autograph.features import Feature

__all__ = ["Feature", "converted", "do_not_convert"]
