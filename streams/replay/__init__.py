"""Rebuilding a graph from the log, beside what runs: which part of the log, and the ways to apply it."""
