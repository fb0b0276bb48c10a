"""`python -m memoryd`."""

from memoryd.cli import main

if __name__ == "__main__":
    main()
