"""Numbers as strings and strings as numbers."""

from __future__ import annotations

import numpy as np

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.errors import ResourceExhaustedError
from headrace.opdef import export, op, raw
from headrace.opdef.strings import attr_text, flat, invalid, parse_number, strings
from headrace.shapes import unchanged

StringToNumber = op("""
    StringToNumber(string_tensor: string) -> (output: out_type)
      out_type: {float, double, int32, int64} = float

    The number that each string spells.
""", shape=unchanged, grad=None)  # fmt: skip


@StringToNumber.host
def string_to_number_host(string_tensor, *, out_type):
    out_type = as_dtype(out_type)
    numbers = []
    for s in flat(string_tensor):
        number = parse_number(s, out_type)
        if number is None:
            invalid("StringToNumberOp could not correctly convert string: " + s.decode("utf-8", "replace"))
        numbers.append(number)
    return np.array(numbers, out_type.storage).reshape(np.shape(string_tensor))


@StringToNumber.cases
def string_to_number_cases(case):
    case(["15", "-2"], gives=[15.0, -2.0])
    case(["1.5", "-2e3", " 3 ", "inf", "1e50"], gives=[1.5, -2000.0, 3.0, np.inf, np.inf])
    case(["15", "-2", " 7 "], out_type="int64", gives=np.array([15, -2, 7]))
    case(["0.1", "0x10"], out_type="double", gives=np.array([0.1, 16.0]))
    case.shapes("[2,?]", "[2,?]")
    for bad, kind in (("x1", "float"), ("", "float"), ("1.5", "int32"), ("3000000000", "int32")):
        case.fails(([bad],), out_type=kind, match="could not correctly convert string: " + bad)


AsString = op("""
    AsString(input: T) -> (output: string)
      T: {int8, int16, int32, int64, complex64, complex128, float, double, bool}
      precision: int = -1
      scientific: bool = false
      shortest: bool = false
      width: int = -1
      fill: string = ""

    How printf spells each number.
""", shape=unchanged, grad=None)  # fmt: skip


def _format(dtype, precision, scientific, shortest, width, fill):
    """Returns printf's format for a type."""
    is_float = dtype.is_floating or dtype.is_complex
    if dtype.name != "bool" and not is_float:
        if scientific or shortest:
            invalid(f"scientific and shortest format not supported for datatype {dtype.name}")
        if precision >= 0:
            invalid(f"precision not supported for datatype {dtype.name}")
    if len(fill) > 1:
        invalid("Fill string must be one or fewer characters")
    if fill and fill not in " +-0#":
        invalid(f'Fill argument not supported: "{fill}"')
    out = "%" + (fill if width > -1 or fill else "")
    if width > -1:
        out += str(width)
    if precision > -1 and is_float:
        out += f".{precision}"
    if not is_float:
        return out + "d"
    return out + ("e" if scientific else "g" if shortest else "f")


@AsString.host
def as_string_host(input, *, precision, scientific, shortest, width, fill):
    dtype = as_dtype(input.dtype)
    if scientific and shortest:
        invalid("Cannot select both scientific and shortest notation")
    spelling = _format(dtype, precision, scientific, shortest, width, attr_text(fill))
    values = input.ravel().tolist()
    if len(values) * max(width, precision) > 2**28:
        raise ResourceExhaustedError(
            None, None, f"{len(values)} strings of {max(width, precision)} characters are too many"
        )
    if dtype.name == "bool":
        texts = ["true" if v else "false" for v in values]
    elif dtype.is_complex:
        texts = [f"({spelling % v.real},{spelling % v.imag})" for v in values]
    else:
        texts = [spelling % v for v in values]
    return strings([t.encode() for t in texts], input.shape)


@AsString.cases
def as_string_cases(case):
    def given(x, *texts, **attrs):
        case(x, gives=np.array([t.encode() for t in texts], object), **attrs)

    given([1.5, -1e20, np.nan, np.inf], "1.500000", "-100000002004087734272.000000", "nan", "inf")
    given([1.5, 2.25], "1.50", "2.25", precision=2)
    given([1.5, 123456.0], "1.500e+00", "1.235e+05", precision=3, scientific=True)
    given([1.5, 123456.789, 1e-10], "1.5", "123457", "1e-10", shortest=True)
    given(np.array([3, -14], np.int32), "000003", "-00014", width=6, fill="0")
    given(np.array([3, -14], np.int8), "     3", "   -14", width=6)
    given(np.array([True, False]), "true", "false")
    given(np.array([1 + 2j]), "(    1.00,    2.00)", precision=2, width=8)
    case.shapes("[2,?]", "[2,?]")
    case.fails((np.array([1], np.int32),), precision=2, match="precision not supported for datatype int32")
    case.fails(([1.0],), fill="ab", match="Fill string must be one or fewer characters")
    case.fails(([1.0],), scientific=True, shortest=True, match="both scientific and shortest")


@export("string_to_number", "strings.to_number")
def string_to_number(string_tensor=None, out_type=dtypes.float32, name=None, input=None):
    """Returns the number that each string spells.

    Args:
      string_tensor: A tensor of strings.
      out_type: float32, float64, int32 or int64.
      name: The node's name.
      input: The same as `string_tensor`.
    """
    return raw.StringToNumber(string_tensor if input is None else input, out_type=out_type, name=name)


@export("as_string", "dtypes.as_string", "strings.as_string")
def as_string(input, precision=-1, scientific=False, shortest=False, width=-1, fill="", name=None):
    """Returns how each element of a tensor of numbers or booleans is written.

    Args:
      input: The tensor.
      precision: How many digits follow the point, for floating-point numbers.
      scientific: Whether to write an exponent.
      shortest: Whether to write as little as tells the number.
      width: The least number of characters.
      fill: What fills up to `width`: "0" or " ", by default blanks; "-" fills at the right.
      name: The node's name.
    """
    return raw.AsString(
        input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )
