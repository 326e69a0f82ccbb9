"""The moving part: the extraction stage, the sink's loop, dead letters, and what starts and watches them."""
