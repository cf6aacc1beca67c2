"""One step: the plan of a run, the interpreter, the compiled clusters, and what rules may ask of them."""
