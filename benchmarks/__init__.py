"""Rates, latencies and memory on this machine, each as a ratio inside one run: `python -m benchmarks`."""
