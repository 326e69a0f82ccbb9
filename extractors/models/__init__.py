"""Fitted models: what a span is, and which relation a pair stands in. The weights lie in `data/`."""
