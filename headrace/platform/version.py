"""Which TensorFlow headrace answers for, and which headrace this is."""

from headrace.export import export_value

HEADRACE_VERSION = "0.1.0"

VERSION = "1.15.5"
GIT_VERSION = "v1.15.4-39-g3db52be"
COMPILER_VERSION = "7.3.1 20180303"
CXX11_ABI_FLAG = 0
MONOLITHIC_BUILD = 0
GRAPH_DEF_VERSION = 134
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0

for _name in (
    "VERSION GIT_VERSION COMPILER_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER "
    "GRAPH_DEF_VERSION_MIN_PRODUCER"
).split():
    export_value(_name, globals()[_name])
    export_value("version." + _name, globals()[_name])
for _name in ("CXX11_ABI_FLAG", "MONOLITHIC_BUILD"):
    export_value(_name, globals()[_name])
    export_value("sysconfig." + _name, globals()[_name])
export_value("__version__", VERSION)
export_value("__git_version__", GIT_VERSION)
export_value("__compiler_version__", COMPILER_VERSION)
export_value("__cxx11_abi_flag__", CXX11_ABI_FLAG)
export_value("__monolithic_build__", MONOLITHIC_BUILD)
