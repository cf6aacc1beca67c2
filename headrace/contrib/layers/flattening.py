"""tf.contrib.layers.flatten."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.layers.core import flatten as flatten_layer
from headrace.opdef import convert_to_tensor


@export("contrib.layers.flatten")
def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """Makes one axis of all axes but the batch's.

    Args:
      inputs: A tensor.
      outputs_collections: A collection, or several, that the output goes to.
      scope: The name of the scope.
    """
    with name_scope(scope, "Flatten", [inputs]):
        outputs = flatten_layer(convert_to_tensor(inputs))
    if outputs_collections:
        names = [outputs_collections] if isinstance(outputs_collections, str) else outputs_collections
        NAMES["add_to_collections"](names, outputs)
    return outputs
