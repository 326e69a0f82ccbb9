"""`python -m memstream.cli`: how Memstream starts its own processes, wherever its script lies."""

from memstream.cli.main import main

if __name__ == "__main__":
    main()
