"""Several extractors that read the same message, made one by stated rules."""
