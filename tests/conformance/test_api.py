"""Public functions and classes take the arguments that TensorFlow 1.15's do: names, order and defaults."""

import enum
import inspect
import re

import pytest

import headrace  # noqa: F401  (loads the public names)
from headrace import dtypes, namespace
from headrace.export import NAMES
from tests.golden import canonical

GOLDEN = {
    f"{module}.{name}".removeprefix("tf."): text
    for module, members in canonical.read("api.json").items()
    for name, text in members.items()
}

# Names whose argument list differs from what was recorded, and why.
DIFFERENT = {
    "DType": "made by this package alone; programs ask tf.as_dtype",
    "dtypes.DType": "made by this package alone; programs ask tf.as_dtype",
    "Operation": "made by ops alone",
    "Tensor": "made by ops alone",
    "Variable": "a reference or a resource variable is made, whose __init__ has the arguments",
    "nn.rnn_cell.DeviceWrapper": "what TensorFlow lists as *args is spelt out",
    "nn.rnn_cell.DropoutWrapper": "what TensorFlow lists as *args is spelt out",
    "nn.rnn_cell.ResidualWrapper": "what TensorFlow lists as *args is spelt out",
    "errors.UnknownError": "made by a table of codes; no program gives it another",
}

for _name in list(GOLDEN):
    namespace.load_providers(_name)

CALLABLE = sorted(
    name
    for name in set(NAMES) & set(GOLDEN)
    if GOLDEN[name] not in ("value", "message", "class") and name not in DIFFERENT
)


def _spelled(value):
    if isinstance(value, enum.Enum):
        return str(value)
    return f"<dtype: {value.name!r}>" if isinstance(value, dtypes.DType) else str(value)


def argument_list(function, golden):
    """Returns the arguments as they are recorded; defaults that are three dots in `golden` may be anything."""
    anything = set(re.findall(r"(\w+)=\.\.\.", golden))
    rows = []
    for p in inspect.signature(function, follow_wrapped=True).parameters.values():
        text = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        if p.kind is p.KEYWORD_ONLY:
            text = "(keyword only) " + text
        if p.default is not p.empty:
            text += "=" + ("..." if p.name in anything else _spelled(p.default))
        rows.append(text)
    return ", ".join(rows)


@pytest.mark.parametrize("name", CALLABLE)
def test_argument_list_equals_tensorflows(name):
    golden = GOLDEN[name]
    function = NAMES[name]
    if golden.startswith("class: "):
        assert inspect.isclass(function), f"tf.{name} is a class"
        golden = golden.removeprefix("class: ")
        function = function.__init__
        if function is object.__init__:
            assert golden == "self"
            return
    assert argument_list(function, golden) == golden


# Names that TensorFlow 1.15 has and its listing leaves out.
UNLISTED = {
    "__compiler_version__",
    "__cxx11_abi_flag__",
    "__git_version__",
    "__monolithic_build__",
    "__version__",
    "app.flags",
    "flags",
    "test.mock",
    "user_ops.my_fact",
}

# Names of modules inside TensorFlow, which `headrace.compat` serves from here.
INSIDE = re.compile(r"dtypes\.\w+_ref$|python\.|contrib\.|compat\.")

# Names of later versions that programs are found to use.
LATER = {"VariableV1", "random.set_seed"}


def test_public_names_that_tensorflow_lacks_are_known():
    known = set(GOLDEN) | {name.rpartition(".")[0] for name in GOLDEN} | UNLISTED | LATER
    extra = sorted(name for name in NAMES if name not in known and not INSIDE.match(name))
    assert not extra
