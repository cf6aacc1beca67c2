"""Images turned over, turned round, and transposed."""

from __future__ import annotations

from headrace.export import export
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor
from headrace.ops.image.checks import checked, public, rank_of, wrong_rank


def _with_shape(result, image):
    """Gives a result the shape of the image that it was made of."""
    result.set_shape([None, None, None] if rank_of(image) is None else image.shape)
    return result


def _flip(image, axis, name):
    with name_scope(None, name, [image]):
        image = checked(convert_to_tensor(image, name="image"))
        rank = rank_of(image)
        if rank in (3, None):
            return _with_shape(public.reverse(image, [axis]), image)
        if rank == 4:
            return public.reverse(image, [axis + 1])
        raise wrong_rank()


@export("image.flip_left_right")
def flip_left_right(image):
    """Returns an image, or images, with left and right exchanged.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].

    Raises:
      ValueError: `image` has another rank.
    """
    return _flip(image, 1, "flip_left_right")


@export("image.flip_up_down")
def flip_up_down(image):
    """Returns an image, or images, upside down.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].

    Raises:
      ValueError: `image` has another rank.
    """
    return _flip(image, 0, "flip_up_down")


def _random_flip(image, axis, seed, name):
    with name_scope(None, name, [image]) as scope:
        image = checked(convert_to_tensor(image, name="image"))
        rank = rank_of(image)
        if rank in (3, None):
            drawn = public.random_uniform([], 0, 1.0, seed=seed)
            turns = public.less(drawn, 0.5)
            result = public.cond(turns, lambda: public.reverse(image, [axis]), lambda: image, name=scope)
            return _with_shape(result, image)
        if rank != 4:
            raise wrong_rank()
        batch = public.shape(image)[0]
        drawn = public.random_uniform([batch], 0, 1.0, seed=seed)
        turns = public.round(public.reshape(drawn, [batch, 1, 1, 1]))
        turns = public.cast(turns, image.dtype)
        turned = public.reverse(image, [axis + 1])
        return turns * turned + (1 - turns) * image


@export("image.random_flip_left_right")
def random_flip_left_right(image, seed=None):
    """Returns an image with left and right exchanged, or as it is, with equal chance; each of a batch for itself.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      seed: The op-level seed.

    Raises:
      ValueError: `image` has another rank.
    """
    return _random_flip(image, 1, seed, "random_flip_left_right")


@export("image.random_flip_up_down")
def random_flip_up_down(image, seed=None):
    """Returns an image upside down, or as it is, with equal chance; each of a batch for itself.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      seed: The op-level seed.

    Raises:
      ValueError: `image` has another rank.
    """
    return _random_flip(image, 0, seed, "random_flip_up_down")


def _swapped(image, first, name=None):
    """Exchanges rows, along the axis `first`, and columns."""
    order = list(range(first + 3))
    order[first], order[first + 1] = first + 1, first
    return public.transpose(image, order, name=name)


@export("image.rot90")
def rot90(image, k=1, name=None):
    """Returns an image, or images, turned against the clock by quarters.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      k: By how many quarters; a scalar int32 tensor or a number.
      name: A name scope for the nodes.

    Raises:
      ValueError: `image` has another rank, or `k` is no scalar.
    """
    with name_scope(name, "rot90", [image, k]) as scope:
        image = checked(convert_to_tensor(image, name="image"))
        k = convert_to_tensor(k, dtype="int32", name="k")
        k.shape.assert_has_rank(0)
        k = public.mod(k, 4)
        rank = rank_of(image)
        if rank not in (3, 4, None):
            raise wrong_rank()
        rows = 1 if rank == 4 else 0

        def once():
            return _swapped(public.reverse(image, [rows + 1]), rows)

        def twice():
            return public.reverse(image, [rows, rows + 1])

        def thrice():
            return public.reverse(_swapped(image, rows), [rows + 1])

        turns = [(public.equal(k, i), turn) for i, turn in enumerate((once, twice, thrice), 1)]
        result = public.case(turns, default=lambda: image, exclusive=True, name=scope)
        sizes = image.shape.as_list() if rank else [None, None, None]
        sizes[rows : rows + 2] = [None, None]
        result.set_shape(sizes)
        return result


@export("image.transpose", "image.transpose_image")
def transpose(image, name=None):
    """Returns an image, or images, with rows and columns exchanged.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      name: A name for the node, and a scope for what is before it.

    Raises:
      ValueError: `image` has another rank.
    """
    with name_scope(name, "transpose", [image]):
        image = checked(convert_to_tensor(image, name="image"))
        rank = rank_of(image)
        if rank not in (3, 4, None):
            raise wrong_rank()
        return _swapped(image, 1 if rank == 4 else 0, name)
