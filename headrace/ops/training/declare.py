"""One optimizer as a row: its ops for references and resources, dense and sparse, from one formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from headrace import errors, shapes
from headrace.lazy import jax, jnp, lax
from headrace.native import rows as native
from headrace.native import updates as in_place
from headrace.opdef import Op, constant_value, op


class Words:
    """How one op's kernel words its refusals, where that is not regular."""

    def __init__(self, names: dict[str, str], conditions: dict[str, str]):
        self.names = names
        self.conditions = conditions

    def same_shape(self, name: str, var: Any, other: Any) -> None:
        if tuple(var) != tuple(other):
            _refuse(
                f"var and {self.names.get(name, name)} do not have the same shape"
                f"{shapes.to_text(tuple(var))} {shapes.to_text(tuple(other))}"
            )

    def scalar(self, name: str, value: Any) -> None:
        if value.ndim:
            _refuse(self._text(name, value))

    def _text(self, name: str, value: Any) -> str:
        kind = _KINDS[self.conditions.get(name, "")]
        label = self.names.get(name, _REGULAR.get(name, name))
        # A label that ends with a space stands for the kernels that put one before the colon.
        colon = " :" if label[-1] == " " else ":"
        return f"{label.strip()} is not {kind} scalar{colon} {shapes.to_text(value.shape)}"

    def values(self, ctx: Any, operands: dict[str, Any], positions: dict[str, int]) -> None:
        """Refuses scalars of a wrong sign."""
        for name, condition in self.conditions.items():
            value = operands.get(name)
            if value is None or not condition:
                continue
            ok = _HOLDS[condition](value)
            known = constant_value(ctx.op.inputs[positions[name]])
            # A value known beforehand is checked beforehand: a check inside a step costs its in-place updates.
            if known is not None:
                ok = _HOLDS[condition](known)
                if not ok:
                    _refuse(self._text(name, value))
            else:
                ctx.check(ok, self._text(name, value))


_HOLDS: dict[str, Callable[[Any], Any]] = {
    ">0": lambda x: x > 0,
    ">=0": lambda x: x >= 0,
    "<=0": lambda x: x <= 0,
}
_KINDS = {"": "a", ">0": "a positive", ">=0": "a non-negative", "<=0": "a non-positive"}
_REGULAR = {
    "l1": "l1 regularization strength",
    "l2": "l2 regularization strength",
    "l2_shrinkage": "l2 shrinkage regularization strength",
}


def _refuse(message: str) -> None:
    raise errors.InvalidArgumentError(None, None, message)


def optimizer(
    name: str,
    formula: Callable[..., Any],
    *,
    slots: str = "",
    dense: str = "",
    sparse: str = "",
    sparse_formula: Callable[..., Any] | None = None,
    attrs: str = "",
    forms: str = "ref resource sparse",
    doc: str,
    words: dict[str, str] | None = None,
    sparse_words: dict[str, str] | None = None,
    conditions: dict[str, str] | None = None,
    cases: Callable[..., None] | None = None,
) -> list[Op]:
    """Declares the ops of one optimizer.

    Args:
      name: What follows `Apply` in the ops' names.
      formula: See `headrace.ops.training.formulas`.
      slots: The slots' names.
      dense: The other operands of the dense ops, in order; `delta` or `grad` is the gradient.
      sparse: Those of the sparse ops, in order, with `grad` and `indices`.
      sparse_formula: The formula for rows, where it differs.
      attrs: More bool attrs with their defaults: `use_nesterov=false`.
      forms: Which there are of ref, resource, sparse.
      doc: What the ops do, in a sentence.
      words: What the kernels call an operand in messages, where that is not its name.
      sparse_words: The same for the sparse kernels, where these differ.
      conditions: Operand -> ">0", ">=0" or "<=0", where the kernels check.
      cases: The cases, called as `cases(case, op)`.
    """
    made = []
    for is_sparse in (False, True) if sparse else (False,):
        operands = (sparse if is_sparse else dense).split()
        compute = sparse_formula if is_sparse and sparse_formula is not None else formula
        names = dict(words or {}, **(sparse_words or {})) if is_sparse else dict(words or {})
        said = Words(names, conditions or {})
        for resource in (False, True):
            if ("resource" if resource else "ref") not in forms.split():
                continue
            full = ("Resource" if resource else "") + ("Sparse" if is_sparse else "") + "Apply" + name
            made.append(
                _declare(full, compute, slots.split(), operands, attrs, doc, said, resource, is_sparse)
            )
    for each in made:
        if cases is not None:
            each.declare("cases", lambda case, each=each: cases(case, each))
    return made


