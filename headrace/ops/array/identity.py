"""Identity and its relatives: nodes that pass values on, and nodes that only order others."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.lazy import jax, jnp
from headrace.opdef import export, op, raw
from headrace.ops.array.failing import invalid, shown
from headrace.shapes import unchanged
from headrace.tensor_shape import to_tuple

Identity = op("""
    Identity(input: T) -> (output: T)
      T: type

    Passes its input on.
""", shape=unchanged)  # fmt: skip


@Identity.host
@Identity.lower(lists=True)
def identity_compute(input):
    return input


@Identity.grad
def identity_grad(op, dy):
    return dy


@Identity.cases
def identity_cases(case):
    case([1.0, 2.0], gives=[1.0, 2.0])
    case.shapes("[2,?]", "[2,?]")


IdentityN = op("""
    IdentityN(input: T) -> (output: T)
      T: list(type) >= 1

    Passes its inputs on, all at once.
""")


@IdentityN.shape
def identity_n_shape(input):
    return list(input)


@IdentityN.host
@IdentityN.lower(lists=True)
def identity_n_compute(input):
    return tuple(input)


@IdentityN.grad
def identity_n_grad(op, *dys):
    return list(dys)


@IdentityN.cases
def identity_n_cases(case):
    case(([1.0], np.int32(2)), gives=([1.0], np.int32(2)))
    case.shapes("[2];?", "[2];?")


RefIdentity = op("""
    RefIdentity(input: Ref(T)) -> (output: Ref(T))
      T: type
      allows_uninitialized_input

    Passes a reference on.
""", shape=unchanged, reads="input")  # fmt: skip


def reference_passed_on(input):
    return input


RefIdentity.host(reference_passed_on)
RefIdentity.lower(reference_passed_on)


@RefIdentity.grad
def ref_identity_grad(op, dy):
    return dy


def reference_cases(op):
    def cases(case):
        @case.program
        def a_write_goes_through(step):
            v = raw.VariableV2(shape=[2], dtype="float32")
            step(raw.Assign(op(v), [1.0, 2.0]), gives=[1.0, 2.0])
            step(op(v), gives=[1.0, 2.0])

    return cases


RefIdentity.cases(reference_cases(RefIdentity))


Snapshot = op("""
    Snapshot(input: T) -> (output: T)
      T: type

    A copy of its input.
""", shape=unchanged)  # fmt: skip


@Snapshot.host
@Snapshot.lower
def snapshot_compute(input):
    return input


@Snapshot.cases
def snapshot_cases(case):
    case([1.0], gives=[1.0])


GuaranteeConst = op("""
    GuaranteeConst(input: T) -> (output: T)
      T: type
      stateful

    Passes on an input that never changes, so the caller promises.
""", shape=unchanged)  # fmt: skip


@GuaranteeConst.host
@GuaranteeConst.lower
def guarantee_const_compute(input):
    return input


@GuaranteeConst.cases
def guarantee_const_cases(case):
    case([1.0], gives=[1.0])


DebugGradientIdentity = op("""
    DebugGradientIdentity(input: T) -> (output: T)
      T: type
      allows_uninitialized_input

    Passes its input on and marks where a debugger watches the gradient.
""", shape=unchanged)  # fmt: skip


@DebugGradientIdentity.host
@DebugGradientIdentity.lower
def debug_gradient_identity_compute(input):
    return input


@DebugGradientIdentity.cases
def debug_gradient_identity_cases(case):
    case([1.0], gives=[1.0])


DebugGradientRefIdentity = op("""
    DebugGradientRefIdentity(input: Ref(T)) -> (output: Ref(T))
      T: type
      allows_uninitialized_input

    Passes a reference on and marks where a debugger watches the gradient.
""", shape=unchanged, reads="input")  # fmt: skip

DebugGradientRefIdentity.host(reference_passed_on)
DebugGradientRefIdentity.lower(reference_passed_on)
DebugGradientRefIdentity.cases(reference_cases(DebugGradientRefIdentity))


StopGradient = op("""
    StopGradient(input: T) -> (output: T)
      T: type

    Passes its input on; no gradient flows back.
""", shape=unchanged, grad=None)  # fmt: skip


@StopGradient.host
@StopGradient.lower
def stop_gradient_compute(input):
    return input


@StopGradient.cases
def stop_gradient_cases(case):
    case([1.0], gives=[1.0])
    case.shapes("[2,?]", "[2,?]")


PreventGradient = op("""
    PreventGradient(input: T) -> (output: T)
      T: type
      message: string = ""

    Passes its input on; asking for its gradient is an error.
