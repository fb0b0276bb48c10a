"""The root command and its global options. `report.terminal` describes the exit codes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from memeval.benchmarks.source import CACHE, Downloader, DownloadLines, Sources
from memeval.core.calls import Budget, Stop
from memeval.core.errors import ConfigError
from memeval.models.guarded import ModelCache
from memeval.registry import Catalog
from memeval.report.terminal import faults_reported, note
from memeval.results.files import ResultsDir
from memeval.results.provenance import version
from memeval.run.plan import RunContext


@dataclass
class Context:
    """The context passed to every command."""

    results: ResultsDir
    catalog: Catalog
    cache_dir: Path | None
    offline: bool

    def run_context(self, budget: float | None = None, *, cache: bool = True) -> RunContext:
        """Return the context shared by runs. A budget covers all runs of the command together."""
        if budget is not None and not budget >= 0:
            raise ConfigError(f"--budget-usd {budget:g} is not a valid budget.", fix="Give a non-negative number of US dollars.")
        folder = self.cache_dir / "models" if self.cache_dir and cache else None
        downloads = Downloader(DownloadLines(note))
        sources = Sources(self.cache_dir / "datasets" if self.cache_dir else CACHE, downloads, self.offline)
        return RunContext(self.catalog, ModelCache(folder), Budget(budget), Stop(), sources)


pass_context = click.make_pass_decorator(Context)


class Root(click.Group):
    """The root group, which reports errors through `terminal.faults_reported`."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with faults_reported():
            return super().invoke(ctx)


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(version(), prog_name="memeval")
@click.option(
    "--results-dir",
    type=click.Path(path_type=Path),
    default=Path("results"),
    envvar="MEMEVAL_RESULTS",
    show_default=True,
    help="Folder for runs and result files.",
)
@click.option(
    "--config-dir",
    "config_dirs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Folder with providers/*.yaml and benchmarks/*.yaml, searched first; repeatable.",
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
    """Any memory system × any benchmark, in resumable phases, with figures you can trust."""
    ctx.obj = Context(ResultsDir(results_dir.expanduser()), Catalog.default(config_dirs), cache_dir.expanduser(), offline)
