"""RandomGamma and RandomPoissonV2, on the host only, with their public wrappers."""

from __future__ import annotations

import math

import numpy as np

from headrace.dtypes import as_dtype, float32, int32
from headrace.export import NAMES
from headrace.graph.default import control_dependencies, name_scope
from headrace.graph.seeds import get_seed
from headrace.lazy import jnp, lax
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.ops.random import rejection
from headrace.ops.random.distributions import reserved_blocks
from headrace.ops.random.operands import INDEX, shape_tensor, static_dims
from headrace.shapes import broadcasted, concatenate, with_rank

RandomGamma = op(f"""
    RandomGamma(shape: S, alpha: T) -> (output: T)
      seed: int = 0
      seed2: int = 0
      S: {INDEX}
      T: {{half, float, double}}
      stateful

    Gamma numbers of unit scale: `shape` of them for each `alpha`.
""")  # fmt: skip

RandomPoissonV2 = op(f"""
    RandomPoissonV2(shape: S, rate: R) -> (output: dtype)
      seed: int = 0
      seed2: int = 0
      S: {INDEX}
      R: {{half, float, double, int32, int64}} = double
      dtype: {{half, float, double, int32, int64}} = int64
      stateful

    Poisson numbers: `shape` of them for each `rate`.
""")  # fmt: skip


@RandomGamma.shape
@RandomPoissonV2.shape
def samples_shape(shape, parameters, *, ctx):
    with_rank(shape, 1)
    return concatenate(ctx.as_shape("shape"), parameters)


@RandomGamma.host
def random_gamma_host(shape, alpha, *, ctx):
    return _sampled(rejection.gamma, shape, alpha, alpha.dtype, ctx)


@RandomPoissonV2.host
def random_poisson_host(shape, rate, *, dtype, ctx):
    return _sampled(rejection.poisson, shape, rate, dtype.storage, ctx)


def _sampled(generate, shape, parameters, dtype, ctx):
    dims = static_dims(shape)
    samples = math.prod(dims)
    key, counter = ctx.random(reserved_blocks(samples * parameters.size))
    numbers = generate(key, counter, samples, parameters.reshape(-1))
    if np.dtype(dtype).kind in "iu":
        numbers = np.where(
            np.isnan(numbers), 0, numbers
        )  # an improper rate gives NaN, which integers have not
    return numbers.astype(dtype).reshape(dims + parameters.shape)


@RandomGamma.grad
def random_gamma_grad(op, dy):
    shape, alpha = op.inputs
    with control_dependencies([dy]):
        # Alpha gets a leading axis of length one for each axis of `shape`, so that it lines up with the samples.
        n = NAMES["shape"](shape)[0]
        ones = NAMES["ones"]([n], dtype=int32)
        lifted = NAMES["reshape"](alpha, NAMES["concat"]([ones, NAMES["shape"](alpha)], 0))
        partial = raw.RandomGammaGrad(lifted, op.outputs[0])
        return None, raw.Sum(raw.Mul(dy, partial, name="mul"), NAMES["range"](0, n))


RandomGammaGrad = op("""
    RandomGammaGrad(alpha: T, sample: T) -> (output: T)
      T: {float, double}

    The derivative of gamma numbers with respect to their shape parameter, at fixed randomness.
""", shape=broadcasted)  # fmt: skip


@RandomGammaGrad.lower
def random_gamma_grad_lower(alpha, sample):
    return lax.random_gamma_grad(*jnp.broadcast_arrays(alpha, sample))


@RandomGammaGrad.cases
def random_gamma_grad_cases(case):
    case([[0.5], [2.0]], [0.2, 1.0], gives=[[0.79405046, 1.8782471], [0.27341026, 0.7507786]], tol=1e-5)
    case(np.float64([0.0, 1.0]), np.float64([1.0, 0.0]), gives=np.float64([np.nan, 0.0]))
    case.shapes("[2,1];[?]", "[2,?]")
    case.fails("[2];[3]", match="Dimensions must be equal, but are 2 and 3")


