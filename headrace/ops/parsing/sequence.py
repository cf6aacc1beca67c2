"""SequenceExamples, the messages that hold sequences of features, parsed into tensors."""

from __future__ import annotations

import math

import numpy as np

from headrace import shapes
from headrace.dtypes import as_dtype
from headrace.graph import name_scope
from headrace.graph.sparse_tensor import SparseTensor
from headrace.opdef import export, op, raw
from headrace.opdef.strings import attr_bytes, flat, invalid, strings
from headrace.ops.parsing.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature, Wanted

_ATTRS = """
      Ncontext_sparse: int >= 0 = 0
      Ncontext_dense: int >= 0 = 0
      Nfeature_list_sparse: int >= 0 = 0
      Nfeature_list_dense: int >= 0 = 0
      context_sparse_types: list({float, int64, string}) >= 0 = []
      Tcontext_dense: list({float, int64, string}) >= 0 = []
      feature_list_dense_types: list({float, int64, string}) >= 0 = []
      context_dense_shapes: list(shape) >= 0 = []
      feature_list_sparse_types: list({float, int64, string}) >= 0 = []
      feature_list_dense_shapes: list(shape) >= 0 = []
"""

_OUTPUTS = """
            context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: context_sparse_types,
            context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense,
            feature_list_sparse_indices: Nfeature_list_sparse * int64,
            feature_list_sparse_values: feature_list_sparse_types,
            feature_list_sparse_shapes: Nfeature_list_sparse * int64,
            feature_list_dense_values: feature_list_dense_types"""

ParseSequenceExample = op(f"""
    ParseSequenceExample(serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense)
        -> ({_OUTPUTS}, feature_list_dense_lengths: Nfeature_list_dense * int64)
      feature_list_dense_missing_assumed_empty: list(string) >= 0
      context_sparse_keys: list(string) >= 0
      context_dense_keys: list(string) >= 0
      feature_list_sparse_keys: list(string) >= 0
      feature_list_dense_keys: list(string) >= 0{_ATTRS}
    The features and the sequences of a batch of serialized SequenceExamples.
""")

ParseSingleSequenceExample = op(f"""
    ParseSingleSequenceExample(serialized: string, feature_list_dense_missing_assumed_empty: string,
                               context_sparse_keys: Ncontext_sparse * string,
                               context_dense_keys: Ncontext_dense * string,
                               feature_list_sparse_keys: Nfeature_list_sparse * string,
                               feature_list_dense_keys: Nfeature_list_dense * string,
                               context_dense_defaults: Tcontext_dense, debug_name: string)
        -> ({_OUTPUTS}){_ATTRS}
    The features and the sequences of one serialized SequenceExample.
""")

_KINDS = {"float32": "float_list", "int64": "int64_list", "string": "bytes_list"}
_SPELT = {"float32": "float", "int64": "int64", "string": "string"}


def _dims(shape):
    return shape if shape is None or isinstance(shape, tuple) else tuple(shape.as_list())


def _check_count(what, count, **lists):
    """Checks an attr that counts features against the attrs that describe them."""
    if any(len(listed) != count for listed in lists.values()):
        *most, last = [f"{what}_{name} ({len(listed)})" for name, listed in lists.items()]
        raise ValueError(f"num_{what} ({count}) must match the size of {', '.join(most)} and {last}")


