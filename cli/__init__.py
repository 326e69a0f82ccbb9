"""The command line: `memstream …`."""
