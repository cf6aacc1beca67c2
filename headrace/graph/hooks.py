"""What layers above the graph lend to it.

A graph treats its ops as opaque kinds and knows no protocol messages. The few methods that TensorFlow puts on
Operation and Tensor but that need more (node_def, get_attr, conversion of operands) are filled in from above when
those layers are imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _missing(*_: Any, **__: Any) -> Any:
    raise RuntimeError("import headrace, not headrace.graph alone")


lookup_kind: Callable[[str], Any] = _missing  # op type -> Op
node_def: Callable[[Any], Any] = _missing  # Operation -> NodeDef
attr_to_public: Callable[[Any, str], Any] = _missing  # (Operation, attr name) -> what get_attr returns
attr_from_proto: Callable[[Any], Any] = _missing  # AttrValue -> plain value
graph_def: Callable[..., Any] = _missing  # (Graph, from_version, add_shapes) -> GraphDef
convert_to_tensor: Callable[..., Any] = _missing  # operands of Python operators
session_eval: Callable[..., Any] = _missing  # (session, fetch, feed_dict) -> value
constant_as_shape: Callable[[Any], Any] = _missing  # 1-D integer Tensor -> shape tuple
op_def: Callable[[Any], Any] = _missing  # Signature -> OpDef
autograph_is_enabled: Callable[[], bool] = bool  # whether converted code is running