@ParseSequenceExample.shape
def parse_sequence_example_shape(
    serialized, debug_name, context_dense_defaults, *, Ncontext_sparse, Nfeature_list_sparse, Nfeature_list_dense,
    context_dense_shapes, feature_list_dense_shapes, context_sparse_keys, context_sparse_types, Ncontext_dense,
    context_dense_keys, Tcontext_dense, feature_list_sparse_keys, feature_list_sparse_types, feature_list_dense_keys,
    feature_list_dense_types,
):  # fmt: skip
    _check_count("context_sparse", Ncontext_sparse, keys=context_sparse_keys, types=context_sparse_types)
    _check_count("context_dense", Ncontext_dense, keys=context_dense_keys, types=Tcontext_dense,
                 shapes=context_dense_shapes)  # fmt: skip
    _check_count("feature_list_sparse", Nfeature_list_sparse, keys=feature_list_sparse_keys,
                 types=feature_list_sparse_types)  # fmt: skip
    _check_count("feature_list_dense", Nfeature_list_dense, keys=feature_list_dense_keys,
                 types=feature_list_dense_types, shapes=feature_list_dense_shapes)  # fmt: skip
    (batch,) = shapes.with_rank(serialized, 1)
    n, m = Ncontext_sparse, Nfeature_list_sparse
    dense = [shapes.concatenate((batch,), _dims(s)) for s in context_dense_shapes]
    lists = [shapes.concatenate((batch, None), _dims(s)) for s in feature_list_dense_shapes]
    return (
        [(None, 2)] * n + [(None,)] * n + [(2,)] * n + dense
        + [(None, 3)] * m + [(None,)] * m + [(3,)] * m + lists + [(batch,)] * Nfeature_list_dense
    )  # fmt: skip


@ParseSingleSequenceExample.shape
def parse_single_sequence_example_shape(
    serialized, missing, context_sparse_keys, context_dense_keys, list_sparse_keys, list_dense_keys, defaults,
    debug_name,
    *, Ncontext_sparse, Nfeature_list_sparse, context_dense_shapes, feature_list_dense_shapes,
):  # fmt: skip
    shapes.with_rank(serialized, 0)
    n, m = Ncontext_sparse, Nfeature_list_sparse
    dense = [_dims(s) for s in context_dense_shapes]
    lists = [shapes.concatenate((None,), _dims(s)) for s in feature_list_dense_shapes]
    return (
        [(None, 1)] * n + [(None,)] * n + [(1,)] * n + dense
        + [(None, 2)] * m + [(None,)] * m + [(2,)] * m + lists
    )  # fmt: skip


def _message(s):
    from headrace import proto

    try:
        return proto.SequenceExample.FromString(s)
    except Exception:
        invalid(f"Could not parse example input, value: '{s.decode('utf-8', 'replace')}'")


def _array(values, dtype):
    if dtype.name == "string":
        return strings([bytes(v) for v in values], (len(values),))
    return np.array(values, dtype.storage)


def _has(feature, dtype):
    return feature.WhichOneof("kind") == _KINDS[dtype.name]


def _values(feature, dtype):
    return _array(getattr(feature, _KINDS[dtype.name]).value, dtype)


def _shown(dims):
    return "[" + ",".join("?" if d is None else str(d) for d in dims) + "]"


class _Single:
    """What an op with one example says of what it can't read."""

    def __init__(self, label):
        self.label = label

    def kind(self, where, dtype, feature):
        from google.protobuf import text_format

        invalid(
            f"Name: {self.label}, {where}.  Data types don't match. Expected type: {_SPELT[dtype.name]}  Feature is: "
            f"{text_format.MessageToString(feature)}"
        )

    def context(self, key, dtype, feature):
        self.kind(f"Context feature: {key}", dtype, feature)

    def listed(self, key, i, dtype, feature, sparse):
        # An element without a kind has no values where any number will do.
        if not (sparse and feature.WhichOneof("kind") is None):
            self.kind(f"Feature {'List' if sparse else 'list'}: {key}, Index: {i}", dtype, feature)

    def missing_context(self, key, dtype):
        invalid(f"Name: {self.label}, Context feature '{key}' is required but could not be found.")

    def context_size(self, key, dtype, size, dims):
        self.size(key, 0, dtype, size, dims)

    def size(self, key, i, dtype, size, dims):
        invalid(
            f"Name: {self.label}, Key: {key}, Index: {i}.  Number of {_SPELT[dtype.name]} values != expected.  values "
            f"size: {size} but output shape: {_shown(dims)}"
        )

    def missing_list(self, key):
        invalid(
            f"Name: {self.label}, Feature list '{key}' is required but could not be found.  Did you mean to include it "
            "in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
        )


