"""Real processes, a Kafka and a Neo4j of their own, and what befalls them: killed, paused, cut off, moved about.

`make chaos` runs it for long, tests/faults/test_chaos.py for a short while. Everything that is random follows a seed.
"""
