"""The gradients of Conv3D as graphs of old versions hold them: sizes come from a tensor of that shape."""

from __future__ import annotations

import numpy as np

from headrace.opdef import op
from headrace.ops.nn.conv3d import conv3d_backprop_filter_lower, conv3d_backprop_input_lower
from headrace.shapes import with_rank

_ATTRS = """
      T: {half, float, double}
      strides: list(int) >= 5
      padding: {"SAME", "VALID"}
      dilations: list(int) = [1, 1, 1, 1, 1]
      deprecated 10
"""


def _input_shape(input, filter, out_backprop):
    return with_rank(input, 5)


def _filter_shape(input, filter, out_backprop):
    return with_rank(filter, 5)


Conv3DBackpropInput = op(f"""
    Conv3DBackpropInput(input: T, filter: T, out_backprop: T) -> (output: T){_ATTRS}
    The gradient of Conv3D with respect to its input.
""", shape=_input_shape)  # fmt: skip


@Conv3DBackpropInput.lower
def conv3d_v1_backprop_input_lower(input, filter, out_backprop, *, strides, padding, dilations):
    return conv3d_backprop_input_lower(
        input.shape, filter, out_backprop, strides=strides, padding=padding, data_format="NDHWC",
        dilations=dilations,
    )  # fmt: skip


_STEP = {"strides": [1, 2, 1, 2, 1], "padding": "SAME"}
_UNIT = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}
_TWO = np.array([1, 2], np.float32).reshape(1, 1, 1, 2, 1)
_THREE = np.full((1, 1, 1, 1, 1), 3, np.float32)


@Conv3DBackpropInput.cases
def conv3d_v1_backprop_input_cases(case):
    case(_TWO, _THREE, _TWO, gives=3 * _TWO, **_UNIT)
    case(case.normal(1, 3, 4, 5, 2), case.normal(2, 3, 2, 2, 3), case.normal(1, 2, 4, 3, 3), **_STEP)
    case.shapes("[1,?,4,5,2];?;?", "[1,?,4,5,2]", **_STEP)
    case.fails("[8,8,8,3];[3,3,3,3,2];?", match="must be rank 5 but is rank 4", **_STEP)


Conv3DBackpropFilter = op(f"""
    Conv3DBackpropFilter(input: T, filter: T, out_backprop: T) -> (output: T){_ATTRS}
    The gradient of Conv3D with respect to its filter.
""", shape=_filter_shape)  # fmt: skip


@Conv3DBackpropFilter.lower
def conv3d_v1_backprop_filter_lower(input, filter, out_backprop, *, strides, padding, dilations):
    return conv3d_backprop_filter_lower(
        input, filter.shape, out_backprop, strides=strides, padding=padding, data_format="NDHWC",
        dilations=dilations,
    )  # fmt: skip


@Conv3DBackpropFilter.cases
def conv3d_v1_backprop_filter_cases(case):
    case(_TWO, _THREE, _TWO, gives=np.full((1, 1, 1, 1, 1), 5), **_UNIT)
    case(case.normal(1, 3, 4, 5, 2), case.normal(2, 3, 2, 2, 3), case.normal(1, 2, 4, 3, 3), **_STEP)
    case.shapes("?;[2,?,2,2,3];?", "[2,?,2,2,3]", **_STEP)