class _Batched(_Single):
    """What the op with a batch says of it."""

    def context(self, key, dtype, feature):
        if feature.WhichOneof("kind") is not None:
            invalid(f"Error in context feature {key} in example {self.label}")

    def listed(self, key, i, dtype, feature, sparse):
        if feature.WhichOneof("kind") is not None:
            invalid(f"Error in sequence feature {key} in example {self.label}")

    def missing_context(self, key, dtype):
        invalid(f"Feature: {key} (data type: {_SPELT[dtype.name]}) is required but could not be found.")

    def context_size(self, key, dtype, size, dims):
        invalid(f"Unexpected number of elements in example {self.label}")

    def size(self, key, i, dtype, size, dims):
        if not dims:
            invalid(f"Unexpected number of elements in feature {key}, example {self.label}")
        invalid(f"Unexpected shape error in feature {key}")

    def missing_list(self, key):
        invalid(f"Missing feature {key} in example {self.label}")


def _context_sparse(features, key, dtype, says):
    if key not in features:
        return _array([], dtype)
    if not _has(features[key], dtype):
        says.context(key, dtype, features[key])
        return _array([], dtype)
    return _values(features[key], dtype)


def _context_dense(features, key, dtype, dims, default, says):
    if key not in features:
        if default.size == 0 and math.prod(dims):
            says.missing_context(key, dtype)
        if default.size not in (1, math.prod(dims)):
            invalid(
                f"The default of feature {key} has {default.size} values, but its shape is {_shown(dims)}"
            )
        return np.broadcast_to(default.reshape(()), dims) if default.size == 1 else default.reshape(dims)
    values = _array([], dtype)
    if _has(features[key], dtype):
        values = _values(features[key], dtype)
    else:
        says.context(key, dtype, features[key])
    if values.size != math.prod(dims):
        says.context_size(key, dtype, values.size, dims)
    return values.reshape(dims)


def _check_widest(examples, key, dtype, wanted):
    """Refuses a batch in which no example has all the values of a feature, or one has more."""
    widest = 0
    for context, _, says in examples:
        if key in context and not _has(context[key], dtype):
            says.context(key, dtype, context[key])
        elif key in context:
            widest = max(widest, len(getattr(context[key], _KINDS[dtype.name]).value))
    if widest != wanted:
        invalid(f"Inconsistent number of elements for feature {key}: {widest} vs {wanted}")


def _list_rows(lists, key, dtype, says, sparse):
    """Returns the values of each element of a list of features."""
    rows = []
    for i, feature in enumerate(lists[key].feature if key in lists else ()):
        if _has(feature, dtype):
            rows.append(_values(feature, dtype))
        else:
            says.listed(key, i, dtype, feature, sparse)
            rows.append(_array([], dtype))
    return rows


def _list_dense(lists, key, dtype, dims, optional, says):
    if key not in lists and key not in optional:
        says.missing_list(key)
    rows = _list_rows(lists, key, dtype, says, False)
    for i, row in enumerate(rows):
        if row.size != math.prod(dims):
            says.size(key, i, dtype, row.size, dims)
    if not rows:
        return np.empty((0, *dims), dtype.storage)
    return np.stack([row.reshape(dims) for row in rows])


def _joined(rows, dtype):
    return np.concatenate(rows) if rows else _array([], dtype)


def _text(key):
    return attr_bytes(key.item() if isinstance(key, np.ndarray) else key).decode()


