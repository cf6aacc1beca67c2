"""The global step: the variable that counts the training steps."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import export
from headrace.graph import Graph, GraphKeys, Tensor, get_default_graph
from headrace.platform import tf_logging as logging
from headrace.variables.base import Variable
from headrace.variables.initializers.basic import Zeros
from headrace.variables.modes import VariableAggregation
from headrace.variables.scope import get_variable


@export("train.global_step")
def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Returns how many steps a session has done.

    Args:
      sess: A session.
      global_step_tensor: The variable or tensor that counts.
    """
    return int(sess.run(global_step_tensor))


@export("train.get_global_step")
def get_global_step(graph: Graph | None = None) -> Any:
    """Returns the graph's global step, or None if it has none.

    Args:
      graph: The graph, by default the default graph.

    Raises:
      TypeError: What is called global_step is no integer scalar.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) == 1:
        step = found[0]
    elif not found:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    else:
        logging.error("Multiple tensors in global_step collection.")
        return None
    assert_global_step(step)
    return step


@export("train.create_global_step")
def create_global_step(graph: Graph | None = None) -> Any:
    """Makes the graph's global step.

    Args:
      graph: The graph, by default the default graph.

    Raises:
      ValueError: There is one.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default() as default, default.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=Zeros(),
            trainable=False,
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


@export("train.get_or_create_global_step")
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Returns the graph's global step, made if it has none.

    Args:
      graph: The graph, by default the default graph.
    """
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


@export("train.assert_global_step")
def assert_global_step(global_step_tensor: Any) -> None:
    """Checks that something can count steps.

    Args:
      global_step_tensor: A variable or tensor.

    Raises:
      TypeError: It is none, or no integer, or no scalar.
    """
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.')
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    shape = global_step_tensor.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')
