"""Texts to vectors, by name."""
