"""Checkpoints and MetaGraphs: what a program saves and starts again from."""