def _declare(
    name: str,
    compute: Callable[..., Any],
    slots: list[str],
    operands: list[str],
    attrs: str,
    doc: str,
    words: Words,
    resource: bool,
    sparse: bool,
) -> Op:
    states = ["var", *slots]
    types = {"indices": "Tindices", "global_step": "int64"}
    arguments = [f"{s}: {'resource' if resource else 'Ref(T)'}" for s in states]
    arguments += [f"{o}: {types.get(o, 'T')}" for o in operands]
    lines = [f"{name}({', '.join(arguments)}) -> ({'' if resource else 'out: Ref(T)'})", "  T: {numbertype}"]
    lines += ["  Tindices: {int32, int64}"] if sparse else []
    lines += ["  use_locking: bool = false"]
    flags = [attr.split("=") for attr in attrs.split()]
    lines += [f"  {attr}: bool = {default}" for attr, default in flags]
    made = op("\n".join([*lines, "", doc]))
    positions = {o: len(states) + i for i, o in enumerate(operands)}
    gradient = "delta" if "delta" in operands else "grad"
    scalars = [o for o in operands if o not in (gradient, "indices")]
    kernel = name.rpartition("Apply")[2]

    def shape(*found: Any, ctx: Any) -> Any:
        if resource:
            held = [ctx.handle(s) for s in states]
            var, *rest = [data[0][1] if data else None for data in held]
        else:
            var, *rest = found[: len(states)]
        for each in rest:
            var = shapes.merge(var, each)
        named = dict(zip(operands, found[len(states) :], strict=True))
        before, after = _around(operands, gradient, scalars)
        for each in before:
            shapes.with_rank(named[each], 0)
        if sparse:
            var = _merge_rows(var, named[gradient], named["indices"])
        else:
            var = shapes.merge(var, named[gradient])
        for each in after:
            shapes.with_rank(named[each], 0)
        return [] if resource else var

    def rule(xp: Any) -> Callable[..., Any]:
        def run(*found: Any, ctx: Any, **flags: Any) -> Any:
            handles = found[: len(states)]
            named = dict(zip(operands, found[len(states) :], strict=True))
            values = [ctx.read(h) for h in handles]
            _check(words, states, values, scalars, named, gradient, sparse)
            words.values(ctx, named, positions)
            if sparse:
                indices = named.pop("indices")
                grad = named.pop(gradient)
                update = lambda rows, g: compute(  # noqa: E731
                    xp, *rows, **named, **{_gradient_name(compute): g}, **flags
                )
                if xp is np:
                    del values
                    numbers = [named[s] for s in scalars]
                    known = _Known(kernel, numbers, any(flags.values()))
                    _rows_host(handles[: len(states)], indices, grad, update, known, ctx)
                    return () if resource else handles[0]
                new = _rows_lower(values, indices, grad, update, ctx, positions["indices"])
            elif xp is np and in_place.can_update_whole(kernel, values, named[gradient]):
                del values
                grad = named[gradient]
                own = [ctx.own(h) for h in handles]
                if all(v.flags.c_contiguous and v is not grad for v in own) and len(set(map(id, own))) == len(
                    own
                ):
                    numbers = [named[s] for s in scalars]
                    in_place.update_whole(kernel, own, grad, numbers, any(flags.values()))
                    return () if resource else handles[0]
                values = own
                new = compute(xp, *values, **named, **flags)
            else:
                new = compute(xp, *values, **named, **flags)
            for handle, value, old in zip(handles, new, values, strict=True):
                if value is not old:
                    ctx.write(handle, xp.asarray(value, old.dtype))
            return () if resource else handles[0]

        # The rule asks for its attrs by name.
        return _with_attrs(run, [attr for attr, _ in flags])

    made.declare("shape", shape)
    made.declare("host", rule(np))
    made.declare("lower", rule(jnp))
    return made


def _gradient_name(compute: Callable[..., Any]) -> str:
    return "delta" if "delta" in compute.__code__.co_varnames else "grad"


def _with_attrs(run: Callable[..., Any], attrs: list[str]) -> Callable[..., Any]:
    """Gives a rule the signature by which it receives `attrs` and `ctx`."""
    if not attrs:
        return lambda *operands, ctx: run(*operands, ctx=ctx)
    if attrs == ["use_nesterov"]:
        return lambda *operands, use_nesterov, ctx: run(*operands, ctx=ctx, use_nesterov=use_nesterov)
    return lambda *operands, update_slots, ctx: run(*operands, ctx=ctx, update_slots=update_slots)


def _around(operands: list[str], gradient: str, scalars: list[str]) -> tuple[list[str], list[str]]:
    """Splits the scalars into those before the gradient and those after it."""
    at = operands.index(gradient)
    return [s for s in scalars if operands.index(s) < at], [s for s in scalars if operands.index(s) > at]


