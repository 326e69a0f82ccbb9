"""One message in its session: what words refer to, what may be said, when it holds, and why."""
