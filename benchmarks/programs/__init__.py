"""Plain TensorFlow 1 programs that headrace and TensorFlow run side by side.

Each module has `build(tf)`, which returns the fetches of a step and a function that gives the feed of step `i`; and
`STEPS`, how many steps are timed. `WHOLE` says that the total time of all steps counts, from the first on.
"""
