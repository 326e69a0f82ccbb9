"""spaCy's small model and what is read of its trees: plain lists, candidate spans, clauses as frames, doubt."""
