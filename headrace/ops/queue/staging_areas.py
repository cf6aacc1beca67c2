"""StagingArea and MapStagingArea: the classes around the ops of staging areas."""

from __future__ import annotations

from headrace.dtypes import as_dtype
from headrace.export import NAMES, export
from headrace.graph import colocate_with, get_default_graph, name_scope
from headrace.opdef import raw
from headrace.tensor_shape import TensorShape


class BaseStagingArea:
    """What both kinds of staging area share.

    Args:
      dtypes: The types of a tuple's tensors.
      shapes: Their shapes; None for unknown ones.
      names: Their names; with names, tuples are dictionaries.
      shared_name: A name under which other graphs of the session find the same area; by default one of its own.
      capacity: How many tuples it holds, 0 for any number.
      memory_limit: How many bytes it holds, 0 for any number.

    Raises:
      ValueError: There are not as many shapes or names as types.
    """

    def __init__(self, dtypes, shapes=None, names=None, shared_name=None, capacity=0, memory_limit=0):
        if shared_name is None:
            self._name = get_default_graph().unique_name(type(self).__name__)
        else:
            self._name = shared_name
        self._dtypes = [as_dtype(t) for t in dtypes]
        if shapes is not None:
            if len(shapes) != len(dtypes):
                raise ValueError("StagingArea shapes must be the same length as dtypes")
            self._shapes = [TensorShape(s) for s in shapes]
        else:
            self._shapes = [TensorShape(None) for _ in self._dtypes]
        if names is not None and len(names) != len(dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._names = names or None
        self._capacity = capacity
        self._memory_limit = memory_limit
        with name_scope(f"{self._name}_root"):
            self._coloc_op = NAMES["no_op"]()

    @property
    def name(self):
        """The area's name."""
        return self._name

    @property
    def dtypes(self):
        """The types of a tuple's tensors."""
        return self._dtypes

    @property
    def shapes(self):
        """Their shapes."""
        return self._shapes

    @property
    def names(self):
        """Their names, None where tuples are no dictionaries."""
        return self._names

    @property
    def capacity(self):
        """How many tuples the area holds, 0 for any number."""
        return self._capacity

    @property
    def memory_limit(self):
        """How many bytes the area holds, 0 for any number."""
        return self._memory_limit

    def _area(self):
        """Returns the attrs that all of the area's nodes have."""
        return {
            "shared_name": self._name,
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
        }

    def _check_put(self, vals, indices=None):
        """Returns the tensors to be put in, and their places in the tuple.

        Raises:
          ValueError: They do not fit.
        """
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            unknown = set(vals).difference(self._names)
            if unknown:
                raise ValueError(
                    f"Keys in dictionary to put do not match names of staging area. Dictionary: ({sorted(vals)}), "
                    f"Queue: ({sorted(self._names)})"
                )
            indices = [i for i, n in enumerate(self._names) if n in vals]
            vals = [vals[self._names[i]] for i in indices]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            if len(indices) != len(vals):
                raise ValueError(
                    f"Number of indices '{len(indices)}' doesn't match number of values '{len(vals)}'"
                )
            if not isinstance(vals, (list, tuple)):
                vals = [vals]
                indices = [0]
        if len(vals) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs '{len(vals)}' vs '{len(self._dtypes)}'")
        tensors = []
        for value, i in zip(vals, indices, strict=True):
            dtype, shape = self._dtypes[i], self._shapes[i]
            if value.dtype != dtype:
                raise ValueError(f"Datatypes do not match. '{value.dtype}' != '{dtype}'")
            value.get_shape().assert_is_compatible_with(shape)
            tensors.append(value)
        return tensors, indices

    def _as_read(self, tensors, indices):
        """Returns tensors that came out, moved to where the caller is, in the form in which tuples are."""
        if NAMES["no_op"]().device != self._coloc_op.device:
            tensors = [NAMES["identity"](t) for t in tensors]
        for tensor, i in zip(tensors, indices, strict=True):
            tensor.set_shape(self._shapes[i])
        if self._names:
            return {self._names[i]: t for t, i in zip(tensors, indices, strict=True)}
        return list(tensors)


def _listed(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


@export("python.ops.data_flow_ops.StagingArea")
class StagingArea(BaseStagingArea):
    """Tuples of tensors that steps leave for later steps, which get them in the same order.

    Args:
      dtypes: The types of a tuple's tensors.
      shapes: Their shapes; None for unknown ones.
      names: Their names; with names, tuples are dictionaries.
      shared_name: A name under which other graphs of the session find the same area; by default one of its own.
      capacity: How many tuples it holds, 0 for any number.
      memory_limit: How many bytes it holds, 0 for any number.
    """

    def put(self, values, name=None):
        """Returns an operation that puts a tuple in, once there is room.

        Args:
          values: A tensor, a list of tensors, or a dictionary if the area has names.
          name: The operation's name.

        Raises:
          ValueError: They do not fit.
        """
        with name_scope(name, f"{self._name}_put", _scope_values(values)) as scope:
            if not isinstance(values, (list, tuple, dict)):
                values = [values]
            tensors, _ = self._check_put(values, list(range(len(values))))
            with colocate_with(self._coloc_op):
                return raw.Stage(tensors, name=scope, **self._area())

    def get(self, name=None):
        """Returns the tensors of the first tuple, which is taken out once there is one.

        Args:
          name: The operation's name.

        Returns:
          A list of tensors, or a dictionary if the area has names.
        """
        name = name or f"{self._name}_get"
        with colocate_with(self._coloc_op):
            tensors = _listed(raw.Unstage(dtypes=self._dtypes, name=name, **self._area()))
        return self._as_read(tensors, range(len(self._dtypes)))

    def peek(self, index, name=None):
        """Returns the tensors of a tuple that stays in the area, once it is there.

        Args:
          index: Which, a scalar int32.
          name: The operation's name.
        """
        name = name or f"{self._name}_peek"
        with colocate_with(self._coloc_op):
            tensors = _listed(raw.StagePeek(index, dtypes=self._dtypes, name=name, **self._area()))
        return self._as_read(tensors, range(len(self._dtypes)))

    def size(self, name=None):
        """Returns how many tuples are in the area."""
        return raw.StageSize(dtypes=self._dtypes, name=name or f"{self._name}_size", **self._area())

    def clear(self, name=None):
        """Returns an operation that throws all tuples away."""
        return raw.StageClear(dtypes=self._dtypes, name=name or f"{self._name}_clear", **self._area())


def _scope_values(values):
    if isinstance(values, dict):
        return values.values()
    return values if isinstance(values, (list, tuple)) else [values]


@export("python.ops.data_flow_ops.MapStagingArea")
class MapStagingArea(BaseStagingArea):
    """Tuples of tensors under keys, which may be put in and taken out part by part.

    Args:
      dtypes: The types of a tuple's tensors.
      shapes: Their shapes; None for unknown ones.
      names: Their names; with names, tuples are dictionaries.
      shared_name: A name under which other graphs of the session find the same area; by default one of its own.
      ordered: Whether the tuple of the least key comes out first where no key is asked for.
      capacity: How many complete tuples it holds, 0 for any number.
      memory_limit: How many bytes it holds, 0 for any number.
    """

    def __init__(
        self, dtypes, shapes=None, names=None, shared_name=None, ordered=False, capacity=0, memory_limit=0
    ):
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "OrderedMap" if ordered else "Map"

    def _call(self, which, /, *operands, **attrs):
        return getattr(raw, self._prefix + which)(*operands, **attrs, **self._area())

    def put(self, key, vals, indices=None, name=None):
        """Returns an operation that puts a tuple, or parts of one, in; a complete one waits for room.

        Args:
          key: A scalar int64.
          vals: A list of tensors, or a dictionary if the area has names.
          indices: The places of the tensors of a list.
          name: The operation's name.

        Raises:
          ValueError: They do not fit.
        """
        with name_scope(name, f"{self._name}_put", _scope_values(vals)) as scope:
            tensors, indices = self._check_put(vals, indices)
            with colocate_with(self._coloc_op):
                return self._call("Stage", key, indices, tensors, dtypes=self._dtypes, name=scope)

    def _places(self, indices):
        """Returns places in the tuple: all, or those of some names or numbers.

        Raises:
          ValueError: There is no such name, or nothing is asked for.
        """
        if indices is None:
            return list(range(len(self._dtypes)))
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(i, str) for i in indices):
            if self._names is None:
                raise ValueError(
                    f"String indices provided '{indices}', but this Staging Area was not created with names."
                )
            unknown = [i for i in indices if i not in self._names]
            if unknown:
                raise ValueError(f"Named index '{unknown[0]}' not in Staging Area names '{self._names}'")
            return [self._names.index(i) for i in indices]
        if all(isinstance(i, int) for i in indices):
            return list(indices)
        raise TypeError(f"Mixed types in indices '{indices}'. May only be str or int")

    def get(self, key=None, indices=None, name=None):
        """Returns a key and tensors of its tuple, which are taken out once the tuple is complete.

        Args:
          key: A scalar int64; None for any key.
          indices: The names or places of the tensors; None for all.
          name: The operation's name.

        Returns:
          A pair: the key, and a list of tensors or a dictionary.
        """
        if key is None:
            return self._pop_any(indices, name)
        places = self._places(indices)
        name = name or f"{self._name}_get"
        with colocate_with(self._coloc_op):
            tensors = _listed(
                self._call("Unstage", key, places, dtypes=[self._dtypes[i] for i in places], name=name)
            )
        return key, self._as_read(tensors, places)

    def _pop_any(self, indices, name):
        places = self._places(indices)
        name = name or f"{self._name}_get_nokey"
        with colocate_with(self._coloc_op):
            key, values = self._call(
                "UnstageNoKey", places, dtypes=[self._dtypes[i] for i in places], name=name
            )
        if NAMES["no_op"]().device != self._coloc_op.device:
            key = NAMES["identity"](key)
        return key, self._as_read(_listed(values), places)

    def peek(self, key, indices=None, name=None):
        """Returns tensors of a key's tuple, which stay in the area, once the tuple is complete.

        Args:
          key: A scalar int64.
          indices: The names or places of the tensors; None for all.
          name: The operation's name.
        """
        places = self._places(indices)
        name = name or f"{self._name}_pop"
        with colocate_with(self._coloc_op):
            tensors = _listed(
                self._call("Peek", key, places, dtypes=[self._dtypes[i] for i in places], name=name)
            )
        return self._as_read(tensors, places)

    def size(self, name=None):
        """Returns how many complete tuples are in the area."""
        return self._call("Size", dtypes=self._dtypes, name=name or f"{self._name}_size")

    def incomplete_size(self, name=None):
        """Returns how many incomplete tuples are in the area."""
        return self._call("IncompleteSize", dtypes=self._dtypes, name=name or f"{self._name}_incomplete_size")

    def clear(self, name=None):
        """Returns an operation that throws all tuples away."""
        return self._call("Clear", dtypes=self._dtypes, name=name or f"{self._name}_clear")
