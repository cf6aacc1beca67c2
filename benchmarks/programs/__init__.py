"""Plain TensorFlow 1 programs that headrace and TensorFlow run side by side.

Each module has

- `build(tf, **sizes)`, which returns the fetches of a step, the loss first, and a function that gives the feed of
  step `i`; every size has a default, which is what is timed;
- `GROUP`, which of the means it belongs to;
- `STEPS`, how many steps are timed after three to warm up;
- `TINY`, sizes for a test (optional);
- `WHOLE`: the total time of all steps counts, from the first on (optional);
- `FLOPS`, floating-point operations of a step where the graph does not say, as with loops (optional).
"""
