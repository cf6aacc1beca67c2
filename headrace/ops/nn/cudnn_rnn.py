"""The recurrent networks of cuDNN: graphs that hold them can be built, loaded and saved, but not run.

The layout of their parameters is cuDNN's own, and TensorFlow has kernels of them for NVIDIA's GPUs alone.
"""

from __future__ import annotations

from headrace.errors import InvalidArgumentError
from headrace.opdef import op, raw
from headrace.shapes import with_rank

_KIND = """
      T: {half, float, double}
"""
_ATTRS = """\
      rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm"
      input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input"
      direction: {"unidirectional", "bidirectional"} = "unidirectional"
      dropout: float = 0.0
      seed: int = 0
      seed2: int = 0
"""
_PROJECTION = "      num_proj: int = 0\n"
_TRAINING = "      is_training: bool = true\n"
_MAJOR = "      time_major: bool = true\n"
_SHARED = ("rnn_mode", "input_mode", "direction", "dropout", "seed", "seed2")
_STATE = "input: T, input_h: T, input_c: T, params: T"
_SIZES = "num_layers: int32, num_units: int32, input_size: int32"


def _declare(name, operands, results, attrs, shape, grad=None, stateful=False):
    more = {} if grad is None else {"grad": grad}
    made = op(f"""
    {name}({operands}) -> ({results}){_KIND}{attrs}{"      stateful" if stateful else ""}

    cuDNN's; no CPU has a kernel of it.
    """, shape=shape, **more)  # fmt: skip

    @made.host
    def host(*operands, ctx):
        raise InvalidArgumentError(
            None,
            None,
            f"No OpKernel was registered to support Op '{name}' used by {ctx.op.name}: cuDNN's recurrent networks "
            "run on NVIDIA GPUs alone. Use LSTMBlockCell, GRUBlockCell or cells of tf.nn.rnn_cell instead.",
        )

    return made


def _forward_shape(outputs):
    def shape(input, input_h, input_c, *_, rnn_mode, direction, **rest):
        time, batch, _ = (
            with_rank(input, 3) if input is not None and len(input) == 3 else (*(input or ()), None)[:3]
        )
        layers, *state = with_rank(input_h, 3)
        units = state[1]
        wide = None if units is None else units * (2 if direction == "bidirectional" else 1)
        cells = with_rank(input_h, 3) if rnn_mode == "lstm" else ()
        return [(time, batch, wide), (layers, *state), cells, *[None] * (outputs - 3)]

    return shape


def _backward_shape(input, input_h, input_c, params, *_):
    return [input, input_h, input_c, params]


def _grad(kind, extra):
    def grad(op, *dys):
        if not op.attrs["is_training"]:
            raise ValueError("To use CudnnRNN in gradients, is_training must be set to True.")
        attrs = {name: op.attrs[name] for name in (*_SHARED, *extra)}
        found = getattr(raw, kind)(*op.inputs, *op.outputs[:3], *dys[:3], *op.outputs[3:], **attrs)
        return [*found, *[None] * (len(op.inputs) - 4)]

    return grad


_RESULTS = "output: T, output_h: T, output_c: T, reserve_space: T"
_HOST = ", host_reserved: int8"
_LENGTHS = ", sequence_lengths: int32"
_BACK = (
    ", output: T, output_h: T, output_c: T, output_backprop: T, output_h_backprop: T, output_c_backprop: T, "
    "reserve_space: T"
)
_GRADIENTS = "input_backprop: T, input_h_backprop: T, input_c_backprop: T, params_backprop: T"

CudnnRNN = _declare(
    "CudnnRNN", _STATE, _RESULTS, _ATTRS + _TRAINING, _forward_shape(4), _grad("CudnnRNNBackprop", ()), True
)
CudnnRNNV2 = _declare(
    "CudnnRNNV2",
    _STATE,
    _RESULTS + _HOST,
    _ATTRS + _TRAINING,
    _forward_shape(5),
    _grad("CudnnRNNBackpropV2", ()),
    True,
)
CudnnRNNV3 = _declare(
    "CudnnRNNV3",
    _STATE + _LENGTHS,
    _RESULTS + _HOST,
    _ATTRS + _PROJECTION + _TRAINING + _MAJOR,
    _forward_shape(5),
    _grad("CudnnRNNBackpropV3", ("num_proj", "time_major")),
    True,
)
CudnnRNNBackprop = _declare(
    "CudnnRNNBackprop", _STATE + _BACK, _GRADIENTS, _ATTRS, _backward_shape, stateful=True
)
CudnnRNNBackpropV2 = _declare(
    "CudnnRNNBackpropV2", _STATE + _BACK + _HOST, _GRADIENTS, _ATTRS, _backward_shape, stateful=True
)
CudnnRNNBackpropV3 = _declare(
    "CudnnRNNBackpropV3",
    _STATE + _LENGTHS + _BACK + _HOST,
    _GRADIENTS,
    _ATTRS + _PROJECTION + _MAJOR,
    _backward_shape,
    stateful=True,
)


