"""Policies: the environment, ConfigProto, global_jit_level, and threads."""

import logging
import os
import subprocess
import sys

import pytest

import headrace as tf
from headrace.runtime import policies
from headrace.runtime.policies import Policies, policies_of, with_policies


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in list(os.environ):
        if name.startswith("HEADRACE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")


def test_what_is_so_by_default():
    assert policies_of() == Policies(cache_dir="/nowhere/headrace")
    assert policies_of(tf.ConfigProto()) == policies_of()


def test_the_environment_overrides_the_config(monkeypatch):
    config = with_policies(
        tier="compile", cache_dir="/a", compile_after=2, background="on", cache_size="3 MB"
    )
    assert policies_of(config) == Policies("compile", 2.0, "on", "/a", 3 << 20)
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    monkeypatch.setenv("HEADRACE_CACHE_DIR", "")
    monkeypatch.setenv("HEADRACE_COMPILE_AFTER", "0.5")
    monkeypatch.setenv("HEADRACE_BACKGROUND", "off")
    monkeypatch.setenv("HEADRACE_CACHE_SIZE", "1gb")
    assert policies_of(config) == Policies("interpret", 0.5, "off", "", 1 << 30)
    assert policies_of(config).store is None


def test_policies_survive_serializing_and_keep_the_rest():
    config = tf.ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.custom_optimizers.add(name="somebody_elses").parameter_map[
        "tier"
    ].s = b"x"
    made = tf.ConfigProto.FromString(with_policies(config, tier="compile").SerializeToString())
    assert made.allow_soft_placement and policies_of(made).tier == "compile"
    assert not config.graph_options.rewrite_options.custom_optimizers[1:]


@pytest.mark.parametrize(
    "level,tier", [("OFF", "auto"), ("DEFAULT", "auto"), ("ON_1", "compile"), ("ON_2", "compile")]
)
def test_global_jit_level(level, tier):
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = getattr(tf.OptimizerOptions, level)
    assert policies_of(config).tier == tier
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        assert session.run(tf.constant(1.0) + 1) == 2.0


def test_global_jit_level_yields_to_what_is_said_outright(monkeypatch):
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    assert policies_of(with_policies(config, tier="auto")).tier == "auto"
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    assert policies_of(config).tier == "interpret"


@pytest.mark.parametrize(
    "option,value,message",
    [
        ("tier", "fast", "HEADRACE_TIER is one of auto, interpret, compile, not 'fast'"),
        ("compile_after", "soon", "HEADRACE_COMPILE_AFTER is a number of seconds, not 'soon'"),
        ("compile_after", "nan", "HEADRACE_COMPILE_AFTER is a number of seconds"),
        ("background", "yes", "HEADRACE_BACKGROUND is one of auto, on, off, not 'yes'"),
        ("cache_size", "-1", "HEADRACE_CACHE_SIZE is a number of bytes"),
    ],
)
def test_nonsense_is_refused(option, value, message, monkeypatch):
    with pytest.raises(ValueError, match=message):
        with_policies(**{option: value})
    monkeypatch.setenv(f"HEADRACE_{option.upper()}", value)
    with pytest.raises(ValueError, match=message):
        tf.Session(graph=tf.Graph())


@pytest.mark.parametrize(
    "name,value,message",
    [
        ("NATIVE", "off", "HEADRACE_NATIVE is one of 0, 1, not 'off'"),
        ("PRODUCTS", "bogus", "HEADRACE_PRODUCTS is one of avx512, avx2, plain, not 'bogus'"),
        ("WINOGRAD", "maybe", "HEADRACE_WINOGRAD is one of 0, 1, not 'maybe'"),
        ("KEEP_MEMORY", "no", "HEADRACE_KEEP_MEMORY is one of 0, 1, not 'no'"),
    ],
)
def test_nonsense_about_the_process_is_refused(name, value, message, monkeypatch):
    monkeypatch.setenv(f"HEADRACE_{name}", "")
    tf.Session(graph=tf.Graph()).close()
    monkeypatch.setenv(f"HEADRACE_{name}", value)
    with pytest.raises(ValueError, match=f"^{message}$"):
        tf.Session(graph=tf.Graph())


@pytest.mark.parametrize("size", ["0", "0MB"])
def test_a_cache_of_no_size_keeps_nothing(size, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HEADRACE_CACHE_SIZE", size)
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.reduce_sum(tf.random_uniform([20], seed=1))) > 0
    assert not (tmp_path / "cache").exists()


def test_an_unknown_policy_is_refused():
    with pytest.raises(TypeError, match="there is no policy 'speed'"):
        with_policies(speed="high")


def test_rewriters_are_ignored():
    config = tf.ConfigProto()
    rewriters = config.graph_options.rewrite_options
    rewriters.constant_folding = rewriters.layout_optimizer = 2
    rewriters.optimizers.append("no_such_optimizer")
    rewriters.custom_optimizers.add(name="no_such_optimizer")
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        assert session.run(tf.constant(1.0) + 1) == 2.0


@pytest.mark.parametrize("threads", [0, -1, 1, 2**31 - 1, -(2**31)])
def test_any_number_of_threads_works(threads, monkeypatch, caplog):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [2, 2])
        assert session.run(tf.matmul(x, x), {x: [[1, 0], [0, 1]]}).tolist() == [[1, 0], [0, 1]]


def test_threads_that_come_too_late_are_said_once(monkeypatch, caplog):
    import jax

    jax.devices()
    monkeypatch.setattr(policies, "_said", set())
    monkeypatch.setattr(policies.surroundings, "_threads", 2)
    monkeypatch.setattr(policies.lazy, "_jax_ready", True)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            tf.Session(graph=tf.Graph(), config=tf.ConfigProto(intra_op_parallelism_threads=1)).close()
    (line,) = [r.getMessage() for r in caplog.records]
    assert line.startswith("intra_op_parallelism_threads=1 is not heeded: XLA's 2 threads")


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads are counted in /proc")
def test_the_first_session_says_how_many_threads_xla_has():
    code = """
import os
import headrace as tf
x = tf.placeholder(tf.float32, [300, 300])
with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1)) as session:
    import numpy as np
    session.run(tf.matmul(x, x), {x: np.ones((300, 300))})
names = [open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")]
print(sum("XLAEigen" in n for n in names), "NPROC" in os.environ)
"""
    environment = {**os.environ, "HEADRACE_TIER": "compile", "HEADRACE_CACHE_DIR": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.stdout.split() == ["1", "False"], done.stderr
