"""`python -m memeval`: the command line."""

from memeval.cli import main

if __name__ == "__main__":
    main()