def _vector(*_):
    return (None,)


def _one(*_):
    return (1,)


def _parts(weights, biases):
    def shape(*_, ctx=None, **attrs):
        return [*[(None, None)] * attrs[weights], *[(None,)] * attrs[biases]]

    return shape


_ONE_COUNT = "      num_params: int >= 1\n"
_TWO_COUNTS = "      num_params_weights: int >= 1\n      num_params_biases: int >= 1\n"
CudnnRNNParamsSize = _declare(
    "CudnnRNNParamsSize", _SIZES, "params_size: S", "      S: {int32, int64}\n" + _ATTRS + _PROJECTION, _one
)
CudnnRNNParamsToCanonical = _declare(
    "CudnnRNNParamsToCanonical",
    _SIZES + ", params: T",
    "weights: num_params * T, biases: num_params * T",
    _ONE_COUNT + _ATTRS,
    _parts("num_params", "num_params"),
)
CudnnRNNParamsToCanonicalV2 = _declare(
    "CudnnRNNParamsToCanonicalV2",
    _SIZES + ", params: T",
    "weights: num_params_weights * T, biases: num_params_biases * T",
    _TWO_COUNTS + _ATTRS + _PROJECTION,
    _parts("num_params_weights", "num_params_biases"),
)
CudnnRNNCanonicalToParams = _declare(
    "CudnnRNNCanonicalToParams",
    _SIZES + ", weights: num_params * T, biases: num_params * T",
    "params: T",
    _ONE_COUNT + _ATTRS,
    _vector,
)
CudnnRNNCanonicalToParamsV2 = _declare(
    "CudnnRNNCanonicalToParamsV2",
    _SIZES + ", weights: num_params_weights * T, biases: num_params_biases * T",
    "params: T",
    _TWO_COUNTS + _ATTRS + _PROJECTION,
    _vector,
)


def _refused(made, build):
    def cases(case):
        @case.program
        def is_built_and_refused(step):
            step(
                build(),
                fails=InvalidArgumentError,
                match=f"No OpKernel was registered to support Op '{made.name}'",
            )

    made.declare("cases", cases)


def _zeros(*shape):
    return raw.Fill(list(shape), 0.0)


def _first(value):
    while isinstance(value, (list, tuple)):
        value = value[0]
    return value


def _states():
    return _zeros(5, 2, 3), _zeros(1, 2, 4), _zeros(1, 2, 4), _zeros(9)


def _past():
    y, h = _zeros(5, 2, 4), _zeros(1, 2, 4)
    return y, h, h, y, h, h, _zeros(1)


def _reserved():
    return raw.Cast(_zeros(1), DstT="int8")


def _lengths():
    return raw.Fill([2], 5)


_refused(CudnnRNN, lambda: raw.CudnnRNN(*_states())[0])
_refused(CudnnRNNV2, lambda: raw.CudnnRNNV2(*_states())[0])
_refused(CudnnRNNV3, lambda: raw.CudnnRNNV3(*_states(), _lengths())[0])
_refused(CudnnRNNBackprop, lambda: raw.CudnnRNNBackprop(*_states(), *_past())[0])
_refused(CudnnRNNBackpropV2, lambda: raw.CudnnRNNBackpropV2(*_states(), *_past(), _reserved())[0])
_refused(CudnnRNNBackpropV3, lambda: raw.CudnnRNNBackpropV3(*_states(), _lengths(), *_past(), _reserved())[0])
_refused(CudnnRNNParamsSize, lambda: raw.CudnnRNNParamsSize(1, 4, 3, T="float32", S="int32"))
_refused(
    CudnnRNNParamsToCanonical, lambda: _first(raw.CudnnRNNParamsToCanonical(1, 4, 3, _zeros(9), num_params=2))
)
_refused(
    CudnnRNNParamsToCanonicalV2,
    lambda: _first(
        raw.CudnnRNNParamsToCanonicalV2(1, 4, 3, _zeros(9), num_params_weights=2, num_params_biases=1)
    ),
)
_refused(
    CudnnRNNCanonicalToParams, lambda: raw.CudnnRNNCanonicalToParams(1, 4, 3, [_zeros(2, 2)], [_zeros(2)])
)
_refused(
    CudnnRNNCanonicalToParamsV2, lambda: raw.CudnnRNNCanonicalToParamsV2(1, 4, 3, [_zeros(2, 2)], [_zeros(2)])
)
