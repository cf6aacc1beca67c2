"""Ops on sound: files, spectrograms, cepstra."""