@ParseSingleSequenceExample.host
def parse_single_sequence_example_host(
    serialized, missing, context_sparse_keys, context_dense_keys, list_sparse_keys, list_dense_keys, defaults,
    debug_name,
    *, context_sparse_types, Tcontext_dense, feature_list_dense_types, context_dense_shapes, feature_list_sparse_types,
    feature_list_dense_shapes,
):  # fmt: skip
    example = _message(serialized.item())
    says = _Single(debug_name.item().decode("utf-8", "replace") if debug_name.size else "<unknown>")
    context, lists = example.context.feature, example.feature_lists.feature_list
    optional = {key.decode() for key in flat(missing)}
    sparse, listed = ([], [], []), ([], [], [])
    for key, kind in zip(context_sparse_keys, context_sparse_types, strict=True):
        values = _context_sparse(context, _text(key), as_dtype(kind), says)
        sparse[0].append(np.arange(len(values), dtype=np.int64)[:, None])
        sparse[1].append(values)
        sparse[2].append(np.array([len(values)], np.int64))
    dense = [
        _context_dense(context, _text(key), as_dtype(kind), _dims(shape), default, says)
        for key, kind, shape, default in zip(
            context_dense_keys, Tcontext_dense, context_dense_shapes, defaults, strict=True
        )
    ]
    for key, kind in zip(list_sparse_keys, feature_list_sparse_types, strict=True):
        rows = _list_rows(lists, _text(key), as_dtype(kind), says, True)
        places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        listed[0].append(np.array(places, np.int64).reshape(-1, 2))
        listed[1].append(_joined(rows, as_dtype(kind)))
        listed[2].append(np.array([len(rows), max(map(len, rows), default=0)], np.int64))
    list_dense = [
        _list_dense(lists, _text(key), as_dtype(kind), _dims(shape), optional, says)
        for key, kind, shape in zip(
            list_dense_keys, feature_list_dense_types, feature_list_dense_shapes, strict=True
        )
    ]
    return (*sparse[0], *sparse[1], *sparse[2], *dense, *listed[0], *listed[1], *listed[2], *list_dense)


@ParseSequenceExample.host
def parse_sequence_example_host(
    serialized, debug_name, defaults, *, feature_list_dense_missing_assumed_empty, context_sparse_keys,
    context_dense_keys, feature_list_sparse_keys, feature_list_dense_keys, context_sparse_types, Tcontext_dense,
    feature_list_dense_types, context_dense_shapes, feature_list_sparse_types, feature_list_dense_shapes,
):  # fmt: skip
    examples = [_message(s) for s in flat(serialized)]
    n = len(examples)
    labels = [s.decode("utf-8", "replace") for s in flat(debug_name)] or ["<unknown>"] * n
    if len(labels) != n:
        invalid(f"There are {len(labels)} names for {n} serialized examples")
    whole = [
        (e.context.feature, e.feature_lists.feature_list, _Batched(label))
        for e, label in zip(examples, labels, strict=True)
    ]
    optional = {_text(key) for key in feature_list_dense_missing_assumed_empty}
    sparse, listed, dense, list_dense, lengths = ([], [], []), ([], [], []), [], [], []
    for key, kind in zip(context_sparse_keys, context_sparse_types, strict=True):
        rows = [_context_sparse(context, _text(key), as_dtype(kind), says) for context, _, says in whole]
        places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        sparse[0].append(np.array(places, np.int64).reshape(-1, 2))
        sparse[1].append(_joined(rows, as_dtype(kind)))
        sparse[2].append(np.array([n, max(map(len, rows), default=0)], np.int64))
    for key, kind, shape, default in zip(
        context_dense_keys, Tcontext_dense, context_dense_shapes, defaults, strict=True
    ):
        dtype, dims = as_dtype(kind), _dims(shape)
        if default.size == 0:
            _check_widest(whole, _text(key), dtype, math.prod(dims))
        rows = [_context_dense(context, _text(key), dtype, dims, default, says) for context, _, says in whole]
        dense.append(np.stack(rows) if rows else np.empty((0, *dims), dtype.storage))
    for key, kind in zip(feature_list_sparse_keys, feature_list_sparse_types, strict=True):
        rows = [_list_rows(lists, _text(key), as_dtype(kind), says, True) for _, lists, says in whole]
        places = [
            (b, i, j) for b, each in enumerate(rows) for i, row in enumerate(each) for j in range(len(row))
        ]
        widest = max((len(row) for each in rows for row in each), default=0)
        listed[0].append(np.array(places, np.int64).reshape(-1, 3))
        listed[1].append(_joined([row for each in rows for row in each], as_dtype(kind)))
        listed[2].append(np.array([n, max(map(len, rows), default=0), widest], np.int64))
    for key, kind, shape in zip(
        feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes, strict=True
    ):
        dtype, dims = as_dtype(kind), _dims(shape)
        rows = [_list_dense(lists, _text(key), dtype, dims, optional, says) for _, lists, says in whole]
        filled = np.zeros((n, max(map(len, rows), default=0), *dims), dtype.storage)
        if dtype.name == "string":
            filled[...] = b""
        for i, row in enumerate(rows):
            filled[i, : len(row)] = row
        list_dense.append(filled)
        lengths.append(np.array([len(row) for row in rows], np.int64))
    return (
        *sparse[0], *sparse[1], *sparse[2], *dense, *listed[0], *listed[1], *listed[2], *list_dense, *lengths,
    )  # fmt: skip


