"""TensorFlow's inside, `tensorflow.python.*` and the like: modules that are views of headrace.

A module is found if TensorFlow 1.15 has it (`module_names`). What a name in it stands for is, in this order: what
the implementation exported under the internal name itself, `export_value("python.ops.rnn_cell_impl._Linear", ...)`;
a row of `RENAMED`; a submodule; the first of the module's sources (`SOURCES`) that has it.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from headrace.compat.module_names import MODULES
from headrace.export import NAMES, NAMESPACES
from headrace.namespace import import_present, is_namespace, load_providers, lookup, members

# Internal module, or the start of its name -> where its names are. "tf" is the public root, "nn" the public tf.nn,
# "headrace.graph" an implementation module with those in it, "raw" an op under its name in small letters.
SOURCES = {
    "python": "tf",
    "python.autograph": "autograph.experimental autograph",
    "python.client.device_lib": "headrace.session.device_lib",
    "python.client.session": "tf headrace.session",
    "python.client.timeline": "headrace.debug.timeline",
    "python.data": "data data.experimental headrace.data",
    "python.data.util.nest": "headrace.data.nest nest",
    "python.debug": "headrace.debug",
    "python.distribute": "distribute distribute.experimental distribute.cluster_resolver headrace.distributed",
    "python.eager": "tf headrace.graph contrib.eager",
    "python.estimator": "estimator estimator.export estimator.inputs headrace.estimator",
    "python.feature_column": "feature_column headrace.layers.feature_column",
    "python.framework": "tf headrace.graph headrace.opdef headrace.graphdef",
    "python.framework.common_shapes": "headrace.tensor_shape headrace.shapes tf",
    "python.framework.constant_op": "tf headrace.opdef",
    "python.framework.dtypes": "dtypes tf headrace.dtypes",
    "python.framework.errors": "errors tf headrace.errors",
    "python.framework.errors_impl": "errors tf headrace.errors",
    "python.framework.function": "headrace.graph.function headrace.graphdef tf",
    "python.framework.graph_io": "io train tf",
    "python.framework.graph_util": "graph_util headrace.graphdef",
    "python.framework.graph_util_impl": "graph_util headrace.graphdef",
    "python.framework.meta_graph": "train headrace.checkpoint",
    "python.framework.op_def_registry": "headrace.opdef",
    "python.framework.ops": "tf headrace.graph headrace.opdef",
    "python.framework.random_seed": "random tf",
    "python.framework.smart_cond": "contrib.framework headrace.layers",
    "python.framework.tensor_shape": "tf headrace.tensor_shape",
    "python.framework.tensor_util": "tf contrib.util headrace.opdef",
    "python.framework.test_util": "test headrace.testing",
    "python.framework.versions": "version tf",
    "python.keras": "keras headrace.keras",
    "python.layers": "layers headrace.layers",
    "python.lib.io.file_io": "headrace.platform.file_functions",
    "python.lib.io.python_io": "python_io",
    "python.lib.io.tf_record": "io python_io",
    "python.ops": "tf",
    "python.ops.array_ops": "tf manip sparse",
    "python.ops.audio_ops": "audio",
    "python.ops.bitwise_ops": "bitwise",
    "python.ops.check_ops": "tf debugging",
    "python.ops.clip_ops": "tf",
    "python.ops.confusion_matrix": "tf math headrace.layers.confusion_matrix",
    "python.ops.control_flow_ops": "tf debugging headrace.ops.flow",
    "python.ops.ctc_ops": "nn",
    "python.ops.data_flow_ops": "tf queue io headrace.ops.flow contrib.framework",
    "python.ops.distributions": "distributions",
    "python.ops.embedding_ops": "nn",
    "python.ops.functional_ops": "tf headrace.ops.flow",
    "python.ops.gradient_checker": "test",
    "python.ops.gradients": "tf headrace.autodiff",
    "python.ops.gradients_impl": "tf headrace.autodiff",
    "python.ops.image_ops": "image io",
    "python.ops.image_ops_impl": "image io",
    "python.ops.init_ops": "tf initializers keras.initializers headrace.variables",
    "python.ops.io_ops": "tf io raw",
    "python.ops.linalg": "linalg",
    "python.ops.linalg_ops": "tf linalg",
    "python.ops.list_ops": "headrace.ops.flow raw",
    "python.ops.logging_ops": "tf summary",
    "python.ops.lookup_ops": "tf lookup contrib.lookup",
    "python.ops.losses": "losses",
    "python.ops.math_ops": "tf math raw",
    "python.ops.metrics": "metrics",
    "python.ops.metrics_impl": "metrics headrace.layers.metrics",
    "python.ops.nn": "nn",
    "python.ops.nn_impl": "nn",
    "python.ops.nn_ops": "nn raw",
    "python.ops.parsing_ops": "tf io",
    "python.ops.partitioned_variables": "tf headrace.variables",
    "python.ops.ragged": "ragged tf",
    "python.ops.random_ops": "tf random raw",
    "python.ops.resource_variable_ops": "headrace.variables raw",
    "python.ops.resources": "headrace.variables headrace.resources",
    "python.ops.rnn": "nn headrace.layers",
    "python.ops.rnn_cell": "nn.rnn_cell headrace.layers",
    "python.ops.rnn_cell_impl": "nn.rnn_cell headrace.layers",
    "python.ops.signal": "signal",
    "python.ops.sparse_ops": "tf sparse raw",
    "python.ops.special_math_ops": "tf math",
    "python.ops.standard_ops": "tf",
    "python.ops.state_ops": "tf raw",
    "python.ops.string_ops": "tf strings",
    "python.ops.summary_op_util": "headrace.ops.summary",
    "python.ops.summary_ops_v2": "contrib.summary compat.v2.summary",
    "python.ops.tensor_array_ops": "tf headrace.ops.flow",
    "python.ops.variable_scope": "tf headrace.variables",
    "python.ops.variables": "tf headrace.variables",
    "python.ops.weights_broadcast_ops": "headrace.layers",
    "python.platform": "tf",
    "python.platform.app": "app headrace.platform.app",
    "python.platform.benchmark": "test",
    "python.platform.build_info": "headrace.platform.sysconfig",
    "python.platform.flags": "headrace.platform.flags",
    "python.platform.gfile": "gfile headrace.platform.gfile",
    "python.platform.googletest": "test headrace.testing",
    "python.platform.resource_loader": "resource_loader",
    "python.platform.sysconfig": "sysconfig",
    "python.platform.test": "test headrace.testing",
    "python.platform.tf_logging": "headrace.platform.tf_logging",
    "python.profiler": "profiler",
    "python.pywrap_tensorflow": "train headrace.checkpoint headrace.platform.version",
    "python.pywrap_tensorflow_internal": "train headrace.checkpoint headrace.platform.version",
    "python.saved_model": "saved_model saved_model.experimental headrace.checkpoint",
    "python.saved_model.builder": "saved_model.builder saved_model",
    "python.saved_model.constants": "saved_model.constants saved_model",
    "python.saved_model.loader": "saved_model.loader saved_model",
    "python.saved_model.main_op": "saved_model.main_op saved_model",
    "python.saved_model.signature_constants": "saved_model.signature_constants saved_model",
    "python.saved_model.signature_def_utils": "saved_model.signature_def_utils saved_model",
    "python.saved_model.signature_def_utils_impl": "saved_model.signature_def_utils saved_model",
    "python.saved_model.tag_constants": "saved_model.tag_constants saved_model",
    "python.saved_model.utils": "saved_model.utils saved_model",
    "python.summary": "summary train",
    "python.tools": "headrace.graphdef headrace.checkpoint graph_util",
    "python.tpu": "tpu contrib.tpu estimator.tpu",
    "python.training": "train headrace.train headrace.checkpoint",
    "python.training.experimental": "train.experimental",
    "python.training.moving_averages": "headrace.train.moving_averages train",
    "python.training.training": "train",
    "python.training.training_ops": "raw",
    "python.training.training_util": "train headrace.train io",
    "python.tf2": "headrace.compat.behavior",
    "python.util": "tf headrace.compat.decorators",
    "python.util.function_utils": "headrace.compat.inspection",
    "python.util.compat": "compat",
    "python.util.nest": "nest contrib.framework.nest headrace.graph.nest",
    "python.util.tf_inspect": "headrace.compat.inspection",
    "python.util.tf_export": "headrace.compat.decorators",
    "python.util.tf_contextlib": "headrace.compat.decorators",
    "examples": "tf",
    "examples.tutorials.mnist.input_data": "headrace.compat.mnist",
    "contrib.framework.python.ops.audio_ops": "audio raw",
    "contrib.rnn.python.ops.core_rnn_cell": "contrib.rnn headrace.rnn",
    "contrib.rnn.python.ops.core_rnn_cell_impl": "contrib.rnn headrace.rnn",
    "contrib.learn.python.learn.datasets.mnist": "headrace.compat.mnist",
    "contrib.learn.python.learn.datasets.base": "headrace.compat.mnist",
    "compiler.tf2xla.python.xla": "raw",
    "compiler": "xla.experimental",
    "tools.graph_transforms": "headrace.graphdef",
    "tools": "tf",
}

RENAMED = {
    "python.framework.device_spec.DeviceSpecV1": "DeviceSpec",
    "python.layers.convolutional.Convolution1D": "layers.Conv1D",
    "python.layers.convolutional.Convolution2D": "layers.Conv2D",
    "python.layers.convolutional.Convolution2DTranspose": "layers.Conv2DTranspose",
    "python.layers.convolutional.Convolution3D": "layers.Conv3D",
    "python.layers.convolutional.Convolution3DTranspose": "layers.Conv3DTranspose",
    "python.layers.convolutional.SeparableConvolution2D": "layers.SeparableConv2D",
    "python.layers.base._Layer": "layers.Layer",
    "python.ops.rnn_cell_impl._RNNCell": "nn.rnn_cell.RNNCell",
    "python.data.ops.dataset_ops.DatasetV1": "data.Dataset",
    "python.ops.variables.VariableV1": "Variable",
    "python.ops.variables.RefVariable": "Variable",
    "python.platform.tf_logging._get_logger": "python.platform.tf_logging.get_logger",
    "python.training.evaluation._StopAfterNEvalsHook": "contrib.training.StopAfterNEvalsHook",
    "python.training.evaluation._get_or_create_eval_step": "contrib.training.get_or_create_eval_step",
    "python.training.evaluation._evaluate_once": "contrib.training.evaluate_once",
    "python.keras.optimizer_v2.optimizer_v2.OptimizerV2": "keras.optimizers.Optimizer",
    "python.training.tracking.base.Trackable": "contrib.checkpoint.CheckpointableBase",
    "python.framework.ops.NoGradient": "NoGradient",
}


def is_internal(path: str) -> bool:
    """Says whether TensorFlow 1.15 has an internal module of this name ("python.framework.ops")."""
    if path in MODULES:
        return True
    match = _CONTRIB.match(path)
    if match is not None and path not in SOURCES and path.rpartition(".")[0] in SOURCES:
        return False  # a name in a module that is known
    return match is not None and (leads_inside(path) or path in SOURCES or _has_contrib(match[1]))


_CONTRIB = re.compile(r"(contrib\.\w+)\.python(\.|$)")


def leads_inside(path: str) -> bool:
    """Says whether a module of tf.contrib has to be there because one inside it is known: "contrib.learn"."""
    return any(known.startswith(path + ".") for known in SOURCES if known.startswith("contrib."))


def _has_contrib(path: str) -> bool:
    return is_namespace(path) or import_present("headrace." + path) is not None


@functools.cache
def sources(path: str) -> tuple[str, ...]:
    """Returns where the names of an internal module are, the likeliest place first."""
    if path.startswith("contrib.") and path not in SOURCES:
        return _contrib_sources(path)
    if re.search(r"\.gen_\w+$", path):
        return ("raw",)
    found: list[str] = []
    if path.startswith(("python.keras.", "python.estimator.")):
        # These two are laid out inside as in public.
        found.append(path.removeprefix("python."))
    start = path
    while start and start not in SOURCES:
        start = start.rpartition(".")[0]
    if not start:
        return tuple(found)
    return (*found, *SOURCES[start].split())


def _contrib_sources(path: str) -> tuple[str, ...]:
    """contrib.slim.python.slim.nets.vgg -> contrib.slim.nets.vgg, contrib.slim.nets, contrib.slim."""
    parts = path.split(".")
    at = parts.index("python")
    library, rest = parts[:at], parts[at + 1 :]
    if rest and rest[0] in (library[-1], "ops"):
        rest = rest[1:]
    return tuple(".".join(library + rest[:n]) for n in range(len(rest), -1, -1))


def resolve(path: str, name: str) -> Any:
    """Returns what a name in an internal module stands for.

    Raises:
      KeyError: Nothing that headrace knows.
    """
    full = f"{path}.{name}"
    if full in NAMES:
        return NAMES[full]
    renamed = RENAMED.get(full)
    if renamed is not None and renamed != full:
        module, _, leaf = renamed.rpartition(".")
        return resolve(module, leaf) if module in MODULES else lookup(module, leaf)
    for source in sources(path):
        for value in _in_source(source, name):
            return value
    if full in NAMES:  # a look into the sources may have loaded more
        return NAMES[full]
    raise KeyError(full)


def _in_source(source: str, name: str) -> Iterator[Any]:
    if source == "raw":
        yield from _raw(name)
    elif source == "headrace" or source.startswith("headrace."):
        module = import_present(source)
        if module is None:
            return
        places = [module, *(m for key, m in list(sys.modules.items()) if key.startswith(source + "."))]
        for place in places:
            if name in vars(place) and not isinstance(vars(place)[name], types.ModuleType):
                yield vars(place)[name]
    else:
        module_path = "" if source == "tf" else source
        try:
            yield lookup(module_path, name)
        except KeyError:
            inner = f"{module_path}.{name}" if module_path else name
            if inner in NAMESPACES:
                yield importlib.import_module("tensorflow." + inner)


def _raw(name: str) -> Iterator[Any]:
    """The op that TensorFlow's generated modules call `name`: MatMul is mat_mul, and may be hidden as _mat_mul."""
    from headrace.opdef.registry import OPS

    wanted = name.lstrip("_").replace("_", "").lower()
    exact = "".join(part.capitalize() for part in name.lstrip("_").split("_"))
    found = OPS.find(exact)
    if found is not None:
        yield found
    else:
        yield from (op for known, op in OPS.items() if known.lower() == wanted)


