"""ConditionalAccumulator and SparseConditionalAccumulator: the classes around the ops of accumulators."""

from __future__ import annotations

from headrace.dtypes import as_dtype, int64
from headrace.export import NAMES, export
from headrace.graph import IndexedSlices
from headrace.opdef import convert_to_tensor, raw
from headrace.tensor_shape import TensorShape


@export("ConditionalAccumulatorBase")
class ConditionalAccumulatorBase:
    """What both kinds of accumulator share.

    Args:
      dtype: The gradients' type.
      shape: Their shape, or None.
      accumulator_ref: The node's output.
    """

    def __init__(self, dtype, shape, accumulator_ref):
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(None) if shape is None else TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]
        self._prefix = "" if accumulator_ref.dtype.is_ref else "Resource"

    @property
    def accumulator_ref(self):
        """The node's output."""
        return self._accumulator_ref

    @property
    def name(self):
        """The node's name, without its scopes."""
        return self._name

    @property
    def dtype(self):
        """The gradients' type."""
        return self._dtype

    def _call(self, which, /, *operands, **attrs):
        return getattr(raw, f"{self._prefix}Accumulator{which}")(self._accumulator_ref, *operands, **attrs)

    def num_accumulated(self, name=None):
        """Returns how many gradients were added."""
        return self._call("NumAccumulated", name=name or f"{self._name}_NumAccumulated")

    def set_global_step(self, new_global_step, name=None):
        """Returns an operation that says which step it is: gradients of earlier ones are ignored from then on.

        Args:
          new_global_step: A scalar int64.
          name: The operation's name.
        """
        return self._call("SetGlobalStep", _step(new_global_step), name=name)


def _step(value):
    return NAMES["cast"](convert_to_tensor(value), int64)


@export("ConditionalAccumulator")
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds gradients up and gives their mean once there are enough of them.

    Args:
      dtype: The gradients' type.
      shape: Their shape, or None.
      shared_name: A name under which other graphs of the session find the same accumulator.
      name: The node's name.
      reduction_type: "MEAN" or "SUM": what is made of the gradients.
    """

    def __init__(
        self, dtype, shape=None, shared_name=None, name="conditional_accumulator", reduction_type="MEAN"
    ):
        ref = raw.ResourceConditionalAccumulator(
            dtype=dtype, shape=shape, shared_name=shared_name or "", reduction_type=reduction_type, name=name
        )
        super().__init__(dtype, shape, ref)

    def apply_grad(self, grad, local_step=0, name=None):
        """Returns an operation that adds a gradient, unless it is of an earlier step.

        Args:
          grad: The gradient.
          local_step: The step that it is of.
          name: The operation's name.

        Raises:
          ValueError: Its shape does not fit.
        """
        grad = convert_to_tensor(grad, self._dtype)
        grad.get_shape().assert_is_compatible_with(self._shape)
        return self._call("ApplyGradient", _step(local_step), grad, name=name)

    def take_grad(self, num_required, name=None):
        """Returns the mean or sum of the gradients, once there are enough; then they are forgotten.

        Args:
          num_required: How many there must be.
          name: The operation's name.
        """
        out = self._call("TakeGradient", num_required, dtype=self._dtype, name=name)
        out.set_shape(self._shape)
        return out


@export("SparseConditionalAccumulator", "sparse.SparseConditionalAccumulator")
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds gradients that are slices up, and gives the mean of each index once there are enough of them.

    Args:
      dtype: The gradients' type.
      shape: Their shape, or None.
      shared_name: A name under which other graphs of the session find the same accumulator.
      name: The node's name.
      reduction_type: "MEAN" or "SUM": what is made of the gradients.
    """

    def __init__(
        self,
        dtype,
        shape=None,
        shared_name=None,
        name="sparse_conditional_accumulator",
        reduction_type="MEAN",
    ):
        ref = raw.SparseConditionalAccumulator(
            dtype=dtype, shape=shape, shared_name=shared_name or "", reduction_type=reduction_type, name=name
        )
        super().__init__(dtype, shape, ref)

    def apply_indexed_slices_grad(self, grad, local_step=0, name=None):
        """Returns an operation that adds a gradient, unless it is of an earlier step.

        Args:
          grad: IndexedSlices.
          local_step: The step that it is of.
          name: The operation's name.
        """
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(self, grad_indices, grad_values, grad_shape=None, local_step=0, name=None):
        """Returns an operation that adds a gradient, unless it is of an earlier step.

        Args:
          grad_indices: The slices' indices, ascending.
          grad_values: The slices.
          grad_shape: The shape of the whole, or None.
          local_step: The step that it is of.
          name: The operation's name.
        """
        step = _step(local_step)
        return raw.SparseAccumulatorApplyGradient(
            self._accumulator_ref,
            step,
            NAMES["cast"](grad_indices, int64),
            grad_values,
            NAMES["cast"]([] if grad_shape is None else grad_shape, int64),
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required, name=None):
        """Returns the mean or sum of the gradients, once there are enough; then they are forgotten.

        Args:
          num_required: How many there must be.
          name: The operation's name.

        Returns:
          A named tuple: `indices`, `values` and `shape`.
        """
        return raw.SparseAccumulatorTakeGradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(self, num_required, name=None):
        """Returns what `take_grad` does, as IndexedSlices.

        Args:
          num_required: How many there must be.
          name: The operation's name.
        """
        taken = self.take_grad(num_required, name)
        return IndexedSlices(indices=taken.indices, values=taken.values, dense_shape=taken.shape)
