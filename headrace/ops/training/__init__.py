"""The ops that optimizers update variables with."""