""", shape=unchanged)  # fmt: skip


@PreventGradient.host
@PreventGradient.lower
def prevent_gradient_compute(input):
    return input


@PreventGradient.grad
def prevent_gradient_grad(op, dy):
    raise LookupError(f"Gradient explicitly disabled. Reason: {op.get_attr('message')!r}")


@PreventGradient.cases
def prevent_gradient_cases(case):
    case([1.0], gives=[1.0], message="no way", grad=False)


CheckNumerics = op("""
    CheckNumerics(tensor: T) -> (output: T)
      T: {bfloat16, half, float, double}
      message: string
      stateful

    Passes its input on, and fails where it holds a NaN or an infinity.
""", shape=unchanged)  # fmt: skip


@CheckNumerics.host
def check_numerics_host(tensor, *, message):
    wide = tensor.astype(np.float32) if tensor.dtype.itemsize < 4 else tensor
    if not np.isfinite(wide).all():
        nan, inf = np.isnan(wide).any(), np.isinf(wide).any()
        what = "Inf and NaN" if nan and inf else "NaN" if nan else "Inf"
        invalid(f"{message} : Tensor had {what} values")
    return tensor


@CheckNumerics.lower
def check_numerics_lower(tensor, *, message, ctx):
    ctx.check(jnp.all(jnp.isfinite(tensor)), f"{message} : Tensor had NaN or Inf values")
    return tensor


@CheckNumerics.grad
def check_numerics_grad(op, dy):
    message = op.get_attr("message")
    return raw.CheckNumerics(
        dy, message=f"Not a number (NaN) or infinity (Inf) values detected in gradient. {message!r}"
    )


@CheckNumerics.cases
def check_numerics_cases(case):
    case([1.0, 2.0], message="m", gives=[1.0, 2.0])
    case.fails(([1.0, np.nan],), match="m : Tensor had NaN values", message="m")
    case.fails(([1.0, np.inf],), match="m : Tensor had Inf values", message="m")
    case.fails(([np.nan, np.inf],), match="m : Tensor had Inf and NaN values", message="m")


EnsureShape = op("""
    EnsureShape(input: T) -> (output: T)
      shape: shape
      T: type

    Passes its input on, and fails where its shape is not `shape`.
""")


@EnsureShape.shape
def ensure_shape_shape(input, *, shape):
    if input is not None and shape is not None and len(input) != len(shape):
        raise ValueError(f"Shape must be rank {len(shape)} but is rank {len(input)}")
    return shapes.merge(shape, input)


def _ensure(input, shape, ctx):
    if not shapes.compatible(input.shape, shape):
        name = ctx.op.inputs[0].op.name if ctx is not None else "input"
        invalid(
            f"Shape of tensor {name} {shown(input.shape)} is not compatible with expected shape "
            f"{shapes.to_text(shape)}."
        )
    return input


@EnsureShape.host
def ensure_shape_host(input, *, shape, ctx):
    return _ensure(input, shape, ctx)


@EnsureShape.lower
def ensure_shape_lower(input, *, shape, ctx):
    return _ensure(input, shape, ctx)


@EnsureShape.grad
def ensure_shape_grad(op, dy):
    return dy


@EnsureShape.cases
def ensure_shape_cases(case):
    case([1.0, 2.0], shape=[None], gives=[1.0, 2.0])
    case.shapes("?", "[2,?]", shape=[2, None])
    case.fails("[2]", match="Dimension 0 in both shapes must be equal, but are 3 and 2", shape=[3])


Bitcast = op("""
    Bitcast(input: T) -> (output: type)
      T: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32}
      type: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32}

    The same bits read as another type; the last dimension makes up for another width.
