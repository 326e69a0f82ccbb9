"""Pure functions from a set to its state: facts, sessions, parts of shared nodes. No I/O."""
