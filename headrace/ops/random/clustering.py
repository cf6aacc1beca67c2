"""Centers of clusters: the nearest ones of points, and where to begin to look for them (k-means++ and k-MC2)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.opdef import op
from headrace.ops.random import philox
from headrace.ops.random.candidates import Draws

_MOST_RETRIES = 1_000_000


def _invalid(message: str) -> None:
    raise InvalidArgumentError(None, None, message)


def _need(value: np.ndarray, rank: int, name: str) -> None:
    if value.ndim != rank:
        _invalid(f"Input {name} should be a {('scalar', 'vector', 'matrix')[rank]}.")


def _draws(seed: np.ndarray) -> Draws:
    return Draws(*philox.state_from_seeds(int(seed), 0))


NearestNeighbors = op("""
    NearestNeighbors(points: float, centers: float, k: int64) ->
        (nearest_center_indices: int64, nearest_center_distances: float)

    The `k` centers that are nearest to each point, nearest first, with the squares of the distances.
""")


@NearestNeighbors.shape
def nearest_neighbors_shape(points, centers, k):
    return [None, None]


@NearestNeighbors.host
def nearest_neighbors_host(points, centers, k):
    _need(points, 2, "points")
    _need(centers, 2, "centers")
    _need(k, 0, "k")
    if not len(points):
        _invalid("Expected points.rows() > 0.")
    if points.shape[1] != centers.shape[1]:
        _invalid(f"Expected point_dimensions == center_dimensions: {points.shape[1]} vs {centers.shape[1]}.")
    if k < 0:
        _invalid(f"Expected k >= 0: {int(k)}.")
    count = min(int(k), len(centers))
    # Without the points' own norms, which do not change the order; a stable sort, so that ties go to the first.
    halves = 0.5 * np.sum(centers * centers, 1) - points @ centers.T
    nearest = np.argsort(halves, axis=1, kind="stable")[:, :count]
    halves = np.take_along_axis(halves, nearest, 1) + 0.5 * np.sum(points * points, 1, keepdims=True)
    return [nearest.astype(np.int64), (2 * halves).astype(np.float32)]


@NearestNeighbors.cases
def nearest_neighbors_cases(case):
    points = np.array([[0, 0], [1, 0], [3, 3]], np.float32)
    centers = np.array([[0, 0], [1, 1], [4, 4]], np.float32)
    case(points, centers, np.int64(1), gives=([[0], [0], [2]], [[0.0], [1.0], [2.0]]))
    case(
        points,
        centers,
        np.int64(5),
        gives=([[0, 1, 2], [0, 1, 2], [2, 1, 0]], [[0.0, 2.0, 32.0], [1.0, 1.0, 25.0], [2.0, 8.0, 18.0]]),
    )
    case(points, centers[:0], np.int64(1), gives=(np.zeros([3, 0]), np.zeros([3, 0])))
    case.fails((points[:0], centers, np.int64(1)), match="points.rows")
    case.fails((points, centers[:, :1], np.int64(1)), match="2 vs 1")
    case.fails((points, centers, np.int64(-1)), match="k >= 0")
    case.shapes("[3,2];[3,2];[]", "?;?")


KmeansPlusPlusInitialization = op("""
    KmeansPlusPlusInitialization(
        points: float, num_to_sample: int64, seed: int64, num_retries_per_sample: int64
    ) -> (samples: float)

    Points that lie far from each other: each is drawn with the squares of the distances to those before as weights.
""")


@KmeansPlusPlusInitialization.shape
def kmeans_plus_plus_shape(points, num_to_sample, seed, num_retries_per_sample):
    return None


@KmeansPlusPlusInitialization.host
def kmeans_plus_plus_host(points, num_to_sample, seed, num_retries_per_sample):
    _need(points, 2, "points")
    _need(num_to_sample, 0, "num_to_sample")
    _need(seed, 0, "seed")
    _need(num_retries_per_sample, 0, "num_retries_per_sample")
    wanted, count = int(num_to_sample), len(points)
    if wanted <= 0:
        _invalid("Expected num_to_sample > 0.")
    if wanted > count:
        _invalid(f"Expected num_to_sample <= points.rows(). {wanted} vs {count}.")
    draws = _draws(seed)
    retries = int(num_retries_per_sample)
    if retries < 0:
        retries = 2 + int(math.log(wanted))
    if retries > _MOST_RETRIES:
        _invalid(f"num_retries_per_sample is {retries}, which never ends")
    chosen: list[int] = []
    squares = np.full(count, np.inf, np.float32)
    for _ in range(wanted):
        i, squares = _best(points, squares, retries + 1, draws, first=not chosen)
        chosen.append(i)
    return points[chosen]


def _best(points: np.ndarray, squares: np.ndarray, tries: int, draws: Draws, first: bool) -> Any:
    """Returns the one of the drawn points that leaves all the nearest to a chosen one, and what it leaves."""
    least, best = np.float32(np.inf), (0, squares)
    up_to = None if first else np.cumsum(squares, dtype=np.float32)
    for _ in range(tries):
        if up_to is None:
            i = draws.long_below(len(points))
        else:
            i = int(np.searchsorted(up_to, np.float32(draws.float()) * up_to[-1], "right"))
            i = min(i, len(points) - 1)
        left = np.minimum(squares, np.sum((points - points[i]) ** 2, 1))
        total = np.sum(left)
        if total < least:
            least, best = total, (i, left)
    return best


@KmeansPlusPlusInitialization.cases
def kmeans_plus_plus_cases(case):
    points = np.array([[0, 0], [1, 0], [0, 2], [3, 3], [5, 1]], np.float32)
    n = np.int64
    case(points, n(3), n(0), n(2), gives=[[3, 3], [0, 0], [5, 1]])
    case(points, n(5), n(1), n(2), gives=[[1, 0], [3, 3], [5, 1], [0, 2], [0, 0]])
    case(points, n(1), n(42), n(-1))
    case.fails((points, n(6), n(0), n(2)), match="6 vs 5")
    case.fails((points, n(0), n(0), n(2)), match="num_to_sample > 0")
    case.shapes("[3,2];[];[];[]", "?")


KMC2ChainInitialization = op("""
    KMC2ChainInitialization(distances: float, seed: int64) -> (index: int64)

    The end of a Markov chain over candidates for the next center, of which those that lie far off are likelier.
""")


@KMC2ChainInitialization.shape
def kmc2_shape(distances, seed):
    return ()


@KMC2ChainInitialization.host
def kmc2_host(distances, seed):
    _need(distances, 1, "distances")
    _need(seed, 0, "seed")
    if not distances.size:
        _invalid("Expected distances_tensor.size() > 0.")
    draws, at = _draws(seed), 0
    for i in range(1, len(distances)):
        if np.float32(draws.float()) * distances[at] < distances[i]:
            at = i
    return np.int64(at)


@KMC2ChainInitialization.cases
def kmc2_cases(case):
    distances = np.arange(10, 0, -1).astype(np.float32) / np.float32(3)
    case(distances, np.int64(1))
    case(np.float32([1, 2, 3, 4, 5, 0, 7]), np.int64(0), gives=np.int64(6))
    case(np.float32([1]), np.int64(0), gives=np.int64(0))
    case.fails((np.float32([]), np.int64(0)), match="size\\(\\) > 0")
    case.shapes("[3];[]", "[]")