def _own_names(module: types.ModuleType | None) -> list[str]:
    """The names that a module of the implementation defines, without those it imports for itself."""
    if module is None:
        return []
    listed: list[str] | None = getattr(module, "__all__", None) if "__all__" in vars(module) else None
    if listed is not None:
        return list(listed)
    home = module.__name__.rpartition(".")[0]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", home).startswith(home)
    ]


class InternalModule(types.ModuleType):
    """A module of TensorFlow's inside.

    Args:
      name: Its name: "tensorflow.python.framework.ops".
      path: The same without "tensorflow.".
    """

    def __init__(self, name: str, path: str):
        super().__init__(name, f"What headrace has of {name}.")
        self.__dict__["_path"] = path

    def __getattr__(self, name: str) -> Any:
        path = self.__dict__["_path"]
        if name == "__all__":
            return [n for n in self.__dir__() if not n.startswith("_")]
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if is_internal(f"{path}.{name}"):
            return importlib.import_module(f"{self.__name__}.{name}")
        try:
            value = resolve(path, name)
        except KeyError:
            raise AttributeError(f"headrace has no {self.__name__}.{name}") from None
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        path = self.__dict__["_path"]
        names = {key for key in vars(self) if key != "_path"}
        for other in MODULES:
            parent, _, leaf = other.rpartition(".")
            if parent == path:
                names.add(leaf)
        for source in sources(path):
            if source.startswith("headrace."):
                names.update(_own_names(import_present(source)))
            elif source not in ("raw", "tf") or path == "python.ops.standard_ops":
                load_providers(source)
                public = "" if source == "tf" else source
                names.update(n for n in members(public) if f"{public}.{n}".lstrip(".") in NAMES)
        return sorted(names)
