"""TensorFlow's data types, and their NumPy and wire equivalents."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from headrace.export import export, export_value

_REF = 100  # a reference type's number on the wire is its base type's plus this

_QUANTIZED = {
    "qint8": np.int8,
    "quint8": np.uint8,
    "qint32": np.int32,
    "qint16": np.int16,
    "quint16": np.uint16,
}


@export("DType", "dtypes.DType")
class DType:
    """The type of a tensor's elements.

    Types are interned: two equal types are the same object. `storage` is the plain NumPy type that values of this
    type have inside headrace (quantized types are stored as their integers).
    """

    __slots__ = (
        "__weakref__",
        "_base",
        "_number",
        "_numpy",
        "_ref",
        "_string",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_quantized",
        "is_ref",
        "is_unsigned",
        "name",
        "storage",
        "wire_name",
    )

    def __init__(self, name: str, number: int, numpy: Any, wire_name: str, base: DType | None = None):
        self.name = name if base is None else name + "_ref"
        self._number = number
        self.wire_name = wire_name if base is None else wire_name + "_ref"
        self._base: DType = base or self
        self.is_ref = base is not None
        self._ref: DType = self
        self.is_quantized = name in _QUANTIZED
        self._numpy = numpy
        self.storage = np.dtype(_QUANTIZED.get(name, numpy))
        kind = self.storage.kind
        known = numpy is not object
        self.is_floating = known and (kind == "f" or name == "bfloat16")
        self.is_complex = known and kind == "c"
        self.is_integer = known and kind in "iu" and not self.is_quantized
        self.is_unsigned = known and kind == "u"
        self.is_bool = name == "bool"

    # -- relatives -----------------------------------------------------------------------------------------
    @property
    def base_dtype(self) -> DType:
        """The type without its reference mark."""
        return self._base

    @property
    def _as_ref(self) -> DType:
        return self._ref

    @property
    def _is_ref_dtype(self) -> bool:
        return self.is_ref

    @property
    def real_dtype(self) -> DType:
        """The type of the real part: float32 of complex64, float64 of complex128, else the type itself."""
        if self._base is complex64:
            return float32
        if self._base is complex128:
            return float64
        return self

    @property
    def is_numpy_compatible(self) -> bool:
        return self._base is not resource and self._base is not variant

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar type; a structured dtype for quantized types, object for strings."""
        return self._numpy

    @property
    def as_datatype_enum(self) -> int:
        """The type's number in protocol messages."""
        return self._number

    @property
    def size(self) -> int:
        """Bytes an element takes; 1 where that has no meaning, as in TensorFlow."""
        if self._numpy is object:
            return 1
        return self.storage.itemsize

    @property
    def min(self) -> Any:
        """The least value of a numeric, non-complex type."""
        return self._extreme("min")

    @property
    def max(self) -> Any:
        """The greatest value of a numeric, non-complex type."""
        return self._extreme("max")

    def _extreme(self, which: str) -> Any:
        if self.is_bool:
            return which == "max"
        if self._numpy is object or self.is_complex:
            raise TypeError(f"Cannot find {which}imum value of {self}.")
        info = ml_dtypes.finfo if self.is_floating else np.iinfo
        return getattr(info(self.storage), which)

    @property
    def limits(self) -> tuple[Any, Any]:
        """What an image of this type spans: (0, 1) for floats, (min, max) for integers."""
        return self._limits()

    def _limits(self, clip_negative: bool = True) -> tuple[Any, Any]:
        if self.is_floating:
            low, high = -1, 1
        elif self.is_bool:
            low, high = 0, 1
        else:
            low, high = self.min, self.max
        return (0 if clip_negative else low), high

    def is_compatible_with(self, other: Any) -> bool:
        """Whether a tensor of type `other` may stand where this type is asked for."""
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    def __eq__(self, other: Any) -> bool:
        if self is other:
            return True
        if other is None:
            return False
        if isinstance(other, DType):
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._number

    def __int__(self) -> int:
        return self._number

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return "tf." + self.name

    def __reduce__(self) -> Any:
        return as_dtype, (self._number,)


_BY_NUMBER: dict[int, DType] = {}
_BY_NAME: dict[str, DType] = {}
_BY_NUMPY: dict[Any, DType] = {}


