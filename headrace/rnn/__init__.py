"""Recurrent neural nets: cells, their wrappers, and what runs a cell over a sequence."""
