"""`headrace run` and its siblings, each in a process of its own; flags against what TensorFlow 1.15 does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def headrace(*arguments, cwd=None):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "headrace", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env=environment,
    )


FLAGS = """
import sys
import tensorflow as tf
tf.flags.DEFINE_integer("n", 3, "n of it")
tf.app.flags.DEFINE_string("s", None, "s")
def main(argv):
    print("main", argv, tf.flags.FLAGS.n)
if "required" in sys.argv:
    tf.flags.mark_flag_as_required("s")
tf.app.run()
"""


@pytest.fixture
def program(tmp_path):
    def write(text):
        (tmp_path / "p.py").write_text(text)
        return lambda *arguments: headrace("run", "p.py", *arguments, cwd=tmp_path)

    return write


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        ([], "main ['p.py'] 3"),
        (["--", "--n=4", "a"], "main ['p.py', '--', '--n=4', 'a'] 3"),
        (["a", "--n=4", "b", "--zz=3"], "main ['p.py', 'a', 'b', '--zz=3'] 4"),
        (["--undefok=zz", "--zz=4", "--n=5"], "main ['p.py'] 5"),
        (["--zz", "4", "--n=5"], "main ['p.py', '--zz', '4'] 5"),
    ],
)
def test_app_run(program, arguments, printed):
    done = program(FLAGS)(*arguments)
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        (["--n=x"], "flag --n=x: invalid literal for int() with base 10: 'x'"),
        (["--n"], "Missing value for flag --n"),
        (["required"], "flag --s=None: Flag --s must have a value other than None."),
    ],
)
def test_wrong_flags(program, arguments, end):
    done = program(FLAGS)(*arguments)
    assert done.returncode == 1 and done.stderr.strip().endswith(end)


def test_help_lists_the_flags_of_the_program(program):
    done = program(FLAGS)("--help")
    assert done.returncode == 1
    assert "p.py:\n  --n: n of it\n    (default: '3')\n    (an integer)\n  --s: s\n" in done.stdout


def test_flags_parse_themselves(program):
    text = """
import sys
import tensorflow.compat.v1 as tf
FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_string(flag_name="kk", default_value="v", docstring="d")
tf.app.flags.DEFINE_bool("b", True, "")
tf.app.flags.DEFINE_list("l", ["a"], "")
print(FLAGS.kk, FLAGS.b, FLAGS.l, sys.argv, FLAGS.is_parsed())
tf.app.flags.DEFINE_integer("late", 5, "")
FLAGS.kk = "set"
print(FLAGS.late, FLAGS.kk, "kk" in FLAGS, FLAGS["b"].value, hasattr(FLAGS, "no"))
del FLAGS.late
print(hasattr(FLAGS, "late"), FLAGS.flag_values_dict()["kk"])
"""
    done = program(text)("--nob", "--l=a,b", "pos")
    assert done.stdout.splitlines() == [
        "v False ['a', 'b'] ['p.py', '--nob', '--l=a,b', 'pos'] True",
        "5 set True False False",
        "False set",
    ], done.stderr
    assert "UnrecognizedFlagError: Unknown command line flag 'unknown'" in program(text)("--unknown=3").stderr


def test_a_program_is_the_main_module(program, tmp_path):
    text = (
        "import sys, tensorflow\nprint(__name__, __file__, sys.argv, sys.path[0])\n"
        "def f(): raise ValueError('boo')\nf()\n"
    )
    done = program(text)("a", "-b")
    assert done.stdout.strip() == f"__main__ p.py ['p.py', 'a', '-b'] {tmp_path}"
    assert done.returncode == 1
    assert 'File "p.py", line 3, in f' in done.stderr and done.stderr.strip().endswith("ValueError: boo")


def test_logging_goes_to_the_standard_error(program):
    done = program("import tensorflow as tf\ntf.logging.info('no')\ntf.logging.warn('yes %d', 1)")()
    assert (done.stdout, done.stderr) == ("", "WARNING:tensorflow:yes 1\n")


def test_exit_codes_pass(program):
    assert program("raise SystemExit(7)")().returncode == 7
    assert program("import tensorflow as tf\ntf.app.run(main=lambda argv: 5)")().returncode == 5


def test_modules(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "tool.py").write_text(
        "import sys, tensorflow as tf\nprint(tf.VERSION, sys.argv[1:], __name__)"
    )
    done = headrace("run", "-m", "package.tool", "x", cwd=tmp_path)
    assert done.stdout.strip() == "1.15.5 ['x'] __main__", done.stderr


def test_wrong_command_lines():
    done = headrace("rum")
    assert done.returncode == 2
    assert done.stderr.startswith("headrace: there is no command 'rum'; did you mean 'run'?")
    assert headrace().returncode == 2 and headrace("run").returncode == 2
    for command in ("run", "explain", "profile"):
        done = headrace(command, "nofile.py")
        assert done.returncode == 2 and not done.stdout
        assert done.stderr == "headrace: can't open file 'nofile.py': [Errno 2] No such file or directory\n"


def test_version_and_doctor():
    assert headrace("--version").stdout.strip() == "headrace 0.1.0 (answers for TensorFlow 1.15.5)"
    report = headrace("doctor").stdout
    assert "answering for TensorFlow 1.15.5" in report
    for word in ("jax ", "devices: ", "ops: ", "native kernels: "):
        assert word in report


def test_numpy_has_the_names_of_its_youth(program):
    result = program(
        "import numpy as np\n"
        "print(np.zeros(1).astype(np.float).dtype, np.int is int, np.Inf, np.product([2, 3]), np.in1d([[1, 2]], [2]))\n"
    )()
    assert result.stdout == "float64 True inf 6 [False  True]\n", result.stderr