""")  # noqa: E501  fmt: skip


def _bitcast_shape(shape, old, new):
    """Returns the shape after reading elements of `old` bytes as elements of `new` bytes."""
    if old == new or shape is None:
        return shape
    if new < old:
        return (*shape, old // new)
    ratio = new // old
    if not shape:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    if shape[-1] not in (None, ratio):
        raise ValueError(f"Cannot bitcast due to shape. {shape[-1]} does not match {ratio}")
    return shape[:-1]


@Bitcast.shape
def bitcast_shape(input, *, T, type):
    return _bitcast_shape(input, T.storage.itemsize, type.storage.itemsize)


@Bitcast.host
def bitcast_host(input, *, type):
    try:
        shape = _bitcast_shape(input.shape, input.dtype.itemsize, type.storage.itemsize)
    except ValueError:
        invalid(f"Cannot bitcast from {input.dtype} to {type.name}: shape {shown(input.shape)}")
    return np.frombuffer(np.ascontiguousarray(input).tobytes(), type.storage).reshape(shape)


@Bitcast.lower
def bitcast_lower(input, *, type):
    _bitcast_shape(input.shape, input.dtype.itemsize, type.storage.itemsize)
    if input.dtype.kind == "c" or type.storage.kind == "c":
        return _bitcast_complex(input, type)
    return jax.lax.bitcast_convert_type(input, type.storage)


def _bitcast_complex(input, type):
    # XLA does not bitcast complex numbers; their real and imaginary parts lie side by side.
    if input.dtype == type.storage:
        return input
    if input.dtype.kind == "c":
        parts = jnp.stack([jnp.real(input), jnp.imag(input)], -1)
        if type.storage.kind == "c":
            flat = jax.lax.bitcast_convert_type(
                parts, np.dtype(np.float32 if type.storage.itemsize == 8 else np.float64)
            )
            return jax.lax.complex(flat[..., 0], flat[..., 1])
        if type.storage.itemsize == input.dtype.itemsize:
            return jax.lax.bitcast_convert_type(parts, type.storage)
        out = jax.lax.bitcast_convert_type(parts, type.storage)
        return out.reshape(*input.shape, input.dtype.itemsize // type.storage.itemsize)
    part = np.dtype(np.float32 if type.storage.itemsize == 8 else np.float64)
    bits = jax.lax.bitcast_convert_type(input, np.uint8).reshape(-1, 2, part.itemsize)
    parts = jax.lax.bitcast_convert_type(bits, part)
    shape = _bitcast_shape(input.shape, input.dtype.itemsize, type.storage.itemsize)
    return jax.lax.complex(parts[..., 0], parts[..., 1]).reshape(shape)


@Bitcast.cases
def bitcast_cases(case):
    case([1.0, -2.0], type="int32", gives=np.array([1065353216, -1073741824], np.int32))
    case([1.0], type="uint8", gives=np.array([[0, 0, 128, 63]], np.uint8))
    case(np.array([[0, 1]], np.int32), type="int64", gives=np.array([2**32]))
    case.shapes("[2,?]", "[2,?,4]", type="int8", T="float32")
    case.fails("[2,3]", match="Cannot bitcast due to shape. 3 does not match 2", type="int64", T="float32")


NoOp = op("""
    NoOp() -> ()

    Does nothing; other nodes wait for it.
""")


@NoOp.host
@NoOp.lower
def no_op_compute():
    return ()


@export("identity")
def identity(input, name=None):
    """Returns a tensor with the value of another.

    Args:
      input: The tensor.
      name: The node's name.
    """
    return raw.Identity(input, name=name)


@export("identity_n")
def identity_n(input, name=None):
    """Returns tensors with the values of others; a gradient override sees them all at once.

    Args:
      input: The tensors.
      name: The node's name.
    """
    return raw.IdentityN(input, name=name)


@export("guarantee_const")
def guarantee_const(input, name=None):
    """Returns a tensor with the value of another that, so the caller promises, never changes.

    Args:
      input: The tensor.
      name: The node's name.
    """
    return raw.GuaranteeConst(input, name=name)


@export("stop_gradient")
def stop_gradient(input, name=None):
    """Returns a tensor with the value of another, which counts as a constant in gradients.

    Args:
      input: The tensor.
      name: The node's name.
    """
    return raw.StopGradient(input, name=name)


@export("check_numerics", "debugging.check_numerics")
def check_numerics(tensor, message, name=None):
    """Returns a tensor with the value of another; a step in which it holds a NaN or an infinity fails.

    Args:
      tensor: The tensor, of floats.
      message: What the error's message begins with.
      name: The node's name.
    """
    return raw.CheckNumerics(tensor, message=message, name=name)


@export("ensure_shape")
def ensure_shape(x, shape, name=None):
    """Returns a tensor with the value of another; a step in which its shape is another one fails.

    Args:
      x: The tensor.
      shape: Its shape; None stands for any dimension.
      name: The node's name.

    Raises:
      ValueError: The static shape contradicts `shape`.
    """
    return raw.EnsureShape(x, shape=to_tuple(shape), name=name)


@export("bitcast")
def bitcast(input, type, name=None):
    """Returns the bits of a tensor read as another type.

    Args:
      input: The tensor.
      type: The other type.
      name: The node's name.

    Raises:
      ValueError: The widths differ and the last dimension does not make up for it.
    """
    return raw.Bitcast(input, type=type, name=name)
