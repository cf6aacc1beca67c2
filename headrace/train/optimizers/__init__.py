"""tf.train's optimizers."""
