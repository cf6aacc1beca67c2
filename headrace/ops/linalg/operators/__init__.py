"""`tf.linalg.LinearOperator` and its kinds: matrices that are known by what they do to others.

They are Python objects that build nodes; there are no ops of their own.
"""