def _sequence_example():
    from headrace import proto

    message = proto.SequenceExample()
    message.context.feature["c"].int64_list.value.append(7)
    for values in ([1.0, 2.0], [3.0, 4.0]):
        message.feature_lists.feature_list["a"].feature.add().float_list.value.extend(values)
    return message.SerializeToString()


@ParseSequenceExample.cases
def parse_sequence_example_cases(case):
    one = dict(
        feature_list_dense_missing_assumed_empty=[], context_sparse_keys=[], context_dense_keys=[],
        feature_list_sparse_keys=[], context_sparse_types=[], context_dense_shapes=[], feature_list_sparse_types=[],
        Ncontext_sparse=0, Ncontext_dense=0, Nfeature_list_sparse=0, Nfeature_list_dense=1,
        feature_list_dense_types=["float32"], feature_list_dense_shapes=[(2,)],
    )  # fmt: skip
    batch, names = np.array([_sequence_example()], object), np.array([], object)
    case(
        batch,
        names,
        (),
        feature_list_dense_keys=["a"],
        gives=([[[1.0, 2.0], [3.0, 4.0]]], np.array([2])),
        **one,
    )
    case.fails(
        (batch, names, ()),
        feature_list_dense_keys=["z"],
        match="Missing feature z in example <unknown>",
        **one,
    )


@ParseSingleSequenceExample.cases
def parse_single_sequence_example_cases(case):
    none = np.array([], object)
    one = dict(
        context_sparse_types=[], feature_list_dense_types=[], context_dense_shapes=[()],
        feature_list_sparse_types=[], feature_list_dense_shapes=[],
    )  # fmt: skip
    example, name = np.array(_sequence_example(), object), np.array(b"nm", object)
    absent = np.zeros(0, np.int64)
    case(example, none, (), ("c",), (), (), (absent,), name, gives=np.int64(7), **one)
    case.fails((example, none, (), ("d",), (), (), (absent,), name),
               match="Name: nm, Context feature 'd' is required but could not be found.", **one)  # fmt: skip


class _WantedSequences:
    """The features of the sequences of one call, sorted into sparse and dense ones."""

    def __init__(self, features):
        self.sparse, self.dense, self.shapes, self.optional = {}, {}, [], []
        for key in sorted(features):
            feature = features[key]
            if isinstance(feature, VarLenFeature):
                self.sparse[key] = as_dtype(feature.dtype)
            elif isinstance(feature, FixedLenSequenceFeature):
                if feature.default_value is not None:
                    raise ValueError(f"Value feature_list_dense_defaults[{key}] must be None")
                self.dense[key] = as_dtype(feature.dtype)
                self.shapes.append(feature.shape)
                if feature.allow_missing:
                    self.optional.append(key)
            else:
                raise ValueError(f"Unsupported {type(feature).__name__} {feature}.")


