"""Ops of neural networks: activations, losses, convolution, pooling, normalization, embeddings."""
