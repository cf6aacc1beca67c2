"""tf.contrib.batching."""

from __future__ import annotations

from headrace.export import export_value
from headrace.functions.batching import batch_function

export_value("contrib.batching.batch_function", batch_function)
