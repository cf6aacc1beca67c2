"""Assertions on arrays and messages, and how they word what differs."""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace.export import export

Array = np.ndarray[Any, Any]


def describe_difference(a: Array, b: Array, differs: Array, what: str, tolerance: Any = None) -> list[str]:
    """Returns lines on where two arrays of one shape differ.

    Args:
      a: One array.
      b: The other.
      differs: Where they do, as bools.
      what: How to say it: "not equal", "not close".
      tolerance: How far they may be apart, where that is the question.
    """
    left, right = (a[differs], b[differs]) if a.ndim else (a, b)
    lines = [
        f"{what} where = {np.where(differs) if a.ndim else ()}",
        f"{what} lhs = {left}",
        f"{what} rhs = {right}",
    ]
    if tolerance is not None:
        lines.append(f"{what} dif = {np.abs(left - right)}")
        lines.append(f"{what} tol = {tolerance[differs] if a.ndim else tolerance}")
    lines.append(f"dtype = {a.dtype}, shape = {a.shape}")
    return lines


def as_float(array: Array) -> Array:
    """Returns a bfloat16 array as float32, which NumPy's comparisons know; others as they are."""
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


class ArrayAssertions(unittest.TestCase):
    """Assertions on arrays; `evaluate` turns tensors into arrays."""

    def evaluate(self, tensors: Any) -> Any:
        raise NotImplementedError

    def _array(self, value: Any) -> Array:
        """Returns a value, a tensor or a list that holds tensors as an array."""
        if hasattr(value, "graph") or hasattr(value, "_as_graph_element"):
            value = self.evaluate(value)
        elif isinstance(value, (list, tuple)) and any(hasattr(v, "graph") for v in value):
            value = [self._array(v) if hasattr(v, "graph") else v for v in value]
        return value if isinstance(value, np.ndarray) else np.array(value)

    def _same_shape(self, a: Array, b: Array, msg: Any) -> None:
        shown = f" with contents {b}." if b.size <= 1000 else "."
        self.assertEqual(
            a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}{shown} {msg or ''}"
        )

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Asserts that two arrays or tensors have the same shape and elements; NaN equals NaN."""
        a, b = self._array(a), self._array(b)
        self._same_shape(a, b, msg)
        same = a == b
        if a.dtype.kind in "fc" and b.dtype.kind in "fc":
            same = same | (np.isnan(a) & np.isnan(b))
        if not np.all(same):
            differs = np.logical_not(same)
            lines = [msg or "", "Arrays are not equal", *describe_difference(a, b, differs, "not equal")]
            self.fail("\n".join(lines))

    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Asserts that two arrays differ somewhere."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(f"The two values are equal at all elements{': ' + msg if msg else ''}")

    def _close(self, a: Any, b: Any, rtol: float, atol: float, path: str, msg: Any) -> None:
        a = a._asdict() if hasattr(a, "_asdict") else a
        b = b._asdict() if hasattr(b, "_asdict") else b
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            self.fail(f"Can't compare dict to non-dict, a{path} vs b{path}. {msg or ''}")
        if isinstance(a, Mapping):
            self.assertCountEqual(a.keys(), b.keys(), f"mismatched keys: a{path} and b{path}. {msg or ''}")
            for key in a:
                self._close(a[key], b[key], rtol, atol, f"{path}[{key}]", msg)
            return
        if isinstance(a, (list, tuple)) and any(isinstance(v, (list, tuple, Mapping, np.ndarray)) for v in a):
            try:
                left, right = self._array(a), self._array(b)
            except ValueError:  # ragged: part by part
                self.assertEqual(len(a), len(b), f"Mismatched length: a{path} and b{path}. {msg or ''}")
                for i, (x, y) in enumerate(zip(a, b, strict=True)):
                    self._close(x, y, rtol, atol, f"{path}[{i}]", msg)
                return
            if left.dtype == object and any(isinstance(v, Mapping) for v in a):
                self.assertEqual(len(a), len(b), f"Mismatched length: a{path} and b{path}. {msg or ''}")
                for i, (x, y) in enumerate(zip(a, b, strict=True)):
                    self._close(x, y, rtol, atol, f"{path}[{i}]", msg)
                return
            self._arrays_close(left, right, rtol, atol, path, msg)
            return
        self._arrays_close(self._array(a), self._array(b), rtol, atol, path, msg)

    def _arrays_close(self, a: Array, b: Array, rtol: float, atol: float, path: str, msg: Any) -> None:
        a, b = as_float(a), as_float(b)
        self._same_shape(a, b, msg)
        if np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            return
        tolerance = np.asarray(atol + rtol * np.abs(b))
        differs = np.asarray((np.abs(a - b) > tolerance) | (np.isnan(a) != np.isnan(b)))
        self.fail(
            "\n".join(
                [
                    msg or "",
                    f"Not equal to tolerance rtol={rtol:g}, atol={atol:g}",
                    f"Mismatched value: a{path} is different from b{path}.",
                    *describe_difference(a, b, differs, "not close", tolerance),
                ]
            )
        )

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        """Asserts that |a - b| <= atol + rtol * |b| everywhere, in arrays, tensors and structures of them."""
        self._close(a, b, rtol, atol, "", msg)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        """Asserts that two arrays are apart somewhere."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        self.fail("The two values are close at all elements")

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: Any = None,
    ) -> None:
        """Asserts that two arrays are close, with the tolerance of the coarser of their types."""
        a, b = self._array(a), self._array(b)
        names = {a.dtype.name, b.dtype.name}
        for kinds, kind_rtol, kind_atol in (
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ):
            if kinds & names:
                rtol, atol = max(rtol, kind_rtol), max(atol, kind_atol)
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: Any = None) -> None:
        """Asserts that an array has the static shape of a tensor."""
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError("np_array must be a Numpy ndarray or Numpy scalar")
        if not hasattr(tf_tensor, "get_shape"):
            raise TypeError("tf_tensor must be a Tensor")
        self.assertAllEqual(np_array.shape, tf_tensor.get_shape().as_list(), msg=msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Asserts the dtype of an array or tensor."""
        self.assertEqual(self._array(target).dtype, expected_dtype)

    def assertNear(self, f1: float, f2: float, err: float, msg: Any = None) -> None:
        """Asserts that two numbers are at most `err` apart."""
        self.assertTrue(
            f1 == f2 or abs(f1 - f2) <= err, f"{f1:f} != {f2:f} +/- {err:f}{f' ({msg})' if msg else ''}"
        )

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: Any = None) -> None:
        """Asserts that the numbers of two lists are at most `err` apart."""
        self.assertEqual(len(farray1), len(farray2), msg=msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg=msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: Any = None) -> None:
        """Asserts that the Euclidean distance of two arrays is below `err`."""
        self.assertTrue(np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2)) < err, msg=msg)

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Asserts that all elements are above a number."""
        self.assertGreater(np.min(self._array(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Asserts that all elements are below a number."""
        self.assertLess(np.max(self._array(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Asserts that no element is below a number."""
        self.assertGreaterEqual(np.min(self._array(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Asserts that no element is above a number."""
        self.assertLessEqual(np.max(self._array(a)), comparison_target)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Asserts that all elements lie in a range, its ends included unless they are said to be open."""
        target = self._array(target)
        below = target <= lower_bound if open_lower_bound else target < lower_bound
        above = target >= upper_bound if open_upper_bound else target > upper_bound
        outside = below | above | (np.isnan(target) if target.dtype.kind in "fc" else False)
        if np.any(outside):
            ends = f"{'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}"
            ends += ")" if open_upper_bound else "]"
            self.fail(
                f"{np.count_nonzero(outside)} of the {target.size} element(s) are outside the range {ends}. "
                f"Subscript(s) and value(s) of the offending elements: {np.argwhere(outside).tolist()}: "
                f"{target[outside]}"
            )

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Asserts that every element is one of a set."""
        found = np.unique(self._array(target))
        others = np.setdiff1d(found, list(expected_set))
        if others.size:
            self.fail(f"{others.size} unique element(s) are not in the set {expected_set}: {others}")

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: Any = None) -> None:
        """Asserts that two messages are equal; the expected one may be in the text format."""
        from google.protobuf import text_format

        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)):
            expected = text_format.Merge(expected, type(message)())
        if expected != message:
            self.assertMultiLineEqual(str(expected), str(message), msg=msg)
            self.fail(msg or "the messages differ in what their text does not show")


@export("test.assert_equal_graph_def")
def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Asserts that two GraphDefs have the same nodes, in whatever order.

    Args:
      actual: A GraphDef.
      expected: A GraphDef.
      checkpoint_v2: Whether temporary names that checkpoints of version 2 make are passed over.
      hash_table_shared_name: Whether generated names of tables are passed over.

    Raises:
      TypeError: One of them is no GraphDef.
      AssertionError: They differ; the message names the first node that does.
    """
    for which, graph_def in (("actual", actual), ("expected", expected)):
        if getattr(getattr(graph_def, "DESCRIPTOR", None), "name", None) != "GraphDef":
            raise TypeError(f"Expected tf.GraphDef for {which}, got {type(graph_def).__name__}")
    left, right = (_nodes(each, checkpoint_v2, hash_table_shared_name) for each in (actual, expected))
    for name in sorted(left.keys() | right.keys()):
        if left.get(name) != right.get(name):
            raise AssertionError(f"{name}: {left.get(name)} is not the expected {right.get(name)}")


def _nodes(graph_def: Any, checkpoint_v2: bool, hash_table_shared_name: bool) -> dict[str, Any]:
    out = {}
    for node in graph_def.node:
        copy = type(node)()
        copy.CopyFrom(node)
        if checkpoint_v2 and "_temp_" in str(copy.attr["value"]):
            del copy.attr["value"]
        if hash_table_shared_name and copy.op == "HashTableV2" and "shared_name" in copy.attr:
            del copy.attr["shared_name"]
        out[node.name] = copy
    return out
