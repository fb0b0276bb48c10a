"""The root command, its global options, and how faults become exit codes.

Exit codes: 0 done · 1 failed, or a significant drop (regress) · 2 wrong call, setting or file · 3 stopped by the budget ·
130 interrupted; what was done by then is kept.
"""

from __future__ import annotations

import errno
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from memeval.assembly import Surroundings
from memeval.benchmarks.download import Downloader
from memeval.benchmarks.source import CACHE, Sources
from memeval.benchmarks.told import DownloadLines
from memeval.cache import ModelCache
from memeval.calls import Budget, Stop
from memeval.catalog import Catalog
from memeval.errors import BudgetError, ConfigError, MemevalError, StoppedError, UnknownRunError
from memeval.results.files import ResultsDir
from memeval.results.provenance import version
from memoryd.errors import StoreError

_RIGHTS = "Check the path, your rights to it and the space on the disk. What was done is kept; go on with --resume."
EXIT_CODES: dict[type[MemevalError], int] = {ConfigError: 2, UnknownRunError: 2, BudgetError: 3, StoppedError: 130}


@dataclass
class Context:
    """What every command gets."""

    results: ResultsDir
    catalog: Catalog
    cache_dir: Path | None
    offline: bool

    def surroundings(self, budget: float | None = None, *, cache: bool = True) -> Surroundings:
        """What runs share; a budget counts for all runs of the command together."""
        if budget is not None and not budget >= 0:
            raise ConfigError(f"--budget-usd {budget:g} is no budget.", fix="Give a number of US dollars from 0.")
        folder = self.cache_dir / "models" if self.cache_dir and cache else None
        downloads = Downloader(DownloadLines(lambda text: click.echo(text, err=True)))
        sources = Sources(self.cache_dir / "datasets" if self.cache_dir else CACHE, downloads, self.offline)
        return Surroundings(self.catalog, ModelCache(folder), Budget(budget), Stop(), sources)


pass_context = click.make_pass_decorator(Context)


class Root(click.Group):
    """Turns foreseeable faults into a message, a fix and an exit code; never shows a traceback for them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except MemevalError as error:
            tell(error)
            ctx.exit(EXIT_CODES.get(type(error), 1))
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # a reader that has enough; click ends quietly
            tell(MemevalError(f"{_place(error)}: {error.strerror or error}.", fix=_RIGHTS))
            ctx.exit(1)
        except StoreError as error:
            tell(MemevalError(error.message, fix=_RIGHTS))
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(130)


def _place(error: OSError) -> str:
    return str(error.filename or "A file or connection")


def tell(error: MemevalError) -> None:
    """The error and its fix on standard error."""
    click.echo(f"Error: {error.message}", err=True)
    if error.fix:
        click.echo(f"  {error.fix}", err=True)


@contextmanager
def stopped_by_signals(stop: Stop) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM ends the run tidily, the second at once."""
    old = {}

    def handle(number: int, frame: Any) -> None:
        if stop.is_set:
            raise KeyboardInterrupt
        stop.set()
        click.echo("Stopping; what is under way is finished first. Again to stop at once.", err=True)

    try:
        for one in (signal.SIGINT, signal.SIGTERM):
            old[one] = signal.signal(one, handle)
        yield
    finally:
        for one, before in old.items():
            signal.signal(one, before)


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(version(), prog_name="memeval")
@click.option(
    "--results-dir",
    type=click.Path(path_type=Path),
    default=Path("results"),
    envvar="MEMEVAL_RESULTS",
    show_default=True,
    help="Where runs and result files lie.",
)
@click.option(
    "--config-dir",
    "config_dirs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Folder with providers/*.yaml and benchmarks/*.yaml, searched first; may be given several times.",
)
@click.option(
    "--cache-dir",
    type=click.Path(path_type=Path),
    default=Path("~/.cache/memeval"),
    envvar="MEMEVAL_CACHE",
    show_default=True,
    help="Model answers and downloaded data.",
)
@click.option("--offline", is_flag=True, help="Never fetch data.")
@click.pass_context
def cli(ctx: click.Context, results_dir: Path, config_dirs: tuple[Path, ...], cache_dir: Path, offline: bool) -> None:
    """Any memory system × any benchmark, in phases that can be resumed, with numbers that can be trusted."""
    ctx.obj = Context(ResultsDir(results_dir.expanduser()), Catalog.default(config_dirs), cache_dir.expanduser(), offline)
