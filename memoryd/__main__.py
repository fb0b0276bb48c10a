"""Entry point of `python -m memoryd`. A bare `daemon` bypasses the CLI because importing it takes half a second."""

import sys


def main() -> None:
    """Run the daemon or a CLI command."""
    if sys.argv[1:] == ["daemon"]:
        from memoryd.daemon.__main__ import main as serve

        sys.exit(serve())
    else:
        from memoryd.cli import main as command

        command()


if __name__ == "__main__":
    main()
