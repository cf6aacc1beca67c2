"""tf.contrib.staging."""

from __future__ import annotations

from headrace.export import export_value
from headrace.ops.queue.staging_areas import StagingArea

export_value("contrib.staging.StagingArea", StagingArea)
