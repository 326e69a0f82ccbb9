"""`python -m memstream.deploy.probe URL`: exit code 0 if the address answers 200. For container health checks."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request


def answers(url: str) -> bool:
    """Whether an http address answers 200 within four seconds."""
    try:
        with urllib.request.urlopen(url, timeout=4) as answer:  # noqa: S310 - the address is in our own compose file
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    sys.exit(not answers(sys.argv[1]))
