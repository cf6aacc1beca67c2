"""Ops on numbers: elementwise arithmetic, comparisons, reductions, products, ranges and segments."""
