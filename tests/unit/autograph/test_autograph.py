"""AutoGraph: Python's control flow over tensors, what it refuses, and conversion on request."""

import subprocess
import sys

import numpy as np
import pytest

import headrace as tf

Feature = tf.autograph.experimental.Feature


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(f, *args, **options):
    result = tf.function(f, **options)(*[tf.constant(a) for a in args])
    with tf.Session() as session:
        return session.run(result)


# -- programs: each gives what it gives in Python --------------------------------------------------------------


def early_return(x):
    if x > 10:
        return x * 2
    if x > 5:
        return x + 100
    return -x


def breaks_and_continues(x):
    total = 0
    for i in tf.range(x):
        if i == 2:
            continue
        if i > 6:
            break
        total += i
    while total < 100:
        total += 7
        if total % 5 == 0:
            break
    return total


def nested_loops(x):
    total = 0
    i = 0
    while i < x:
        for j in tf.range(i):
            if j > 3:
                break
            total += i * j
        i += 1
    return total


def logic(x):
    if (x > 3 and not x > 7) or x == 100:
        y = 1
    elif 0 < x < 2:
        y = 2
    else:
        y = 3
    return y if y > 1 else -y


def inner_functions(x):
    def fold(start, count):
        for i in tf.range(count):
            start = start * 2 + i
        return start

    return fold(x, 3) + (lambda z: z + 1 if z > 4 else z - 1)(x)


class Holder:
    def __init__(self, value):
        self.value = value

    def grow(self, by):
        if by > 0:
            self.value = self.value + by
        else:
            self.value = self.value - by
        return self.value


def attributes(x):
    holder = Holder(x)
    for _ in tf.range(3):
        holder.value = holder.value * 2
    return holder.grow(x)


def several_variables(x):
    a, b = 0, 1
    while b < x:
        a, b = b, a + b
    pair = {"a": a, "b": [b, x]}
    if x > 4:
        pair = {"a": b, "b": [a, x + 1]}
    return pair["a"] * 1000 + pair["b"][0] * 10 + pair["b"][1]


def python_loops(x):
    for i in range(3):
        if i == 1:
            continue
        x = x + i
    names = [n for n in ("a", "b") if n != "a"]
    while len(names) < 3:
        names.append("c")
    return x + len(names)


def recursion(x):
    def power(base, n):
        return 1 if n == 0 else base * power(base, n - 1)

    return power(x, 3)


def with_blocks(x):
    with tf.name_scope("scope"):
        if x > 2:
            x = x + 1
    return x


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("x", [0, 1, 5, 8, 12])
@pytest.mark.parametrize(
    "f",
    [
        early_return, breaks_and_continues, nested_loops, logic, inner_functions, attributes, several_variables,
        recursion, with_blocks, python_loops,
    ],
)  # fmt: skip
def test_control_flow_means_what_it_means_in_python(f, x, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)

    class Eager:
        range = staticmethod(range)
        name_scope = staticmethod(tf.name_scope)

    expected = _in_python(f, x, Eager)
    got = run(f, x, experimental_autograph_options=Feature.EQUALITY_OPERATORS)
    assert got == expected


def _in_python(f, x, module):
    names = f.__globals__
    old = names["tf"]
    names["tf"] = module
    try:
        return f(x)
    finally:
        names["tf"] = old


# -- tensors ---------------------------------------------------------------------------------------------------


def test_rows_of_a_tensor():
    def f(x):
        total = tf.zeros([2])
        for row in x:
            if tf.reduce_sum(row) > 4.0:
                break
            total += row
        return total

    assert run(f, np.float32([[1, 2], [0, 1], [3, 4], [5, 6]])).tolist() == [1, 3]
    unknown = tf.placeholder(tf.float32, [None, 2])
    y = tf.function(f)(unknown)
    with tf.Session() as session:
        assert session.run(y, {unknown: [[1, 1]]}).tolist() == [1, 1]


def test_gradients_through_converted_loops_and_branches():
    def f(x):
        for _ in tf.range(3):
            if x > 2.0:
                x = x * x
            else:
                x = x + 1.5
        return x

    x = tf.placeholder(tf.float32, [])
    y = tf.function(f)(x)
    (dx,) = tf.gradients(y, x)
    with tf.Session() as session:
        # 1 -> 2.5 -> 6.25 -> 39.0625, whose derivative is 2 * 2.5 * 2 * 6.25
        assert session.run([y, dx], {x: 1.0}) == [39.0625, 62.5]


def test_lists_grow_in_loops():
    def f(n):
        squares = []
        for i in tf.range(n):
            squares.append(i * i)
        return tf.stack(squares), squares

    def stacked(n):
        return f(n)[0]

    array = tf.function(lambda n: _array_of_squares(n))(tf.constant(4))
    with tf.Session() as session:
        assert session.run(array).tolist() == [0, 1, 4, 9]
    with pytest.raises(ValueError, match="cannot stack a list without knowing its element type"):
        run(stacked, 4, experimental_autograph_options=Feature.LISTS)


def _array_of_squares(n):
    array = tf.TensorArray(tf.int32, size=n)
    for i in tf.range(n):
        array = array.write(i, i * i)
    return array.stack()


