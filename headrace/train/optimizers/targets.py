"""How an optimizer reaches what it trains: reference variables, resource variables, and plain tensors."""

from __future__ import annotations

from typing import Any

from headrace.graph import IndexedSlices, Tensor, control_dependencies
from headrace.train.slots import is_resource

_NO_CONSTRAINT = "Cannot use a constraint function on a sparse variable."


class RefTarget:
    """A reference variable."""

    def __init__(self, variable: Any):
        self.variable = variable

    def target(self) -> Any:
        """Returns what gradients are taken with respect to."""
        return self.variable._ref()

    def update_op(self, optimizer: Any, grad: Any) -> Any:
        """Returns the node that updates the variable."""
        variable = self.variable
        if isinstance(grad, Tensor):
            update = optimizer._apply_dense(grad, variable)
            if variable.constraint is not None:
                with control_dependencies([update]):
                    return variable.assign(variable.constraint(variable))
            return update
        assert isinstance(grad, IndexedSlices), ("Gradient ", grad, " is neither a tensor nor IndexedSlices.")
        if variable.constraint is not None:
            raise RuntimeError(_NO_CONSTRAINT)
        return optimizer._apply_sparse_duplicate_indices(grad, variable)


class ResourceTarget:
    """A resource variable."""

    def __init__(self, variable: Any):
        self.variable = variable

    def target(self) -> Any:
        """Returns what gradients are taken with respect to."""
        return self.variable.handle

    def update_op(self, optimizer: Any, grad: Any) -> Any:
        """Returns the node that updates the variable."""
        variable = self.variable
        if isinstance(grad, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError(_NO_CONSTRAINT)
            return optimizer._resource_apply_sparse_duplicate_indices(grad.values, variable, grad.indices)
        update = optimizer._resource_apply_dense(grad, variable)
        if variable.constraint is not None:
            with control_dependencies([update]):
                return variable.assign(variable.constraint(variable))
        return update


class TensorTarget:
    """A tensor: gradients can be taken, updates can't."""

    def __init__(self, tensor: Any):
        self.tensor = tensor

    def target(self) -> Any:
        """Returns what gradients are taken with respect to."""
        return self.tensor

    def update_op(self, optimizer: Any, grad: Any) -> Any:
        """Is refused.

        Raises:
          NotImplementedError: Always.
        """
        raise NotImplementedError("Trying to update a Tensor ", self.tensor)


def target_of(variable: Any) -> Any:
    """Returns the target of something to train.

    Raises:
      NotImplementedError: It is no variable.
    """
    if is_resource(variable) or (
        getattr(variable, "op", None) is not None and variable.op.type == "VarHandleOp"
    ):
        return ResourceTarget(variable)
    if hasattr(variable, "_ref"):
        return RefTarget(variable)
    if isinstance(variable, Tensor):
        return TensorTarget(variable)
    raise NotImplementedError("Trying to optimize unsupported type ", variable)
