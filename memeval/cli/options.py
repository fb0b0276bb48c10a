"""Flags shared by several commands, and their conversion to settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from memeval.core.errors import ConfigError
from memeval.core.types import GRANULARITIES
from memeval.metrics.targets import VARIANTS
from memeval.run.settings import OPTIONS, READERS, Selection, Settings, Shard
from memeval.specs import parse_yaml

Command = TypeVar("Command", bound=Callable[..., Any])


def _all(options: Sequence[Callable[[Any], Any]]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_NAMES = "Name, or path of a YAML file. Accepts several."

what_options = _all([
    click.option("--benchmarks", "--benchmark", "-b", "benchmarks", multiple=True, help=_NAMES),
    click.option("--providers", "--provider", "-p", "providers", multiple=True, help=_NAMES),
    click.option("--data", multiple=True, metavar="PATH|NAME=PATH", help="Your copy of the data (of several, by name)."),
    click.option("--run-id", help="Id of the run; with several cells, the prefix of their ids."),
])  # fmt: skip

selection_options = _all([
    click.option("--limit", type=int, help="Maximum number of questions."),
    click.option("--start", type=int, help="First question, starting at 1."),
    click.option("--end", type=int, help="Last question, included."),
    click.option("--shard", help="Part i of n, as i/n; merge the parts with `memeval merge`."),
    click.option("--question-type", "types", multiple=True, help="Unified type, or the benchmark's own category."),
    click.option("--questions", help="Ids, separated by commas."),
    click.option("--dev-slice", type=float, help="Share of the questions, stratified by type, e.g. 0.12."),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the dev slice and of intervals."),
])  # fmt: skip

search_options = _all([
    click.option("--top-k", type=int, default=10, show_default=True, help="Number of hits passed to the answering model."),
    click.option("--search-k", type=click.IntRange(0), default=0, help="Hits to request (default: enough for the metrics)."),
    click.option("--threshold", type=float, help="Drop hits with a lower score (default: the benchmark's)."),
    click.option("--granularity", type=click.Choice(GRANULARITIES), help="Unit of retrieval (default: the benchmark's)."),
    click.option("--retriever", type=click.Choice(["bm25", "dense", "hybrid"]), help="Shorthand for --providers with that name."),
    click.option(
        "--key-expansion", is_flag=False, flag_value="context", metavar="[KINDS]",
        help="Provider option keyExpansion: find pieces by more than their text. Without a model: context. With a "
        "model also summary, keyphrase, userfact, event, separated by commas."),
    click.option("--time-aware", is_flag=True, help="Provider option timeAware: use dates in the question."),
    click.option("--variant", type=click.Choice(list(VARIANTS)), help="Protocol of retrieval metrics."),
    click.option("--provider-option", "provider_options", multiple=True, metavar="KEY=VALUE", help="Option of the provider."),
    click.option("--benchmark-option", "benchmark_options", multiple=True, metavar="KEY=VALUE", help="Option of the loader."),
    click.option("--embedder", default="", help="Measure relevancy with this embedder: bge-small or hash."),
    click.option("--index-timeout", type=float, default=600.0, show_default=True, help="Seconds to wait for indexing."),
    click.option("--allow-empty", is_flag=True, help="Score a run even if no search finds anything."),
])  # fmt: skip

answer_options = _all([
    click.option("--answering-model", "-m", default="", help="openai/…, openrouter/…, URL#model, claude-cli/…, extractive."),
    click.option("--answer-prompt", default="", help="Prompt: a name, a file, or text with {question} and {memories}."),
    click.option("--reader", type=click.Choice(READERS), default="direct", show_default=True,
                 help="con: notes first; con-session: a note on each session first."),
    click.option("--abstain-below", type=float, metavar="P",
                 help="Ask the model for its confidence, and withhold answers below P (0 to 1; 0: only ask)."),
    click.option("--epochs", type=click.IntRange(1, 100), default=1, show_default=True,
                 help="Answer and judge each question this many times; intervals then cover the variance between answers."),
    click.option("--model-option", "model_options", multiple=True, metavar="KEY=VALUE", help="Option of the answering model."),
])  # fmt: skip

judge_options = _all([
    click.option("--judge", default="", help="Judge by name (f1, exact, llm, …, comma-separated), or a model for llm."),
    click.option("--judge-model", default="", help="Model of the judge; pinned and recorded."),
    click.option("--judge-model-option", "judge_model_options", multiple=True, metavar="KEY=VALUE", help="Option of its model."),
    click.option("--judge-prompt", default="", help="Prompt of the judge: a name, a file, or text."),
])  # fmt: skip

work_options = _all([
    click.option(
        "--concurrency", type=click.IntRange(1, 256), help="Concurrent calls (default: 4; a local provider: 2 cases, 1 search)."
    ),
    click.option("--budget-usd", type=float, help="Stop before the total cost of model calls exceeds this."),
    click.option("--no-cache", is_flag=True, help="Do not use stored model answers."),
])  # fmt: skip


executor_options = _all([
    click.option("--executor", type=click.Choice(["local", "ray"]), default="local", show_default=True,
                 help="Where to do the work: on this machine, or on all nodes of a Ray cluster."),
    click.option("--ray-address", default="", envvar="RAY_ADDRESS",
                 help="With --executor ray: the cluster (default: the one running on this machine)."),
])  # fmt: skip


def given() -> dict[str, str]:
    """Return the flags given on the command line of the current command, by parameter name."""
    context = click.get_current_context()
    named = {param.name: param.opts[0] for param in context.command.params if param.name}
    return {name: flag for name, flag in named.items() if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}


def spread(arguments: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Rewrite `--providers a b` as `--providers a --providers b`, as click requires."""
    out: list[str] = []
    current = ""
    for position, word in enumerate(arguments):
        if word.startswith("-"):
            current = word if word in flags else ""
            out.append(word)
        elif current and position and arguments[position - 1] != current:
            out += [current, word]
        else:
            out.append(word)
    return out


