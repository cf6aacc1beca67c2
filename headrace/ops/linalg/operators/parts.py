"""What operators are made of: tensors, variables that are kept as they are, and other operators."""

from __future__ import annotations

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor


def is_kept(value):
    """Whether a value is a variable, which is read anew each time the operator is used."""
    kind = NAMES.get("Variable")
    return kind is not None and isinstance(value, kind)


def kept(value, dtype=None, name=None):
    """Returns a variable as it is and anything else as a tensor."""
    return value if is_kept(value) else convert_to_tensor(value, dtype=dtype, name=name)


class Parts:
    """The variables and operators inside an operator, found through its attributes."""

    @property
    def variables(self):
        """The variables that the operator is made from."""
        return tuple(self._found(is_kept))

    @property
    def trainable_variables(self):
        """The variables that the operator is made from and optimizers change."""
        return tuple(v for v in self.variables if getattr(v, "trainable", True))

    @property
    def submodules(self):
        """The operators that the operator is made from."""
        return tuple(self._found(lambda value: isinstance(value, Parts)))

    def _found(self, wanted):
        out, seen, todo = [], {id(self)}, [self]
        while todo:
            # Breadth first, an operator's attributes by name.
            owner = todo.pop(0)
            for value in _leaves([v for k, v in sorted(vars(owner).items()) if k != "_graph_parents"]):
                if id(value) in seen:
                    continue
                if wanted(value):
                    seen.add(id(value))
                    out.append(value)
                if isinstance(value, Parts):
                    seen.add(id(value))
                    todo.append(value)
        return out

    @property
    def name_scope(self):
        """A scope of the operator's name."""
        return name_scope(self.name)

    @classmethod
    def with_name_scope(cls, method):
        """Makes a method of a subclass that adds its nodes under the operator's name.

        Args:
          method: The method.
        """

        def scoped(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)

        scoped.__name__, scoped.__doc__ = method.__name__, method.__doc__
        return scoped


def _leaves(value):
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _leaves(value[key])
    else:
        yield value
