"""Training: optimizers, the global step, learning rates that decay, moving averages, coordinated threads."""