SPREAD = ("benchmarks", "providers")


class SpreadCommand(click.Command):
    """A command whose `--benchmarks`, `--providers` and `--compare` accept several values."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Spread the values, then parse the arguments."""
        flags = [flag for param in self.params if param.multiple and param.name in SPREAD for flag in param.opts]
        return super().parse_args(ctx, spread(args, flags))


def key_values(pairs: Sequence[str], flag: str) -> dict[str, Any]:
    """Parse `key=value` pairs.

    Values are parsed as YAML, so 3 is a number and true is a boolean. A dotted key creates nested mappings.
    """
    out: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise ConfigError(f"{flag} {pair!r} is not KEY=VALUE.", fix="Write e.g. k1=1.2.")
        *path, last = key.split(".")
        place = out
        for part in path:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise ConfigError(f"{flag} {pair!r}: {part} already has a value.", fix="Give either a value or parts.")
        place[last] = parse_yaml(value, flag)
    return out


def selection(values: Mapping[str, Any]) -> Selection:
    """Build the selection from the flags of `selection_options`."""
    return Selection(
        limit=values["limit"],
        start=values["start"],
        end=values["end"],
        shard=Shard.parse(values["shard"]) if values["shard"] else None,
        types=tuple(values["types"]),
        questions=tuple(part.strip() for part in (values["questions"] or "").split(",") if part.strip()),
        dev_slice=values["dev_slice"],
        seed=values["seed"],
    )


