"""Initializers: functions from a shape to the values that a variable starts with."""
