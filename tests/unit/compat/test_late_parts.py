"""What `import headrace` leaves out comes when a name or an op of it is asked for."""

import subprocess
import sys

import pytest

PROGRAMS = {
    "name": "tf.image.resize_images",
    "module": "tf.nn.rnn_cell.BasicLSTMCell",
    "import": "import headrace.linalg; headrace.linalg.LinearOperatorDiag",
    "raw": "from headrace.opdef import raw; raw.FFT",
    "listing": "assert 'ragged' in dir(tf) and 'image' in dir(tf)",
    "registry": "from headrace.opdef import OPS; assert len(OPS) > 700 and 'FFT' in sorted(OPS)",
    "graph": (
        "g = tf.GraphDef(); n = g.node.add(name='x', op='Placeholder'); n.attr['dtype'].type = 1; "
        "m = g.node.add(name='y', op='Cholesky', input=['x']); m.attr['T'].type = 1; tf.import_graph_def(g)"
    ),
    "compat": "import headrace.compat as c; c.install(); from tensorflow.python.ops import rnn; rnn.dynamic_rnn",
    "nearest": """
try:
    tf.image.resize_imagez
except AttributeError as e:
    assert "resize_images" in str(e)
""",
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_comes_when_asked_for(name):
    program = f"""
import sys
import headrace as tf
assert "headrace.ops.image" not in sys.modules and "headrace.ragged" not in sys.modules
{PROGRAMS[name]}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
