"""The canonical error codes as exceptions, under TensorFlow's names.

OpError
├── CancelledError            1
├── UnknownError              2
├── InvalidArgumentError      3
├── DeadlineExceededError     4
├── NotFoundError             5
├── AlreadyExistsError        6
├── PermissionDeniedError     7
├── ResourceExhaustedError    8
├── FailedPreconditionError   9
├── AbortedError             10
├── OutOfRangeError          11
├── UnimplementedError       12
├── InternalError            13
├── UnavailableError         14
├── DataLossError            15
└── UnauthenticatedError     16

A rule of an op raises one of these (or ValueError, TypeError) with one short sentence; the place that ran the
rule adds the node, the shapes and the user's own line.
"""

from __future__ import annotations

from typing import Any

from headrace.export import export, export_value

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

for _name in (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED "
    "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE "
    "DATA_LOSS UNAUTHENTICATED"
).split():
    export_value("errors." + _name, globals()[_name])


@export("errors.OpError", "OpError")
class OpError(Exception):
    """A failure while a graph runs, with the operation it happened in.

    Args:
      node_def: The NodeDef of the operation, or None.
      op: The Operation, or None where it is not known (graph functions, servers).
      message: What went wrong.
      error_code: One of the constants of this module.
    """

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int):
        super().__init__(node_def, op, message)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code

    @property
    def message(self) -> str:
        return self._message

    @property
    def op(self) -> Any:
        """The operation that failed, or None where it is not known."""
        return self._op

    @property
    def node_def(self) -> Any:
        return self._node_def() if callable(self._node_def) else self._node_def

    @property
    def error_code(self) -> int:
        return self._error_code

    def __str__(self) -> str:
        return self._message

    def __reduce__(self) -> Any:
        # Operations hold the whole graph and do not travel; the message already names the node.
        return (_rebuild, (type(self), self._message, self._error_code))


def _rebuild(cls: type, message: str, code: int) -> OpError:
    return cls(None, None, message, code) if cls is OpError else cls(None, None, message)


_BY_CODE: dict[int, type[OpError]] = {}


def _canonical(code: int, name: str, doc: str) -> Any:
    def __init__(self: OpError, node_def: Any, op: Any, message: str) -> None:
        OpError.__init__(self, node_def, op, message, code)

    cls = type(name, (OpError,), {"__init__": __init__, "__doc__": doc, "__module__": __name__})
    _BY_CODE[code] = cls
    return export("errors." + name)(cls)


CancelledError = _canonical(CANCELLED, "CancelledError", "The step or its session was cancelled.")
UnknownError = _canonical(UNKNOWN, "UnknownError", "An error that no other class describes.")
InvalidArgumentError = _canonical(
    INVALID_ARGUMENT, "InvalidArgumentError", "An operation received a value it can't take."
)
DeadlineExceededError = _canonical(DEADLINE_EXCEEDED, "DeadlineExceededError", "The step's time was up.")
NotFoundError = _canonical(NOT_FOUND, "NotFoundError", "A file, tensor, node or key does not exist.")
AlreadyExistsError = _canonical(ALREADY_EXISTS, "AlreadyExistsError", "What was to be made exists already.")
PermissionDeniedError = _canonical(
    PERMISSION_DENIED, "PermissionDeniedError", "The caller may not do this, most often to a file."
)
ResourceExhaustedError = _canonical(
    RESOURCE_EXHAUSTED, "ResourceExhaustedError", "Memory, disk or another resource ran out."
)
FailedPreconditionError = _canonical(
    FAILED_PRECONDITION,
    "FailedPreconditionError",
    "The state does not allow the operation, most often because a variable is not initialized.",
)
AbortedError = _canonical(ABORTED, "AbortedError", "The operation was given up, most often for concurrency.")
OutOfRangeError = _canonical(
    OUT_OF_RANGE, "OutOfRangeError", "The end of the input (a file, a dataset, a queue) was passed."
)
UnimplementedError = _canonical(UNIMPLEMENTED, "UnimplementedError", "There is no such kernel.")
InternalError = _canonical(INTERNAL, "InternalError", "headrace broke one of its own rules.")
UnavailableError = _canonical(UNAVAILABLE, "UnavailableError", "A server cannot be reached now.")
DataLossError = _canonical(DATA_LOSS, "DataLossError", "Data is corrupt or cut short beyond repair.")
UnauthenticatedError = _canonical(
    UNAUTHENTICATED, "UnauthenticatedError", "The caller showed no valid identity."
)


@export("errors.exception_type_from_error_code")
def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Returns the exception class of a canonical error code.

    Raises:
      KeyError: There is no such code.
    """
    return _BY_CODE[error_code]


@export("errors.error_code_from_exception_type")
def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Returns the canonical error code of an exception class, UNKNOWN for any other class."""
    for code, known in _BY_CODE.items():
        if known is cls:
            return code
    return UNKNOWN


class InaccessibleTensorError(ValueError):
    """A fetch of something that its graph was told to keep to itself."""
