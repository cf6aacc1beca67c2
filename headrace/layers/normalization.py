"""Batch normalization."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import get_default_graph, name_scope, numbering
from headrace.graph.default import colocate_with
from headrace.layers.base import Layer, known_condition, smart_cond
from headrace.layers.input_spec import InputSpec
from headrace.opdef import convert_to_tensor
from headrace.tensor_shape import TensorShape, as_shape
from headrace.variables.initializers.basic import Ones, Zeros
from headrace.variables.modes import VariableAggregation, VariableSynchronization


@export("layers.BatchNormalization")
class BatchNormalization(Layer):
    """Brings its input to mean 0 and deviation 1, by the batch in training and by moving averages otherwise.

    The averages are updated by operations in the collection of updates, which the training step has to run.

    Args:
      axis: The axis (or axes) that keep a mean and a deviation for each index.
      momentum: How much of the averages stays in each update.
      epsilon: What is added to the variance.
      center: Whether a trained offset is added.
      scale: Whether a trained factor is applied.
      beta_initializer: The offset's initializer.
      gamma_initializer: The factor's initializer.
      moving_mean_initializer: The initializer of the average of means.
      moving_variance_initializer: The initializer of the average of variances.
      beta_regularizer: A function from the offset to a loss.
      gamma_regularizer: A function from the factor to a loss.
      beta_constraint: A function that optimizers apply to the offset after each update.
      gamma_constraint: A function that optimizers apply to the factor after each update.
      renorm: Not there yet.
      renorm_clipping: Not there yet.
      renorm_momentum: Not there yet.
      fused: Whether one op does it all; by default where there is one.
      trainable: Whether the variables are trained.
      virtual_batch_size: Not there yet.
      adjustment: Not there yet.
      name: The layer's name.
      **kwargs: What `Layer` takes.

    Raises:
      NotImplementedError: An argument that is not there yet is given.
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = Zeros(),  # noqa: B008
        gamma_initializer: Any = Ones(),  # noqa: B008
        moving_mean_initializer: Any = Zeros(),  # noqa: B008
        moving_variance_initializer: Any = Ones(),  # noqa: B008
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(trainable=trainable, name=name, **kwargs)
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise NotImplementedError(
                "Batch normalization has no renorm, virtual_batch_size and adjustment yet"
            )
        if not isinstance(axis, (int, list, tuple)):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}")
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else axis
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = beta_initializer
        self.gamma_initializer = gamma_initializer
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.beta_regularizer = beta_regularizer
        self.gamma_regularizer = gamma_regularizer
        self.beta_constraint = beta_constraint
        self.gamma_constraint = gamma_constraint
        self.renorm = renorm
        self.fused = fused
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    @property
    def _variable_dtype(self) -> Any:
        """The type of the variables: half precision would not keep the averages."""
        dtype = dtypes.as_dtype(self.dtype or dtypes.float32)
        return dtypes.float32 if dtype in (dtypes.float16, dtypes.bfloat16) else dtype

    def build(self, input_shape: Any) -> None:
        shape = as_shape(input_shape)
        rank = shape.ndims
        if not rank:
            raise ValueError(f"Input has undefined rank: {shape}")
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        axes = [rank + axis if axis < 0 else axis for axis in axes]
        for axis in axes:
            if not 0 <= axis < rank:
                raise ValueError(f"Invalid axis: {axis}")
        if len(axes) != len(set(axes)):
            raise ValueError(f"Duplicate axis: {axes}")
        self.axis = axes
        self._choose_fused(rank)
        sizes = {axis: shape[axis].value for axis in axes}
        for axis, size in sizes.items():
            if size is None:
                raise ValueError(f"Input has undefined `axis` dimension. Input shape: {shape} (axis {axis})")
        self.input_spec = InputSpec(ndim=rank, axes=sizes)
        if len(axes) == 1:
            variable_shape = [sizes[axes[0]]]
        else:
            variable_shape = [sizes.get(i, 1) for i in range(rank)]
        self.gamma = self._trained("gamma", 1.0, self.scale, variable_shape)
        self.beta = self._trained("beta", 0.0, self.center, variable_shape)
        partitioner = self._scope.partitioner if self._scope else None
        try:
            # Averages are updated as a whole.
            if self._scope:
                self._scope.set_partitioner(None)
            self.moving_mean = self._average("moving_mean", variable_shape)
            self.moving_variance = self._average("moving_variance", variable_shape)
        finally:
            if partitioner:
                self._scope.set_partitioner(partitioner)
        self.built = True

    def _choose_fused(self, rank: int) -> None:
        fits = rank == 4 and self.axis in ([1], [3])
        if self.fused is None:
            self.fused = fits
        elif self.fused and rank != 4:
            raise ValueError("Batch normalization layers with fused=True only support 4D input tensors.")
        elif self.fused and not fits:
            raise ValueError("Unsupported axis, fused batch norm only supports axis == [1] or axis == [3]")
        self._data_format = "NCHW" if self.axis == [1] else "NHWC"

    def _trained(self, name: str, neutral: float, wanted: bool, shape: list[int]) -> Any:
        if wanted:
            return self.add_weight(
                name,
                shape=shape,
                dtype=self._variable_dtype,
                initializer=getattr(self, name + "_initializer"),
                regularizer=getattr(self, name + "_regularizer"),
                constraint=getattr(self, name + "_constraint"),
                trainable=True,
                experimental_autocast=False,
            )
        # The fused op wants an operand all the same.
        self_made = (
            NAMES["constant"](neutral, dtype=self._variable_dtype, shape=shape) if self.fused else None
        )
        setattr(self, "_neutral_" + name, self_made)
        return None

    def _average(self, name: str, shape: list[int]) -> Any:
        return self.add_weight(
            name,
            shape=shape,
            dtype=self._variable_dtype,
            initializer=getattr(self, name + "_initializer"),
            synchronization=VariableSynchronization.ON_READ,
            trainable=False,
            aggregation=VariableAggregation.MEAN,
            experimental_autocast=False,
        )

    def call(self, inputs: Any, training: Any = False) -> Any:
        inputs = convert_to_tensor(inputs)
        if self.fused:
            return self._fused(inputs, training)
        return self._by_hand(inputs, training)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)

    def _update(self, variable: Any, value: Any, momentum: Any) -> None:
        self.add_update(moving_average(variable, value, momentum))

    def _fused(self, inputs: Any, training: Any) -> Any:
        gamma = self.gamma if self.scale else self._neutral_gamma  # type: ignore[attr-defined]
        beta = self.beta if self.center else self._neutral_beta  # type: ignore[attr-defined]
        normalize = NAMES["nn.fused_batch_norm"]

        def by_batch() -> Any:
            return normalize(inputs, gamma, beta, epsilon=self.epsilon, data_format=self._data_format)

        def by_averages() -> Any:
            return normalize(
                inputs,
                gamma,
                beta,
                mean=self.moving_mean,
                variance=self.moving_variance,
                epsilon=self.epsilon,
                is_training=False,
                data_format=self._data_format,
            )

        output, mean, variance = smart_cond(training, by_batch, by_averages)
        known = known_condition(training)
        if known is None:
            momentum = smart_cond(training, lambda: self.momentum, lambda: 1.0)
        else:
            momentum = convert_to_tensor(self.momentum)
        if known is not False:
            self._update(self.moving_mean, mean, momentum)
            self._update(self.moving_variance, variance, momentum)
        return output

    def _by_hand(self, inputs: Any, training: Any) -> Any:
        rank = inputs.shape.ndims
        over = [i for i in range(rank) if i not in self.axis]
        laid_out = [1] * rank
        laid_out[self.axis[0]] = inputs.shape[self.axis[0]].value

        def spread(v: Any) -> Any:
            if v is not None and v.shape.ndims != rank and over != list(range(rank - 1)):
                return NAMES["reshape"](v, laid_out)
            return v

        scale, offset = spread(self.gamma), spread(self.beta)
        known = known_condition(training)
        if known is False:
            mean, variance = self.moving_mean, self.moving_variance
        else:
            mean, variance = NAMES["nn.moments"](
                NAMES["cast"](inputs, self._variable_dtype), over, keep_dims=len(self.axis) > 1
            )
            if known is None:
                of_batch = mean, variance
                mean = smart_cond(training, lambda: of_batch[0], lambda: self.moving_mean.value())
                variance = smart_cond(training, lambda: of_batch[1], lambda: self.moving_variance.value())
            self._update(self.moving_mean, mean, self.momentum)
            self._update(self.moving_variance, variance, self.momentum)
            graph = get_default_graph()
            if known is None and numbering.is_numbered(graph) and not NAMES["control_flow_v2_enabled"]():
                # TensorFlow makes each of the two updates within a branch.
                is_reference = self.moving_mean.dtype.is_ref
                numbering.shift(graph, 2 * (9 if is_reference else 10))
        if inputs.dtype != self._variable_dtype:
            mean, variance, offset, scale = (
                None if v is None else NAMES["cast"](v, inputs.dtype) for v in (mean, variance, offset, scale)
            )
        outputs = NAMES["nn.batch_normalization"](
            inputs, spread(mean), spread(variance), offset, scale, self.epsilon
        )
        outputs.set_shape(inputs.shape)
        return outputs


