"""Recompute the figures of documents from stored scores (`memeval verify`).

`<docs>/results/*.json` contains the scores of runs, one value per question and no text (`memeval export --format
scores`). `<docs>/figures.yaml` maps tables to the scores they are computed from. In a page, a table is enclosed in
`<!-- figures: NAME -->` and `<!-- end -->`, and must equal the recomputed one. A figure that can't be recomputed
belongs in a section with the comment `<!-- measured once: COMMAND -->`. A comment before the first section covers the
page. In all other sections of a page listed in `figures.yaml`, each decimal number and percentage must occur in one
of the tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memeval import stats
from memeval.core.errors import ConfigError, DataError, RunError
from memeval.report.runs import RunResult
from memeval.report.table import NONE, Table, p_value, percent, points
from memeval.run.result import interval_of
from memeval.specs import parse_yaml
from memoryd.core.files import write_atomic

KIND = "memeval-scores"
DIGITS = 6
FAILED, UNSCORED = "failed", "unscored"
"""Markers stored in place of a value. Both count as 0. A skipped question is stored as null."""
_BLOCK = re.compile(r"(<!-- figures: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_ANY_BLOCK = re.compile(r"<!-- (?:figures|generated): [\w-]+ -->.*?<!-- end -->", re.DOTALL)
_ONCE = re.compile(r"<!-- measured once: [^\n]+ -->")
_NO_FIGURES = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)\n]*\)|<!--.*?-->|https?://\S+", re.DOTALL | re.MULTILINE)
_FIGURE = re.compile(r"(?<![\w.])[−+-]?(\d{0,5}\.\d{1,6}|\d{1,5}(?=\s?%))(?![\w]|\.\d)")
_HEADING = re.compile(r"^#{2,6} ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of a run by metric, in question order, with the cluster of each question."""

    name: str
    data_hash: str
    seed: int
    clusters: tuple[str, ...]
    values: Mapping[str, tuple[float | str | None, ...]]
    categories: tuple[str, ...] = ()
    tokens: tuple[int | None, ...] = ()
    measured: Mapping[str, float] = field(default_factory=dict)
    commit: str = ""

    def counted(self, metric: str, category: str = "") -> list[tuple[str, float]]:
        """Return the cluster and value of each counted question. Raises DataError for a metric that is not stored."""
        return [
            (self.clusters[n], _number(value))
            for n, value in enumerate(self._of(metric))
            if value is not None and category in ("", self.categories[n])
        ]

    def by_position(self, metric: str) -> dict[str, float | None]:
        """Return the values by position, in the form required by `stats.compare`."""
        return {
            str(n): None if value is None or value == UNSCORED else _number(value) for n, value in enumerate(self._of(metric))
        }

    def _of(self, metric: str) -> Sequence[float | str | None]:
        if metric not in self.values:
            raise DataError(f"The scores {self.name} have no {metric}.", fix=f"Stored are: {', '.join(self.values) or 'none'}.")
        return self.values[metric]


def _number(value: float | str | None) -> float:
    return 0.0 if isinstance(value, str) or value is None else float(value)


def scores_of(run: RunResult, metrics: Sequence[str] = ()) -> dict[str, Any]:
    """Return a run's scores for storage. Questions are identified only by position, so that no text of a data set is stored."""
    names = list(metrics) or list(run.metric_names)
    for name in names:
        run.require(name)
    numbers = {cluster: n for n, cluster in enumerate(dict.fromkeys(question.cluster for question in run.questions))}
    kinds = list(dict.fromkeys(question.category for question in run.questions))
    p50 = run.find("times", "latency", "search", "p50")
    return {
        "kind": KIND,
        "schema_version": 1,
        "run_id": run.run_id,
        "benchmark": run.benchmark,
        "provider": run.provider,
        "finished_at": run.finished_at,
        "provenance": {
            "memeval_version": run.find("provenance", "memeval_version"),
            "commit": (run.find("provenance", "git") or {}).get("commit"),
        },
        "data_hash": run.data_hash,
        "seed": run.find("seed"),
        "settings": {
            key: _public(value) for key, value in (run.find("settings") or {}).items() if value not in ("", None, {}, [])
        },
        "measured": {"search_p50": p50} if p50 is not None else {},
        "clusters": [numbers[question.cluster] for question in run.questions],
        "categories": {"names": kinds, "of": [kinds.index(question.category) for question in run.questions]},
        "tokens": [question.tokens for question in run.questions],
        "values": {name: [_stored(question.entry(name)) for question in run.questions] for name in names},
    }