def test_assertions_run_with_the_graph():
    def f(x):
        assert x > 0, "too small"
        return x

    assert run(f, 3, experimental_autograph_options=Feature.ASSERT_STATEMENTS) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="too small"):
        run(f, -3, experimental_autograph_options=Feature.ALL)
    with pytest.raises(TypeError, match="AutoGraph did not convert this function"):
        run(f, 3)


def test_print_shows_values_where_asked_for(capsys):
    def f(x):
        print("seen", x, 1)
        return x

    run(f, 3)
    assert "Tensor(" in capsys.readouterr().out
    run(f, 3, experimental_autograph_options=Feature.BUILTIN_FUNCTIONS)
    assert capsys.readouterr().out == "seen 3 1\n"


def test_builtins_of_tensors():
    def f(x):
        return len(x), float(x[0]), int(x[1]), abs(x), max(2, 3)

    n, first, second, positive, three = run(f, np.float32([-1.5, 2.5]))
    assert (n, first, second, positive.tolist(), three) == (2, -1.5, 2, [1.5, 2.5], 3)


# -- refusals --------------------------------------------------------------------------------------------------


def one_branch(x):
    if x > 0:
        y = 1
    return y


def one_return(x):
    if x > 0:
        return 1


def undefined_before(x):
    while x > 0:
        y = x
        x = x - 1
    return y


def returns_in_loop(x):
    while x < 100:
        x = x * 2
        if x > 50:
            return x
    return -x


def two_types(x):
    if x > 0:
        y = 1
    else:
        y = 2.0
    return y


def changes_type(x):
    y = 0
    while x > 0:
        y = 1.0
        x = x - 1
    return y


def changes_shape(x):
    y = 0
    while x > 0:
        y = tf.stack([y, y])
        x = x - 1
    return y


def none_or_tensor(x):
    y = None
    if x > 0:
        y = x
    return y


def leaks(x):
    y = []
    while x > 0:
        y.append(x)
        x = x - 1
    return y


def raises(x):
    raise ValueError("mine")


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (one_branch, ValueError, r"symbols must also be initialized in the else branch: \('y',\)"),
        (one_return, ValueError, "A value must also be returned from the else branch"),
        (undefined_before, ValueError, r"symbols must be defined before the loop: \('y',\)"),
        (returns_in_loop, ValueError, "return statements are not supported within a TensorFlow loop"),
        (
            two_types,
            TypeError,
            '"y" has dtype int32 in the TRUE branch, but dtype=float32 in the FALSE branch',
        ),
        (
            changes_type,
            TypeError,
            '"y" has dtype int32 before the loop, but dtype float32 after one iteration',
        ),
        (
            changes_shape,
            ValueError,
            r'"y" has shape \(\) before the loop, but shape \(2,\) after one iteration',
        ),
        (none_or_tensor, ValueError, "None values not supported"),
        (raises, ValueError, "mine"),
    ],
)
def test_refusals_are_tensorflows_and_say_where(f, error, message):
    with pytest.raises(error, match=message) as caught:
        run(f, 1)
    text = str(caught.value)
    assert text.startswith("in converted code:")
    assert "test_autograph.py" in text and f.__name__ in text


def test_a_list_that_a_loop_filled_is_refused():
    with pytest.raises(ValueError, match="it is defined in another function or code block"):
        run(leaks, 1)


def test_errors_keep_their_class():
    class Own(Exception):
        def __init__(self, a, b):
            super().__init__(a, b)

    def f(x):
        raise Own(1, 2)

    def key(x):
        return {}["k"]

    with pytest.raises(Own):
        run(f, 1)
    with pytest.raises(KeyError):
        run(key, 1)


# -- conversion on request -------------------------------------------------------------------------------------


def absolute(x):
    if x < 0:
        x = -x
    return x


def test_to_graph_and_to_code():
    y = tf.autograph.to_graph(absolute)(tf.constant(-3))
    with tf.Session() as session:
        assert session.run(y) == 3
    code = tf.autograph.to_code(absolute)
    assert code.startswith("def tf__absolute(x):") and "ag__.if_stmt" in code
    converted = tf.autograph.to_graph(Holder)(tf.constant(3))
    with tf.Session() as session:
        assert session.run(converted.grow(tf.constant(-4))) == 7
    with pytest.raises(ValueError, match="converting"):
        tf.autograph.to_graph(len)


def test_do_not_convert():
    @tf.autograph.experimental.do_not_convert
    def plain(x):
        if x > 0:
            return x
        return -x

    with pytest.raises(
        TypeError, match="as a Python `bool` is not allowed: AutoGraph is disabled in this function"
    ):
        run(lambda x: plain(x), 1)
    assert plain(3) == 3 and plain.__name__ == "plain"
    with pytest.raises(TypeError, match="AutoGraph is disabled in this function"):
        tf.function(absolute, autograph=False)(tf.constant(1))
    with pytest.raises(TypeError, match="is not allowed in Graph execution"):
        absolute(tf.constant(1))


def test_trace_prints_while_the_graph_is_built(capsys):
    run(lambda x: (tf.autograph.trace("building", 1), x)[1], 2)
    assert capsys.readouterr().out == "building 1\n"
    tf.autograph.set_verbosity(0)


def test_importing_headrace_leaves_the_rewriter_out():
    code = "import sys, headrace; headrace.function(lambda x: x); assert 'malt' not in sys.modules, 'malt'"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
