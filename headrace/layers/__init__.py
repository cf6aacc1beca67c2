"""Layers, losses and metrics: what builds models out of ops and variables."""