def _public(value: Any) -> Any:
    """Return a setting without local folders. An absolute path is reduced to its file name."""
    if isinstance(value, Mapping):
        return {key: _public(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_public(one) for one in value]
    return Path(value).name if isinstance(value, str) and value.startswith(("/", "~")) else value


def _stored(entry: Any) -> float | str | None:
    if entry.value is not None:
        short = round(float(entry.value), DIGITS)
        return int(short) if short.is_integer() else short
    return None if entry.status == "skipped" else str(entry.status)


def scores_text(data: Mapping[str, Any]) -> str:
    """Format a scores file with one line per list of values."""
    rows = {**data, "settings": data["settings"]}
    lines = []
    for key, value in rows.items():
        if key == "values":
            inner = ",\n  ".join(f"{json.dumps(name)}: {_compact(numbers)}" for name, numbers in value.items())
            lines.append(f'"values": {{\n  {inner}\n }}')
        else:
            lines.append(f"{json.dumps(key)}: {_compact(value)}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_scores(path: Path) -> Scores:
    """Read a scores file. Raises DataError with the file and the problem."""
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["kind"] != KIND:
            raise ValueError(f"its kind is {data['kind']!r}")
        clusters = tuple(map(str, data["clusters"]))
        values = {name: tuple(numbers) for name, numbers in data["values"].items()}
        for name, numbers in values.items():
            if len(numbers) != len(clusters):
                raise ValueError(f"{name} has {len(numbers)} values for {len(clusters)} questions")
            if wrong := [one for one in numbers if not isinstance(one, int | float | None) and one not in (FAILED, UNSCORED)]:
                raise ValueError(f"{name} has the value {wrong[0]!r}")
        kinds = data["categories"]
        return Scores(
            path.stem,
            data["data_hash"],
            int(data["seed"] or 0),
            clusters,
            values,
            tuple(kinds["names"][n] for n in kinds["of"]),
            tuple(data["tokens"]),
            data["measured"],
            str(data["provenance"].get("commit") or ""),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is not a file of scores: {error}.", fix="Create it with: memeval export RUN --format scores -o FILE"
        ) from None


class Figures:
    """The tables of `figures.yaml`, recomputed from the scores next to it."""

    def __init__(self, docs: Path) -> None:
        self._docs = docs
        self._file = docs / "figures.yaml"
        if not self._file.is_file():
            raise ConfigError(f"There is no {self._file}.", fix="Give the folder of the documents: memeval verify --docs DIR")
        data = parse_yaml(self._file.read_text("utf-8"), str(self._file))
        try:
            self.pages = [docs / str(page) for page in data["pages"]]
            self._tables: dict[str, Mapping[str, Any]] = dict(data["tables"])
        except (KeyError, TypeError) as error:
            raise ConfigError(f"{self._file} has no pages or tables ({error}).", fix="Give both.") from None
        self._scores: dict[str, Scores] = {}

    def names(self) -> list[str]:
        """Return the names of all tables."""
        return list(self._tables)

    def table(self, name: str) -> str:
        """Return a table as Markdown. Raises ConfigError or DataError."""
        if name not in self._tables:
            raise ConfigError(f"{self._file} has no table {name!r}.", fix=f"It has: {', '.join(self._tables)}.")
        spec = self._tables[name]
        try:
            made = self._pairs(spec) if "pairs" in spec else self._values(spec)
        except (KeyError, TypeError) as error:
            raise ConfigError(f"{self._file}: table {name} is missing {error}.", fix="See the other tables.") from None
        return _markdown(made)

    def _scores_of(self, name: str) -> Scores:
        if name not in self._scores:
            self._scores[name] = read_scores(self._docs / "results" / f"{name}.json")
        return self._scores[name]

    def _values(self, spec: Mapping[str, Any]) -> Table:
        """Tabulate one row per run.

        A column is a metric (in per cent with its interval), `count:METRIC` (successes), `mean:METRIC`, or `tokens`, `search_p50`
        or `commit`. `METRIC{CATEGORY}` is limited to one category of questions.
        """
        columns: Mapping[str, str] = spec["columns"]
        rows = [
            (label, *(_cell(self._scores_of(name), what) for what in columns.values())) for label, name in spec["rows"].items()
        ]
        return Table((str(spec.get("head", "provider")), *columns), tuple(rows), frozenset(columns))

    def _pairs(self, spec: Mapping[str, Any]) -> Table:
        """Tabulate one row per pair and metric, with the p-value after Holm's correction over the table."""
        labels: Mapping[str, str] = spec["rows"]
        found = []
        for metric, metric_label in spec["metrics"].items():
            for first, second in spec["pairs"]:
                one, other = self._scores_of(labels[first]), self._scores_of(labels[second])
                found.append((f"{first} – {second}", metric_label, _compared(one, other, metric)))
        holm = stats.holm({str(n): pair.p for n, (_, _, pair) in enumerate(found)})
        columns = ("first – second", "metric", "questions", "difference", "95 % interval", "wins / losses / ties", "p (Holm)")
        rows = [
            (
                label, metric, str(pair.questions), points(pair.difference),
                f"{points(pair.interval.low)} to {points(pair.interval.high)}",
                f"{pair.wins} / {pair.losses} / {pair.ties}", p_value(holm[str(n)]),
            )
            for n, (label, metric, pair) in enumerate(found)
        ]  # fmt: skip
        return Table(columns, tuple(rows), frozenset(columns[2:]))


def _compared(one: Scores, other: Scores, metric: str) -> stats.Comparison:
    if one.data_hash != other.data_hash or one.clusters != other.clusters:
        raise DataError(
            f"The scores {one.name} and {other.name} are for different questions.", fix="Only pair runs of one selection."
        )
    clusters = {str(n): cluster for n, cluster in enumerate(one.clusters)}
    pair = stats.compare(one.by_position(metric), other.by_position(metric), seed=stats.SEED, clusters=clusters)
    if pair is None:
        raise DataError(f"The scores {one.name} and {other.name} share no value of {metric}.", fix="Name another metric.")
    return pair


def _cell(scores: Scores, what: str) -> str:
    if what == "tokens":
        known = [number for number in scores.tokens if number is not None]
        return f"{sum(known) / len(known):,.0f}" if known else NONE
    if what == "search_p50":
        return f"{scores.measured[what] * 1000:.3g} ms" if what in scores.measured else NONE
    if what == "commit":
        return scores.commit[:7] or NONE
    kind, _, rest = what.rpartition(":")
    metric, _, category = rest.partition("{")
    counted = scores.counted(metric, category.rstrip("}"))
    if not counted:
        return NONE
    total = sum(value for _, value in counted)
    if kind == "count":
        return f"{total:.0f} of {len(counted)}"
    if kind == "mean":
        return f"{total / len(counted):.3f}"
    found = interval_of(counted, scores.seed)
    span = f" [{percent(found['low'])}, {percent(found['high'])}]" if found else ""
    return f"{percent(total / len(counted))}{span}"


def _markdown(table: Table) -> str:
    """Format a table as Markdown for a page, with system names unescaped."""
    lines = [table.columns, ["---:" if name in table.numbers else "---" for name in table.columns], *table.rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Problem:
    """A figure that contradicts the stored scores or can't be traced to them."""

    page: Path
    line: int
    text: str


def verify(docs: Path) -> list[Problem]:
    """Recompute all tables and check the pages. Raises ConfigError or DataError if this is impossible."""
    figures = Figures(docs)
    tables = {name: figures.table(name) for name in figures.names()}
    texts = {page: _read(page) for page in figures.pages}
    problems = [problem for page, text in texts.items() for problem in _stale(page, text, tables)]
    shown = {match["name"] for text in texts.values() for match in _BLOCK.finditer(text)}
    problems += [Problem(docs / "figures.yaml", 1, f"no page shows the table {name}") for name in tables if name not in shown]
    known = {figure for table in tables.values() for figure in _figures(table)}
    problems += [problem for page, text in texts.items() for problem in _unaccounted(page, text, known)]
    return problems


def rewrite(docs: Path) -> list[Path]:
    """Write the recomputed tables into the pages. Return the changed pages."""
    figures = Figures(docs)
    changed = []
    for page in figures.pages:
        text = _read(page)
        new = _BLOCK.sub(lambda match: f"{match[1]}{figures.table(match['name'])}{match[3]}", text)
        if new != text:
            write_atomic(page, new.encode(), private=False)
            changed.append(page)
    return changed


def _read(page: Path) -> str:
    try:
        return page.read_text("utf-8")
    except OSError as error:
        raise RunError(f"{page} can't be read: {error}.", fix="Correct `pages` in figures.yaml.") from None


def _stale(page: Path, text: str, tables: Mapping[str, str]) -> Iterator[Problem]:
    for match in _BLOCK.finditer(text):
        name, shown = match["name"], match[0][len(match[1]) : -len(match[3])]
        if name not in tables:
            yield Problem(page, _line(text, match.start()), f"figures.yaml has no table {name}")
        elif shown != tables[name]:
            pairs = zip(shown.splitlines(), tables[name].splitlines(), strict=False)
            differing = next(((n, new) for n, (old, new) in enumerate(pairs) if old != new), (0, "a different number of rows"))
            yield Problem(page, _line(text, match.start()) + 1 + differing[0], f"table {name} should have: {differing[1]}")


def _unaccounted(page: Path, text: str, known: set[str]) -> Iterator[Problem]:
    starts = [0, *(match.start() for match in _HEADING.finditer(text)), len(text)]
    if _ONCE.search(text[: starts[1]]):
        return
    for start, end in zip(starts, starts[1:], strict=False):
        section = text[start:end]
        if _ONCE.search(section):
            continue
        bare = _NO_FIGURES.sub(_blank, _ANY_BLOCK.sub(_blank, section))
        for match in _FIGURE.finditer(bare):
            if _plain(match[1]) not in known:
                yield Problem(
                    page,
                    _line(text, start + match.start()),
                    f"{match[0]} is not in any table, and is not marked as measured once",
                )


def _blank(match: re.Match[str]) -> str:
    """Replace a text with spaces but keep its line breaks, so that positions remain correct."""
    return re.sub(r"[^\n]", " ", match[0])


def _figures(text: str) -> set[str]:
    return {_plain(found) for found in re.findall(r"\d*\.\d+|\d+", text)}


def _plain(figure: str) -> str:
    """Drop leading zeros before the decimal point and trailing zeros, so that .80 equals 0.8."""
    whole, point, rest = figure.partition(".")
    return f"{whole.lstrip('0')}{point}{rest}".rstrip("0").rstrip(".") if point else whole


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