@RandomGamma.cases
def random_gamma_cases(case):
    case(
        np.array([2], np.int32),
        np.array([0.5, 3.0]),
        seed=1,
        seed2=2,
        grad=False,
        gives=[[0.014439557851346523, 2.840017654526287], [0.19106529193912436, 2.1944669845681055]],
        tol=1e-9,
    )
    case.shapes("[1];[2]", "[?,2]")
    case.shapes("[1];?", "?")
    case.fails("[1,1];[]", match="must be rank 1")


RandomPoisson = op(f"""
    RandomPoisson(shape: S, rate: dtype) -> (output: dtype)
      seed: int = 0
      seed2: int = 0
      S: {INDEX}
      dtype: {{half, float, double}}
      stateful
      deprecated 25

    Poisson numbers of the type of the rates: the first version of RandomPoissonV2.
""", shape=samples_shape)  # fmt: skip


@RandomPoisson.host
def random_poisson_v1_host(shape, rate, *, dtype, ctx):
    return _sampled(rejection.poisson, shape, rate, dtype.storage, ctx)


@RandomPoisson.cases
def random_poisson_v1_cases(case):
    case(
        np.array([2], np.int32),
        np.array([3.0, 40.0]),
        seed=1,
        seed2=2,
        gives=np.array([[2.0, 34.0], [2.0, 36.0]]),
    )
    case.shapes("[1];[2]", "[?,2]")


@RandomPoissonV2.cases
def random_poisson_cases(case):
    shape = np.array([2], np.int32)
    case(
        shape,
        np.array([3.0, 40.0]),
        seed=1,
        seed2=2,
        dtype="int32",
        gives=np.array([[2, 34], [2, 36]], np.int32),
    )
    case.shapes("[1];[2]", "[?,2]")
    case.fails("[1,1];[]", match="must be rank 1")


@export("random.gamma", "random_gamma")
def random_gamma(shape, alpha, beta=None, dtype=float32, seed=None, name=None):
    """Returns gamma numbers: `shape` of them for each pair of alpha and beta.

    Args:
      shape: The shape of the samples of one distribution.
      alpha: The shape parameters of the distributions.
      beta: The inverse scales, which broadcast against `alpha`; 1 if None.
      dtype: float16, float32 or float64.
      seed: The op-level seed; see `tf.set_random_seed`.
      name: A name for the operation.

    Returns:
      A tensor of shape `shape` + the broadcast shape of `alpha` and `beta`.
    """
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        shape = shape_tensor(shape)
        alpha = convert_to_tensor(alpha, dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, name="beta")
        # Alpha takes on the shape that it and beta broadcast to.
        alpha = raw.AddV2(alpha, NAMES["zeros_like"](beta), name="add")
        seed, seed2 = get_seed(seed)
        numbers = raw.RealDiv(RandomGamma(shape, alpha, seed=seed, seed2=seed2), beta, name="truediv")
        # Small alphas underflow, and the density at zero is no good to anybody.
        return raw.Maximum(np.finfo(as_dtype(dtype).storage).tiny, numbers)


@export("random.poisson", "random_poisson")
def random_poisson(lam, shape, dtype=float32, seed=None, name=None):
    """Returns Poisson numbers: `shape` of them for each rate.

    Args:
      lam: The rates.
      shape: The shape of the samples of one distribution.
      dtype: float16, float32, float64, int32 or int64.
      seed: The op-level seed; see `tf.set_random_seed`.
      name: A name for the operation.

    Returns:
      A tensor of shape `shape` + the shape of `lam`.
    """
    with name_scope(name, "random_poisson", [lam, shape]):
        shape = shape_tensor(shape)
        seed, seed2 = get_seed(seed)
        return RandomPoissonV2(shape, lam, dtype=dtype, seed=seed, seed2=seed2)