def judge_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the judge. A judge name with a slash is a model for the judge `llm`."""
    judge, model = values["judge"], values["judge_model"]
    if "/" in judge and "," not in judge:
        judge, model = "llm", model or judge
    return {
        "judge": judge,
        "judge_model": model,
        "judge_prompt": _prompt(values["judge_prompt"]),
        "judge_model_options": key_values(values["judge_model_options"], "--judge-model-option"),
    }


def _prompt(reference: str) -> str:
    """Replace a file name with its full path, so that a resumed run finds the file from any folder."""
    path = Path(reference)
    return str(path.resolve()) if reference and "{" not in reference and path.is_file() else reference


def settings(benchmark: str, provider: str, values: Mapping[str, Any]) -> Settings:
    """Build the settings from all flags."""
    provider_options = key_values(values["provider_options"], "--provider-option")
    for name, flag in (("keyExpansion", "key_expansion"), ("timeAware", "time_aware")):
        if values[flag]:
            provider_options[name] = True if values[flag] in (True, "context") else values[flag]
    return Settings(
        benchmark=spec_path(benchmark),
        provider=spec_path(provider),
        answering_model=values.get("answering_model", ""),
        answer_prompt=_prompt(values.get("answer_prompt", "")),
        top_k=values["top_k"],
        search_k=values["search_k"],
        threshold=values["threshold"],
        granularity=values["granularity"] or "",
        reader=values.get("reader", "direct"),
        abstain_below=values.get("abstain_below"),
        epochs=values.get("epochs", 1),
        variant=values["variant"] or "",
        data=data_of(benchmark, values),
        seed=values["seed"],
        index_timeout=values["index_timeout"],
        allow_empty=values["allow_empty"],
        embedder=values["embedder"],
        selection=selection(values),
        provider_options=provider_options,
        benchmark_options=key_values(values["benchmark_options"], "--benchmark-option"),
        model_options=key_values(values.get("model_options", ()), "--model-option"),
        **(judge_settings(values) if "judge" in values else {}),
    )


def data_of(benchmark: str, values: Mapping[str, Any]) -> str:
    """Return the path given with --data for a benchmark.

    A value is `NAME=PATH`, or only a path if there is a single benchmark. Raises ConfigError.
    """
    by_name: dict[str, str] = {}
    for entry in values["data"]:
        name, sign, path = entry.partition("=")
        if sign and not Path(entry).exists():
            by_name[name] = path
        elif len(values["benchmarks"]) > 1 or "" in by_name:
            raise ConfigError(f"--data {entry}: there are several benchmarks.", fix="Specify the benchmark: --data NAME=PATH.")
        else:
            by_name[""] = entry
    if unknown := by_name.keys() - {"", *values["benchmarks"]} if values["benchmarks"] else set():
        raise ConfigError(
            f"--data refers to {min(unknown)!r}, which is not run.", fix=f"Benchmarks: {', '.join(values['benchmarks'])}."
        )
    path = by_name.get(benchmark, by_name.get("", ""))
    if path and not Path(path).exists():
        raise ConfigError(f"--data: {path} does not exist.", fix="Correct the path.")
    return str(Path(path).resolve()) if path else ""


def reusing(kept: Mapping[str, Any], values: Mapping[str, Any]) -> Settings:
    """Return the settings of a run that reuses phases of another run.

    Flags that are not given default to that run's settings in `kept`.
    """
    words = [*values["benchmarks"], *values["providers"], *([values["retriever"]] if values["retriever"] else [])]
    if len(values["benchmarks"]) > 1 or len(words) - len(values["benchmarks"]) > 1:
        raise ConfigError("--from requires one benchmark and one provider.", fix="Give one of each, or none.")
    provider = values["retriever"] or next(iter(values["providers"]), kept["provider"])
    merged = settings(next(iter(values["benchmarks"]), kept["benchmark"]), provider, values).to_json()
    flags = given()
    for name, old in kept.items():
        if name in OPTIONS:
            merged[name] = {**old, **merged[name]}
        elif name not in ("benchmark", "provider") and name not in flags:
            merged[name] = old
    return Settings.from_json(merged)


def stem(name: str) -> str:
    """Return the name of a benchmark or provider, for use in run ids."""
    return Path(name).stem


def spec_path(name: str) -> str:
    """Return the full path of a YAML file, so that a resumed run finds it from any folder. Names are returned unchanged."""
    return str(Path(name).resolve()) if name.endswith((".yaml", ".yml")) else name
