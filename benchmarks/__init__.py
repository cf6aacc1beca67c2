"""Benchmarks: `scripts/bench` runs them all; each prints ratios against a loop timed in the same run."""
