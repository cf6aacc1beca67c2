"""Records of comma-separated values."""

from __future__ import annotations

import itertools

import numpy as np

from headrace.dtypes import as_dtype
from headrace.opdef import export, op, raw
from headrace.opdef.strings import attr_bytes, flat, invalid, parse_number, strings

DecodeCSV = op("""
    DecodeCSV(records: string, record_defaults: OUT_TYPE) -> (output: OUT_TYPE)
      OUT_TYPE: list({float, double, int32, int64, string}) >= 1
      field_delim: string = ","
      use_quote_delim: bool = true
      na_value: string = ""
      select_cols: list(int) = []

    The fields of records of comma-separated values, a tensor for each column.
""")


@DecodeCSV.shape
def decode_csv_shape(records, record_defaults):
    for default in record_defaults:
        if default is None:
            continue
        if len(default) > 1:
            raise ValueError(f"Shape must be at most rank 1 but is rank {len(default)}")
        if len(default) == 1 and default[0] is not None and default[0] > 1:
            raise ValueError("Shape of a default must be a length-0 or length-1 vector, or a scalar.")
    return [records] * len(record_defaults)


def fields_of(record: bytes, delim: bytes, quotes: bool) -> list[bytes]:
    """Returns the fields of a record; quoted ones without their quotes."""
    if not quotes:
        return record.split(delim)
    fields = []
    at, n = 0, len(record)
    while at <= n:
        if record[at : at + 1] == b'"':
            field, at = _quoted(record, at + 1, delim)
        else:
            end = record.find(delim, at)
            end = n if end < 0 else end
            field = record[at:end]
            if any(mark in field for mark in (b'"', b"\n", b"\r")):
                invalid("Unquoted fields cannot have quotes/CRLFs inside")
            at = end + 1
        fields.append(field)
    return fields


def _quoted(record, at, delim):
    parts = []
    while True:
        end = record.find(b'"', at)
        if end < 0:
            invalid("Quoted field has to end with quote followed by delim or end")
        parts.append(record[at:end])
        after = record[end + 1 : end + 2]
        if after == b'"':
            parts.append(b'"')
            at = end + 2
        elif after in (b"", delim):
            return b"".join(parts), end + 2
        else:
            invalid("Quoted field has to end with quote followed by delim or end")


@DecodeCSV.host
def decode_csv_host(
    records, record_defaults, *, OUT_TYPE, field_delim, use_quote_delim, na_value, select_cols
):
    delim = attr_bytes(field_delim)
    if len(delim) != 1:
        invalid("field_delim should be only 1 char")
    missing = {b"", attr_bytes(na_value)}
    kinds = [as_dtype(t) for t in OUT_TYPE]
    if select_cols and len(select_cols) != len(kinds):
        invalid("select_cols should match output size")
    columns = [[] for _ in kinds]
    for i, record in enumerate(flat(records)):
        fields = fields_of(record, delim, use_quote_delim)
        if select_cols:
            if select_cols[-1] >= len(fields):
                found = sum(c < len(fields) for c in select_cols)
                invalid(f"Expect {len(select_cols)} fields but have {found} in record {i}")
            fields = [fields[c] for c in select_cols]
        elif len(fields) != len(kinds):
            invalid(f"Expect {len(kinds)} fields but have {len(fields)} in record {i}")
        for f, (field, kind, default) in enumerate(zip(fields, kinds, record_defaults, strict=True)):
            columns[f].append(_value(field, kind, default, missing, f, i))
    shape = np.shape(records)
    return [
        strings(column, shape) if kind.name == "string" else np.array(column, kind.storage).reshape(shape)
        for column, kind in zip(columns, kinds, strict=True)
    ]


def _value(field, kind, default, missing, f, i):
    if field in missing:
        if default.size != 1:
            invalid(f"Field {f} is required but missing in record {i}!")
        return default.reshape(()).item() if kind.name == "string" else default.ravel()[0]
    if kind.name == "string":
        return field
    number = parse_number(field, kind)
    if number is None:
        name = {"float32": "float", "float64": "double"}.get(kind.name, kind.name)
        invalid(f"Field {f} in record {i} is not a valid {name}: {field.decode('utf-8', 'replace')}")
    return number


@DecodeCSV.cases
def decode_csv_cases(case):
    def ints(*values):
        return np.array(values, np.int32)

    case(["1,2", "3,"], (ints(0), ints(9)), gives=(ints(1, 3), ints(2, 9)))
    case(['a,"b ""q"" c",1.5'], (["x"], ["y"], [0.0]),
         gives=(np.array([b"a"], object), np.array([b'b "q" c'], object), [1.5]))  # fmt: skip
    case(["1;2;3"], (ints(0), ints(9)), field_delim=";", select_cols=[0, 2], gives=(ints(1), ints(3)))
    case(["NA,2"], (ints(5), ints(9)), na_value="NA", gives=(ints(5), ints(2)))
    case.shapes("[?,3];[1];[0]", "[?,3];[?,3]", OUT_TYPE=["int32", "float"])
    case.fails("[2];[2]", match="length-0 or length-1 vector", OUT_TYPE=["int32"])
    for record, match in (
        ("1", "Expect 2 fields but have 1 in record 0"),
        ("x,1", "Field 0 in record 0 is not a valid int32: x"),
        ('1,a"2', "Unquoted fields cannot have quotes/CRLFs inside"),
        ('1,"2', "Quoted field has to end with quote followed by delim or end"),
    ):
        case.fails(([record], (ints(0), ints(9))), match=match)
    case.fails(
        ([",1"], (np.zeros(0, np.int32), ints(9))), match="Field 0 is required but missing in record 0!"
    )


@export("decode_csv", "io.decode_csv")
def decode_csv(
    records,
    record_defaults,
    field_delim=",",
    use_quote_delim=True,
    name=None,
    na_value="",
    select_cols=None,
):
    """Returns the columns of records of comma-separated values.

    Args:
      records: A tensor of strings, each a record.
      record_defaults: For each column the value where a field is empty, or an empty vector if none may be; their
        types are those of the columns.
      field_delim: What separates fields.
      use_quote_delim: Whether quotes hold fields together.
      name: The node's name.
      na_value: What else stands for an empty field.
      select_cols: The numbers of the columns to take, in ascending order; all by default.

    Returns:
      A list of tensors of the shape of `records`.

    Raises:
      ValueError: `select_cols` is not in ascending order or does not fit `record_defaults`.
    """
    if select_cols is not None:
        if any(a >= b for a, b in itertools.pairwise(select_cols)):
            raise ValueError("select_cols is not strictly increasing.")
        if select_cols and select_cols[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(select_cols) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    return raw.DecodeCSV(
        records,
        list(record_defaults),
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=list(select_cols or []),
        name=name,
    )