def _wanted(context_features, sequence_features):
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    for feature in (context_features or {}).values():
        if not isinstance(feature, (VarLenFeature, FixedLenFeature)):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature}.")
    sequences = _WantedSequences(sequence_features or {})
    return Wanted(context_features) if context_features else None, sequences


def _attrs(context, lists):
    return {
        "Ncontext_sparse": len(context.sparse) if context else 0,
        "Ncontext_dense": len(context.dense) if context else 0,
        "Nfeature_list_sparse": len(lists.sparse),
        "Nfeature_list_dense": len(lists.dense),
        "context_sparse_types": context.sparse_types() if context else [],
        "context_dense_shapes": context.shapes() if context else [],
        "feature_list_sparse_types": list(lists.sparse.values()),
        "feature_list_dense_types": list(lists.dense.values()),
        "feature_list_dense_shapes": lists.shapes,
    }


def _results(context, lists, found):
    one = {}
    if context:
        one = {key: SparseTensor(*p) for key, *p in zip(context.sparse_keys(), *found[:3], strict=True)}
        one.update(zip(context.dense_keys(), found[3], strict=True))
    many = {key: SparseTensor(*p) for key, *p in zip(lists.sparse, *found[4:7], strict=True)}
    many.update(zip(lists.dense, found[7], strict=True))
    return one, many


@export("parse_single_sequence_example", "io.parse_single_sequence_example")
def parse_single_sequence_example(
    serialized, context_features=None, sequence_features=None, example_name=None, name=None
):
    """Returns the features and the sequences of one serialized SequenceExample.

    Args:
      serialized: A scalar string.
      context_features: Names of features and a FixedLenFeature or VarLenFeature each.
      sequence_features: Names of sequences and a FixedLenSequenceFeature or VarLenFeature each.
      example_name: A name that messages of errors show.
      name: The scope's name.

    Returns:
      Two dictionaries of tensors and SparseTensors, of the features and of the sequences.

    Raises:
      ValueError: A feature is described in no way that can be used.
    """
    context, lists = _wanted(context_features, sequence_features)
    with name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]):
        defaults = context.defaults() if context else []
        found = raw.ParseSingleSequenceExample(
            serialized,
            np.array([key.encode() for key in lists.optional], object),
            context.sparse_keys() if context else [],
            context.dense_keys() if context else [],
            list(lists.sparse),
            list(lists.dense),
            defaults,
            "" if example_name is None else example_name,
            name=(name or "ParseSingleSequenceExample").rpartition("/")[2],
            **_attrs(context, lists),
        )
        return _results(context, lists, found)


@export("io.parse_sequence_example")
def parse_sequence_example(
    serialized, context_features=None, sequence_features=None, example_names=None, name=None
):
    """Returns the features and the sequences of a batch of serialized SequenceExamples.

    Args:
      serialized: A vector of strings.
      context_features: Names of features and a FixedLenFeature or VarLenFeature each.
      sequence_features: Names of sequences and a FixedLenSequenceFeature or VarLenFeature each.
      example_names: Names for the examples, which messages of errors show.
      name: The scope's name.

    Returns:
      Two dictionaries of tensors and SparseTensors, of the features and of the sequences, and one of the lengths of
      the dense sequences.

    Raises:
      ValueError: A feature is described in no way that can be used.
    """
    context, lists = _wanted(context_features, sequence_features)
    with name_scope(name, "ParseSequenceExample", [serialized, example_names]):
        attrs = _attrs(context, lists)
        found = raw.ParseSequenceExample(
            serialized,
            np.array([], object) if example_names is None else example_names,
            context.defaults(reshaped=False) if context else [],
            feature_list_dense_missing_assumed_empty=lists.optional,
            context_sparse_keys=context.sparse_keys() if context else [],
            context_dense_keys=context.dense_keys() if context else [],
            feature_list_sparse_keys=list(lists.sparse),
            feature_list_dense_keys=list(lists.dense),
            name=(name or "ParseSequenceExample").rpartition("/")[2],
            **attrs,
        )
        return (*_results(context, lists, found), dict(zip(lists.dense, found[8], strict=True)))