def _declare(name: str, number: int, numpy: Any, wire_name: str = "") -> DType:
    dtype = DType(name, number, numpy, wire_name or name)
    ref = DType(name, number + _REF, numpy, wire_name or name, base=dtype)
    dtype._ref = ref
    ref._ref = ref
    for each in (dtype, ref):
        _BY_NUMBER[each._number] = each
        _BY_NAME[each.name] = each
        _BY_NAME[each.wire_name] = each
        export_value("dtypes." + each.name if each.is_ref else each.name, each)
    if not each.is_ref or numpy is not object:
        _BY_NUMPY.setdefault(numpy if numpy is object else np.dtype(numpy), dtype)
    return dtype


def _structured(name: str) -> Any:
    return np.dtype([(name, _QUANTIZED[name])])


float32 = _declare("float32", 1, np.float32, "float")
float64 = _declare("float64", 2, np.float64, "double")
int32 = _declare("int32", 3, np.int32)
uint8 = _declare("uint8", 4, np.uint8)
int16 = _declare("int16", 5, np.int16)
int8 = _declare("int8", 6, np.int8)
string = _declare("string", 7, object)
complex64 = _declare("complex64", 8, np.complex64)
int64 = _declare("int64", 9, np.int64)
bool = _declare("bool", 10, np.bool_)
qint8 = _declare("qint8", 11, _structured("qint8"))
quint8 = _declare("quint8", 12, _structured("quint8"))
qint32 = _declare("qint32", 13, _structured("qint32"))
bfloat16 = _declare("bfloat16", 14, ml_dtypes.bfloat16)
qint16 = _declare("qint16", 15, _structured("qint16"))
quint16 = _declare("quint16", 16, _structured("quint16"))
uint16 = _declare("uint16", 17, np.uint16)
complex128 = _declare("complex128", 18, np.complex128)
float16 = half = _declare("float16", 19, np.float16, "half")
resource = _declare("resource", 20, object)
variant = _declare("variant", 21, object)
uint32 = _declare("uint32", 22, np.uint32)
uint64 = _declare("uint64", 23, np.uint64)
double = float64
export_value("half", half)
export_value("double", double)

_BY_PYTHON: dict[Any, DType] = {
    float: float32,
    int: int32,
    type(True): bool,
    complex: complex128,
    str: string,
    bytes: string,
}

QUANTIZED_DTYPES = frozenset((qint8, quint8, qint32, qint16, quint16))
export_value("QUANTIZED_DTYPES", QUANTIZED_DTYPES)

# Groups that op signatures name, with TensorFlow's members.
GROUPS: dict[str, tuple[DType, ...]] = {
    "numbertype": (
        float32, float64, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, uint16,
        complex128, half, uint32, uint64,
    ),
    "realnumbertype": (float32, float64, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64),
    "quantizedtype": (qint8, quint8, qint32, qint16, quint16),
}  # fmt: skip


@export("as_dtype", "dtypes.as_dtype")
def as_dtype(type_value: Any) -> DType:
    """Returns the DType that a name, number, NumPy type, Python type or DType stands for.

    Raises:
      TypeError: Nothing known is meant.
    """
    if isinstance(type_value, DType):
        return type_value
    found = None
    try:
        if isinstance(type_value, str):
            found = _BY_NAME.get(type_value)
        elif isinstance(type_value, (int, np.integer)) and not isinstance(type_value, type(True)):
            found = _BY_NUMBER.get(int(type_value))
        elif isinstance(type_value, type) and type_value in _BY_PYTHON:
            found = _BY_PYTHON[type_value]
        if found is not None:
            return found
        if type_value is None:
            raise TypeError  # NumPy takes None for float64
        numpy_dtype = np.dtype(type_value)
    except (TypeError, ValueError):
        inner = getattr(type_value, "dtype", None)
        if isinstance(inner, DType):
            return inner
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.") from None
    found = _BY_NUMPY.get(numpy_dtype)
    if found is None and (numpy_dtype.kind in "SU" or numpy_dtype.hasobject):
        found = string
    if found is None:
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
    return found


def from_numpy(numpy_dtype: np.dtype[Any]) -> DType:
    """Returns the DType of a NumPy array's dtype; strings of any kind are `string`."""
    found = _BY_NUMPY.get(numpy_dtype)
    return found if found is not None else as_dtype(numpy_dtype)
