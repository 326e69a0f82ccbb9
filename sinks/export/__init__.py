"""The canonical form of a graph: written, read back, loaded, and compared."""
