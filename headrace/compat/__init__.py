"""The `tensorflow` face: `import tensorflow as tf` finds headrace after `install()`."""

from headrace.compat.hook import install, uninstall
