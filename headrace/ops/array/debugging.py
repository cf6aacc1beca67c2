"""Ops that a debugger puts behind others: copies, and what there is to say about a tensor.

With `debug_urls` of the form `file://FOLDER` a tensor also goes into a file below that folder, as one Event.
"""

from __future__ import annotations

import json
import os
import re
import time

import numpy as np

from headrace import errors
from headrace.dtypes import as_dtype, string
from headrace.graphdef.tensor_proto import proto_from_array
from headrace.opdef import op
from headrace.ops.array.failing import invalid
from headrace.shapes import unchanged


def _copy(name, where):
    made = op(f"""
        {name}(input: T) -> (output: T)
          T: type
          tensor_name: string = ""
          debug_ops_spec: list(string) = []
          allows_uninitialized_input

        A copy of its input{where}.
    """, shape=unchanged)  # fmt: skip
    made.host(lambda x: x)
    made.lower(lambda x: x)

    @made.cases
    def cases(case):
        case([1.0, 2.0], tensor_name="x", gives=[1.0, 2.0])
        case.shapes("[2,?]", "[2,?]")


_copy("Copy", "")
_copy("CopyHost", " in the host's memory")

_WATCH = """
      T: type
      device_name: string = ""
      tensor_name: string = ""
      debug_urls: list(string) = []
      gated_grpc: bool = false
      allows_uninitialized_input
"""


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def _watched(tensor_name):
    """Returns the node and the output that a tensor's name names.

    Raises:
      InvalidArgumentError: It is no name of a tensor.
    """
    node, *slot = tensor_name.split(":")
    if not tensor_name or len(slot) > 1:
        invalid(f'Failed to parse tensor name: "{tensor_name}"')
    if not slot:
        return node, 0
    if re.fullmatch("[0-9]+", slot[0]) is None:
        invalid(f'Invalid string value for output_slot: "{slot[0]}"')
    return node, int(slot[0])


def _is_shut(debug_urls, gated_grpc):
    """Whether a debug op waits for a server to ask: what it would publish is then empty."""
    return gated_grpc and all(_text(url).startswith("grpc://") for url in debug_urls)


def _publish(what, value, device_name, tensor_name, debug_urls):
    """Writes what a debug op found to where it was told.

    Raises:
      InvalidArgumentError: The tensor's name is none.
      UnavailableError: A URL has another scheme than those of debuggers.
      InternalError: A file can't be written.
    """
    device_name, tensor_name = _text(device_name), _text(tensor_name)
    node, slot = _watched(tensor_name)
    failed = []
    for url in map(_text, debug_urls):
        if url.startswith("file://"):
            try:
                _write_file(url.removeprefix("file://"), what, value, device_name, node, slot)
            except OSError as e:
                failed.append(f"Failed to write to {e.filename}: {e.strerror};")
        elif url.startswith("grpc://"):
            raise errors.UnimplementedError(
                None, None, f"Debug targets that are servers are not there yet: {url}"
            )
        elif not url.startswith("memcbk://"):
            raise errors.UnavailableError(None, None, f"Invalid debug target URL: {url}")
    if failed:
        raise errors.InternalError(
            None,
            None,
            f"Publishing to {len(failed)} of {len(debug_urls)} debug target URLs failed, due to the following errors: "
            + " ".join(failed),
        )