def _merge_rows(var: Any, grad: Any, indices: Any) -> Any:
    count = shapes.with_rank(indices, 1)[0]
    if grad is None:
        return var
    grad = shapes.with_rank_at_least(grad, 1)
    rows = grad[0]
    if count is not None and rows is not None and count != rows:
        raise ValueError(f"Dimensions must be equal, but are {count} and {rows}")
    merged = shapes.merge(var, (None, *grad[1:]))
    return merged


def _check(
    words: Words,
    states: Iterable[str],
    values: list[Any],
    scalars: list[str],
    named: dict[str, Any],
    gradient: str,
    sparse: bool,
) -> None:
    """Refuses operands whose shapes do not fit."""
    var = values[0]
    for name, value in zip(states, values, strict=True):
        words.same_shape(name, var.shape, value.shape)
    if sparse:
        if var.ndim < 1:
            _refuse("var must be at least 1 dimensional")
        if named["indices"].ndim != 1:
            _refuse("indices must be one-dimensional")
    for name in scalars:
        words.scalar(name, named[name])
    grad = named[gradient]
    if not sparse:
        words.same_shape(gradient, var.shape, grad.shape)
        return
    for axis in range(1, var.ndim):
        if axis >= grad.ndim or grad.shape[axis] != var.shape[axis]:
            _refuse(f"var and grad must match in dimension {axis}")
    if grad.shape[0] != named["indices"].shape[0]:
        _refuse("grad must be the same size as indices in the first dimension.")


# -- rows ----------------------------------------------------------------------------------------------------


def _rounds(indices: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns for each index how many equal ones come before it."""
    order = np.argsort(indices, kind="stable")
    ordered = indices[order]
    place = np.arange(len(ordered))
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    out = np.empty(len(ordered), np.int64)
    out[order] = place - np.maximum.accumulate(np.where(first, place, 0))
    return out


class _Known(NamedTuple):
    """What the native library is told of an update.

    Attributes:
      name: The optimizer.
      scalars: Its scalars in the order of the op's operands.
      flag: Its one attr, if it has one.
    """

    name: str
    scalars: list[Any]
    flag: bool


def _rows_host(handles: Any, indices: Any, grad: Any, update: Any, known: _Known, ctx: Any) -> None:
    n = ctx.read(handles[0]).shape[0]
    at = in_place.first_outside(indices, n)
    if at is None:
        bad = (indices < 0) | (indices >= n)
        at = int(np.argmax(bad)) if bad.any() else -1
    if at >= 0:
        _refuse(f"Index {indices[at]} at offset {at} in indices is out of range")
    new = [ctx.own(handle) for handle in handles]
    if in_place.update_rows(known.name, new, indices, grad, known.scalars, known.flag):
        return
    distinct = native.distinct(indices, np.int32)
    if distinct is not None and len(distinct[0]) == len(indices):
        for whole, rows in zip(new, update([np.take(v, indices, 0) for v in new], grad), strict=True):
            whole[indices] = rows
        return
    # Rows named twice are updated twice, one after the other.
    turn = _rounds(indices)
    for r in range(int(turn.max()) + 1 if len(turn) else 0):
        mine = turn == r
        at = indices[mine]
        for whole, rows in zip(new, update([v[at] for v in new], grad[mine]), strict=True):
            whole[at] = rows


def _rows_lower(values: Any, indices: Any, grad: Any, update: Any, ctx: Any, position: int) -> Any:
    n = values[0].shape[0]
    count = indices.shape[0]
    known = constant_value(ctx.op.inputs[position])
    if known is None:
        ctx.check((indices >= 0) & (indices < n), "an index is out of range")
    elif ((known < 0) | (known >= n)).any():
        _refuse("an index is out of range")
    if count == 0:
        return values
    turns = None if known is None else _rounds(known)
    if turns is not None and not turns.any():
        return _round(values, indices, grad, update, True)
    if turns is None:
        order = jnp.argsort(indices, stable=True)
        ordered = indices[order]
        place = jnp.arange(count)
        first = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
        turn = jnp.zeros(count, place.dtype)
        turn = turn.at[order].set(place - lax.cummax(jnp.where(first, place, 0)), unique_indices=True)
    else:
        turn = jnp.asarray(turns)
    # Those that wait for another round point behind the end, each elsewhere, and are dropped.
    behind = n + jnp.arange(count)

    def one(state: Any) -> Any:
        r, *rows = state
        at = jnp.where(turn == r, indices, behind)
        return (r + 1, *_round(rows, at, grad, update, True))

    last = jnp.max(turn)
    _, *new = jax.lax.while_loop(lambda state: state[0] <= last, one, (jnp.zeros((), turn.dtype), *values))
    return new


def _round(values: Any, at: Any, grad: Any, update: Any, unique: bool) -> list[Any]:
    rows = update([v.at[at].get(mode="clip") for v in values], grad)
    return [
        v.at[at].set(r.astype(v.dtype), mode="drop", unique_indices=unique)
        for v, r in zip(values, rows, strict=True)
    ]
