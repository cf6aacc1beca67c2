"""Records tests/golden/timeline.json: TensorFlow 1.15's trace events for the StepStats of the unit tests.

Run with the oracle:  scripts/oracle tests/golden/record/timeline.py
"""

import json
import pathlib
import sys

import tensorflow as tf
from tensorflow.python.client import timeline

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "unit" / "debug"))
import step_stats


def main():
    stats = step_stats.fill(tf.RunMetadata().step_stats)
    facts = {}
    for name, options in (("all", {"show_memory": True}), ("nodes", {"show_dataflow": False})):
        facts[name] = json.loads(timeline.Timeline(stats).generate_chrome_trace_format(**options))[
            "traceEvents"
        ]
    maximums = timeline.Timeline(stats).analyze_step_stats().allocator_maximums
    facts["maximums"] = {
        name: [most.timestamp, most.num_bytes, sorted(most.tensors)] for name, most in maximums.items()
    }
    lines = ",\n".join(
        json.dumps(key) + ":" + json.dumps(fact, sort_keys=True) for key, fact in facts.items()
    )
    (ROOT / "tests" / "golden" / "timeline.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