def moving_average(variable: Any, value: Any, momentum: Any) -> Any:
    """Returns an operation that moves a variable towards a value.

    Args:
      variable: The variable.
      value: The value.
      momentum: How much of the variable stays.
    """
    with name_scope(None, "AssignMovingAvg", [variable, value]) as scope, colocate_with(variable):
        decay = convert_to_tensor(1.0 - momentum, name="decay")
        dtype = variable.dtype.base_dtype
        if decay.dtype != dtype:
            decay = NAMES["cast"](decay, dtype)
        return variable.assign_sub((variable - NAMES["cast"](value, dtype)) * decay, name=scope)


@export("layers.batch_normalization")
def batch_normalization(
    inputs: Any,
    axis: Any = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = Zeros(),  # noqa: B008
    gamma_initializer: Any = Ones(),  # noqa: B008
    moving_mean_initializer: Any = Zeros(),  # noqa: B008
    moving_variance_initializer: Any = Ones(),  # noqa: B008
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
    beta_constraint: Any = None,
    gamma_constraint: Any = None,
    training: Any = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Any = None,
) -> Any:
    """Makes a `BatchNormalization` layer and applies it; see there.

    The operations that update the moving averages are in the collection `tf.GraphKeys.UPDATE_OPS`; the training step
    has to run them, usually by a control dependency.
    """
    layer = BatchNormalization(
        axis=axis,
        momentum=momentum,
        epsilon=epsilon,
        center=center,
        scale=scale,
        beta_initializer=beta_initializer,
        gamma_initializer=gamma_initializer,
        moving_mean_initializer=moving_mean_initializer,
        moving_variance_initializer=moving_variance_initializer,
        beta_regularizer=beta_regularizer,
        gamma_regularizer=gamma_regularizer,
        beta_constraint=beta_constraint,
        gamma_constraint=gamma_constraint,
        renorm=renorm,
        renorm_clipping=renorm_clipping,
        renorm_momentum=renorm_momentum,
        fused=fused,
        trainable=trainable,
        virtual_batch_size=virtual_batch_size,
        adjustment=adjustment,
        name=name,
        dtype=inputs.dtype.base_dtype,
        _reuse=reuse,
        _scope=name,
    )
    return layer.apply(inputs, training=training)