def _write_file(root, what, value, device_name, node, slot):
    from headrace import proto

    now = time.time_ns() // 1000
    event = proto.Event(wall_time=now)
    entry = event.summary.value.add(tag=node, node_name=f"{node}:{slot}:{what}")
    dtype = string if value.dtype == object else as_dtype(value.dtype)
    proto_from_array(value, dtype, entry.tensor)
    entry.metadata.plugin_data.plugin_name = "debugger"
    about = {"device": device_name, "outputSlot": slot, "numChunks": 1, "chunkIndex": 0}
    entry.metadata.plugin_data.content = json.dumps(about, separators=(",", ":")).encode()
    device = device_name.replace(":", "_").replace("/", ",")
    path = os.path.join(root, "_tfdbg_device_" + device, f"{node}_{slot}_{what}_{now}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(event.SerializeToString())


DebugIdentity = op(f"""
    DebugIdentity(input: T) -> (output: T){_WATCH}
    Its input, which goes to the debugger.
""", shape=unchanged)  # fmt: skip


@DebugIdentity.host
def debug_identity_host(input, *, device_name, tensor_name, debug_urls, gated_grpc):
    if _is_shut(debug_urls, gated_grpc):
        return np.zeros(0, input.dtype)
    _publish("DebugIdentity", input, device_name, tensor_name, debug_urls)
    return input


@DebugIdentity.cases
def debug_identity_cases(case):
    case([1.0, np.nan], tensor_name="x:0", gives=[1.0, np.nan])
    case.shapes("[2,?]", "[2,?]", tensor_name="x")
    case.fails(([1.0],), match='Failed to parse tensor name: "a:1:2"', tensor_name="a:1:2")
    case.fails(([1.0],), match='Invalid string value for output_slot: "b"', tensor_name="a:b")
    case.fails(
        ([1.0],),
        match="Invalid debug target URL: ftp://x",
        raises=errors.UnavailableError,
        tensor_name="a:0",
        debug_urls=["ftp://x"],
    )


DebugNanCount = op(f"""
    DebugNanCount(input: T) -> (output: int64){_WATCH}
    How many elements are NaN.
""", shape=lambda _: (1,))  # fmt: skip


@DebugNanCount.host
def debug_nan_count_host(input, *, device_name, tensor_name, debug_urls, gated_grpc):
    if _is_shut(debug_urls, gated_grpc):
        return np.zeros(0, np.int64)
    count = np.array([np.isnan(input).sum() if _has_nan(input) else 0], np.int64)
    _publish("DebugNanCount", count, device_name, tensor_name, debug_urls)
    return count


def _has_nan(x):
    return x.dtype.kind not in "biuO"


@DebugNanCount.cases
def debug_nan_count_cases(case):
    case([1.0, np.nan, np.nan], tensor_name="x:0", gives=np.int64([2]))
    case(np.int32([1, 2]), tensor_name="x:0", gives=np.int64([0]))
    case.shapes("[2,?]", "[1]", tensor_name="x:0")


DebugNumericSummary = op("""
    DebugNumericSummary(input: T) -> (output: double)
      T: type
      device_name: string = ""
      tensor_name: string = ""
      debug_urls: list(string) = []
      lower_bound: float = -inf
      upper_bound: float = inf
      mute_if_healthy: bool = false
      gated_grpc: bool = false
      allows_uninitialized_input

    Whether a tensor is initialized; how many elements it has, and how many of them are NaN, at most `lower_bound`,
    below 0, 0, above 0, at least `upper_bound`; the least, the greatest, the mean and the variance of the finite ones;
    its type's number, its rank and its shape.
""", shape=lambda _: (None,))  # fmt: skip


@DebugNumericSummary.host
def debug_numeric_summary_host(
    input, *, device_name, tensor_name, debug_urls, lower_bound, upper_bound, mute_if_healthy, gated_grpc
):
    if _is_shut(debug_urls, gated_grpc):
        return np.zeros(0, np.float64)
    x = input.reshape(-1).astype(np.float64)
    nan = np.isnan(x)
    low = ~nan & ((x <= lower_bound) if lower_bound != -np.inf else (x == -np.inf))
    high = ~nan & ~low & ((x >= upper_bound) if upper_bound != np.inf else (x == np.inf))
    inside = ~(nan | low | high)
    finite = x[np.isfinite(x)]
    counts = [nan, low, inside & (x < 0), inside & (x == 0), inside & (x > 0), high]
    if finite.size:
        about = [finite.min(), finite.max(), finite.mean(), ((finite - finite.mean()) ** 2).mean()]
    else:
        about = [np.inf, -np.inf, np.nan, np.nan]
    dtype = as_dtype(input.dtype).as_datatype_enum
    rows = [1, x.size, *(c.sum() for c in counts), *about, dtype, input.ndim, *input.shape]
    out = np.array(rows, np.float64)
    healthy = not (nan.any() or low.any() or high.any())
    urls = () if mute_if_healthy and healthy else debug_urls
    _publish("DebugNumericSummary", out, device_name, tensor_name, urls)
    return out


@DebugNumericSummary.cases
def debug_numeric_summary_cases(case):
    case([1.0, np.nan, np.inf, -np.inf, 0.0, -3.0, 7.0], tensor_name="x:0",
         gives=np.float64([1, 7, 1, 1, 1, 1, 2, 1, -3, 7, 1.25, 13.1875, 1, 1, 7]))  # fmt: skip
    case([[1.0, 2.0], [3.0, 4.0]], tensor_name="x:0", lower_bound=2.0, upper_bound=3.0,
         gives=np.float64([1, 4, 0, 2, 0, 0, 0, 2, 1, 4, 2.5, 1.25, 1, 2, 2, 2]))  # fmt: skip
    case(np.zeros([0, 3]), tensor_name="x:0",
         gives=np.float64([1, 0, 0, 0, 0, 0, 0, 0, np.inf, -np.inf, np.nan, np.nan, 2, 2, 0, 3]))  # fmt: skip
    case(np.array([True, False, True]), tensor_name="x:0",
         gives=np.float64([1, 3, 0, 0, 0, 1, 2, 0, 0, 1, 2 / 3, 2 / 9, 10, 1, 3]))  # fmt: skip
    case.shapes("[2,?]", "[?]", tensor_name="x:0")
