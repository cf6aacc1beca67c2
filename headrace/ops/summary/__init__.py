"""Summaries: ops that make serialized Summary messages, for event files and whoever reads them."""
