"""tf.debugging.assert_shapes: the sizes of several tensors, checked against each other."""

from __future__ import annotations

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor, export


@export("debugging.assert_shapes")
def assert_shapes(shapes, data=None, summarize=None, message=None, name=None):
    """Returns an operation that fails unless tensors have the sizes that symbols stand for.

    A shape is a sequence with one entry per dimension: a number; a symbol (anything hashable, such as "N"), which
    stands for the same size wherever it appears; or None or ".", which fits any size. It may begin with `...` or
    "*", which stands for any number of dimensions. A scalar counts as a vector of one element.

    Args:
      shapes: Pairs of a tensor and its shape, or a dictionary.
      data: Tensors to show in the message.
      summarize: How many elements of each to show, 3 by default.
      message: What the message begins with.
      name: The scope's name.

    Raises:
      ValueError: Sizes are known and don't fit, or a shape can't be one.
    """
    message = message or ""
    pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
    with name_scope(name, "assert_shapes", [tensor for tensor, _ in pairs] + list(data or [])):
        wanted = [_Wanted(convert_to_tensor(tensor), shape) for tensor, shape in pairs]
        for each in wanted:
            each.check_symbols(message)
        for each in wanted:
            each.find_sizes()
        asserted = []
        for each in wanted:
            asserted += each.ranked(data, summarize, message, name)
        known = {}
        for each in wanted:
            asserted += each.sized(known, data, summarize, message)
        return NAMES["group"](*asserted)


@export("compat.v2.debugging.assert_shapes")
def assert_shapes_v2(shapes, data=None, summarize=None, message=None, name=None):
    """Adds the operation of tf.debugging.assert_shapes to the graph and returns nothing.

    Args:
      shapes: Pairs of a tensor and its shape, or a dictionary.
      data: Tensors to show in the message.
      summarize: How many elements of each to show, 3 by default.
      message: What the message begins with.
      name: The scope's name.

    Raises:
      ValueError: Sizes are known and don't fit, or a shape can't be one.
    """
    assert_shapes(shapes, data=data, summarize=summarize, message=message, name=name)


def _is_any_number(symbol):
    return symbol is Ellipsis or (isinstance(symbol, str) and symbol == "*")


def _is_any_size(symbol):
    return symbol is None or (isinstance(symbol, str) and symbol == ".")


def _number(symbol):
    """Returns what a symbol says by itself, None if it is a name."""
    try:
        return int(symbol)
    except (TypeError, ValueError):
        return None


class _Wanted:
    """A tensor and the symbols for its dimensions."""

    def __init__(self, tensor, shape):
        self.tensor = tensor
        self.shape = shape

    def check_symbols(self, message):
        if not (hasattr(self.shape, "__iter__") or hasattr(self.shape, "__getitem__")):
            raise ValueError(
                f"{message}.  Tensor {self.tensor.name}.  Specified shape must be an iterable.  An iterable has the "
                f"attribute `__iter__` or `__getitem__`.  Received specified shape: {self.shape}"
            )
        symbols = list(self.shape)
        for i, symbol in enumerate(symbols):
            if i and _is_any_number(symbol):
                raise ValueError(
                    f"{message}.  Tensor {self.tensor.name} specified shape index {i}.  Symbol `...` or `*` for a "
                    "variable number of unspecified dimensions is only allowed as the first entry"
                )
        self.is_open = bool(symbols) and _is_any_number(symbols[0])
        # From the end where the beginning is open.
        first = -(len(symbols) - 1) if self.is_open else 0
        self.symbols = list(enumerate(symbols[1:] if self.is_open else symbols, first))

    def find_sizes(self):
        """Finds the sizes that are known now, and the tensors that hold the others."""
        tensor = self.tensor
        shape = NAMES["shape"](tensor)
        dims = tensor._dims
        if dims is None:
            self.sizes = NAMES["cond"](
                NAMES["equal"](NAMES["rank"](tensor), 0),
                lambda: NAMES["constant"]([1]),
                lambda: shape,
            )
        else:
            self.sizes = [shape[i] if d is None else d for i, d in enumerate(dims)] if dims else [1]

    def ranked(self, data, summarize, message, name):
        options = {"data": data, "summarize": summarize, "message": message, "name": name}
        rank = len(self.symbols)
        if self.is_open:
            if rank < 2:
                return []
            return [NAMES["debugging.assert_rank_at_least"](self.tensor, rank, **options)]
        if rank < 2:
            return [NAMES["debugging.assert_rank_in"](self.tensor, [0, 1], **options)]
        return [NAMES["debugging.assert_rank"](self.tensor, rank, **options)]

    def sized(self, known, data, summarize, message):
        tensor, asserted = self.tensor, []
        for i, symbol in self.symbols:
            if _is_any_size(symbol):
                continue
            size = self.sizes[i]
            number = _number(symbol)
            if number is not None:
                wanted, source = number, "Specified explicitly"
            elif symbol in known:
                wanted, source = known[symbol]
            else:
                known[symbol] = size, f"Specified by tensor {tensor.name} dimension {i}"
                continue
            if isinstance(size, int) and isinstance(wanted, int):
                if size != wanted:
                    raise ValueError(
                        f"{message}.  {source}.  Tensor {tensor.name} dimension {i} must have size {wanted}.  "
                        f"Received size {size}, shape {tensor.shape}"
                    )
                continue
            held = NAMES["equal"](convert_to_tensor(size), convert_to_tensor(wanted))
            shown = data
            if shown is None:
                shown = [message, source, f"Tensor {tensor.name} dimension", i, "must have size", wanted]
                shown += ["Received shape: ", NAMES["shape"](tensor)]
            asserted.append(NAMES["Assert"](held, shown, summarize=summarize))
        return asserted
