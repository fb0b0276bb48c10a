"""Measure the offline reader on a folder of labelled session logs, and fit the weights that rank its proposals.

The folder contains `*.jsonl` logs and `gold.json`. `score_extraction.py` is in the same folder or its parent.

    python benchmarks/extraction.py FOLDER                        whole sessions, with the shipped weights
    python benchmarks/extraction.py FOLDER --mode turn        one call per message of the user (mode chunk: as in an import)
    python benchmarks/extraction.py FOLDER --cross-validate session   weights fitted without the measured session
    python benchmarks/extraction.py FOLDER --cross-validate project   weights fitted without any session of its project
    python benchmarks/extraction.py FOLDER --write            fit on all sessions and write heuristic/weights.py
    python benchmarks/extraction.py FOLDER --status active    only active memories (candidate: only proposals)

With both active memories and candidates, recall is an upper bound for a model that decides about the candidates.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from memoryd.core.types import Passage, Status, Turn
from memoryd.daydream.offline import HeuristicExtractor, cues
from memoryd.daydream.offline import weights as weights_module
from memoryd.daydream.offline.reader import Skipped, passage_units
from memoryd.daydream.offline.sentences import episodes
from memoryd.daydream.offline.units import BIAS, CueWeights, Unit
from memoryd.daydream.transcript import ReadLimits, read_all

RIDGE = 12.0
MATCH = 0.5
CONTEXT_TURNS = 6
# The sign of each cue is fixed beforehand. A weight of the opposite sign is noise from a small sample and is dropped.
POSITIVE = frozenset(
    "after interrupt|agreed|answers question|"
    "alone|starts turn|via rejected_tool|via answer|heading good|about request|like the user's|"
    "said twice|nearly said twice|restated|arrow|second sentence|identifiers 2|identifiers 3".split("|")
)
NEGATIVE = frozenset(
    "bare|length tiny|length short|pasted|list|middle|opening|long episode|"
    "first message|heading|heading bad|long turn|identifiers 0|no identifier|via queue".split("|")
)


@dataclass(frozen=True)
class Session:
    """The turns of a log, whole and in the chunks read by an import, and its labels."""

    name: str
    pieces: list[tuple[tuple[Turn, ...], tuple[Turn, ...]]]
    gold: Mapping[str, Any]

    @property
    def turns(self) -> list[Turn]:
        """Return all turns in order."""
        return [turn for turns, _ in self.pieces for turn in turns]

    @property
    def group(self) -> str:
        """Return the key for cross-validation by project. Sessions of one project are left out together."""
        return self.name.rsplit("-", 1)[0]


def load_scorer(folder: Path) -> ModuleType:
    """Load the folder's own scoring script as a module."""
    for place in (folder, folder.parent):
        path = place / "score_extraction.py"
        if path.exists():
            spec = importlib.util.spec_from_file_location("score_extraction", path)
            assert spec and spec.loader
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise SystemExit(f"No score_extraction.py in {folder} or the folder above.")


def load_sessions(folder: Path) -> list[Session]:
    """Return all labelled sessions of the folder."""
    gold = json.loads((folder / "gold.json").read_text(encoding="utf-8"))
    out = []
    for entry in gold:
        name = entry["session"].removesuffix(".jsonl")
        pieces = [(p.turns, p.context) for p in read_all(folder / f"{name}.jsonl", limits=ReadLimits())]
        out.append(Session(name, pieces, entry))
    return out


def passages(session: Session, mode: str) -> Iterator[Passage]:
    """Yield the log as it reaches the extractor: all at once, in chunks as in an import, or after each message of the user."""
    turns = session.turns
    if mode == "session":
        yield Passage(tuple(turns))
    elif mode == "chunk":
        for new, context in session.pieces:
            yield Passage(new, context)
    else:
        done: list[Turn] = []
        for part in episodes(turns):
            new = (*part.user, *part.rest)
            yield Passage(new, tuple(done[-CONTEXT_TURNS:]))
            done += new


def predict(session: Session, weights: CueWeights, mode: str, status: str = "all") -> list[str]:
    """Return the contents extracted by the reader. Identical contents count once, as in the store."""
    extractor = HeuristicExtractor(weights)
    found: dict[str, Status] = {}
    for passage in passages(session, mode):
        extraction = extractor.extract(replace(passage, given=tuple(found)))
        found |= {one.content: one.status for one in extraction.candidates if one.content not in found}
    return [content for content, given in found.items() if status in ("all", given.value)]


def session_units(session: Session) -> list[Unit]:
    """Return all units of a session, before any selection."""
    return list(passage_units(episodes(session.turns), Skipped()))


def is_hit(text: str, gold: Mapping[str, Any], scorer: ModuleType) -> bool:
    """Return whether the text states one of the session's facts, by the scorer's token F1."""
    tokens = scorer.tokens(text)
    variants = [v for f in gold["facts"] for v in (f["text"], *(f.get("alt") or ()), *(f.get("quotes") or ()))]
    return any(scorer.f1(tokens, scorer.tokens(v)) >= MATCH for v in variants)


@dataclass(frozen=True)
class Examples:
    """The units of one speaker as a matrix of cues, with labels and the group of each row."""

    names: list[str]
    matrix: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    sessions: np.ndarray


def examples(sessions: Sequence[Session], by_user: bool, scorer: ModuleType) -> Examples:
    """Return the training rows of all sessions for one speaker."""
    rows = [(s, u) for s in sessions for u in session_units(s) if u.by_user == by_user]
    names = sorted({cue for _, unit in rows for cue in unit.cues})
    matrix = np.array([[1.0, *(float(n in unit.cues) for n in names)] for _, unit in rows])
    labels = np.array([float(is_hit(unit.text, s.gold, scorer)) for s, unit in rows])
    return Examples(names, matrix, labels, np.array([s.group for s, _ in rows]), np.array([s.name for s, _ in rows]))


def sign(name: str) -> int:
    """Return 1 for a cue that may only raise the score, -1 for a cue that may only lower it, and 0 for others."""
    if name in POSITIVE or name in cues.USER_CUES or name in cues.AGENT_CUES:
        return 1
    return -1 if name in NEGATIVE or name.startswith("noise ") else 0


def regress(matrix: np.ndarray, labels: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
    """Fit a logistic regression by Newton's method, with a ridge penalty on all columns except the first."""
    weights = np.zeros(matrix.shape[1])
    penalty = np.full(matrix.shape[1], ridge)
    penalty[0] = 1e-6
    for _ in range(60):
        chance = 1 / (1 + np.exp(-matrix @ weights))
        slope = matrix.T @ (chance - labels) + penalty * weights
        curve = (matrix * (chance * (1 - chance))[:, None]).T @ matrix + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        weights -= step
        if np.abs(step).max() < 1e-6:
            break
    return weights


def fit(data: Examples, without: str = "") -> dict[str, float]:
    """Fit a weight for each cue, leaving out one group or session. Cues with a weight of the wrong sign are dropped."""
    rows = (data.groups != without) & (data.sessions != without)
    signs = np.array([0, *(sign(n) for n in data.names)])
    keep = np.arange(len(signs))
    while True:
        found = regress(data.matrix[rows][:, keep], data.labels[rows])
        wrong = signs[keep] * found < 0
        if not wrong.any():
            break
        keep = keep[~wrong]
    names = [BIAS, *data.names]
    return {names[k]: round(float(w), 2) for k, w in zip(keep, found, strict=True) if abs(w) >= 0.02 or k == 0}


def write_weights(user: Mapping[str, float], agent: Mapping[str, float]) -> None:
    """Write the module with the weights."""
    lines = [
        '"""Weights of the cues in log odds. Fitted by benchmarks/extraction.py --write; don\'t edit by hand."""',
        "",
        "from __future__ import annotations",
        "",
    ]
    lines += ["from collections.abc import Mapping", "from types import MappingProxyType", ""]
    for name, table in (("USER_WEIGHTS", user), ("AGENT_WEIGHTS", agent)):
        lines += [f"{name}: Mapping[str, float] = MappingProxyType(", "    {"]
        lines += [f"        {json.dumps(cue)}: {weight}," for cue, weight in sorted(table.items(), key=lambda i: (-i[1], i[0]))]
        lines += ["    }", ")"]
    Path(str(weights_module.__file__)).write_text("\n".join(lines) + "\n", encoding="utf-8")


def report(
    predictions: Mapping[str, list[str]], sessions: Sequence[Session], scorer: ModuleType, strict: bool, detail: bool
) -> None:
    """Print the scores per session and in total."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.json"
        path.write_text(json.dumps(predictions, ensure_ascii=False), encoding="utf-8")
        total, rows = scorer.score(scorer.load_predictions(str(path)), [s.gold for s in sessions], strict=strict)
    for name, facts, made, matched, junk, obsolete, double, other, missed, bad, unlabelled in rows:
        print(
            f"{name:14s} facts {facts:2d}  made {made:3d}  matched {matched:2d}  junk {junk + obsolete}  "
            f"double {double}  other {other}"
        )
        if detail:
            for mark, texts in (("missed", missed), ("junk", bad), ("other", unlabelled)):
                print("".join(f"    {mark}: {text[:220]}\n" for text in texts), end="")
    print(
        f"P {total['precision']:.3f}  Rw {total['recall_weighted']:.3f}  F1 {total['f1']:.3f}  junk {total['junk_rate']:.3f}  "
        f"made {total['predictions']}  in sessions without facts {total['predictions_in_empty_sessions']}  "
        f"double {total['duplicates']}"
    )
    print("by kind", total["recall_by_kind"], "by importance", total["recall_by_importance"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mode", choices=("session", "chunk", "turn"), default="session")
    parser.add_argument("--cross-validate", choices=("session", "project"), help="session or project to leave out when fitting")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--status", choices=("all", "active", "candidate"), default="all")
    parser.add_argument("--save", type=Path, help="write the predictions to this file, for benchmarks.extraction_errors --before")
    parser.add_argument("--strict", action="store_true", help="leave quotes out of the comparison")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args(argv)
    scorer, sessions = load_scorer(args.folder), load_sessions(args.folder)
    shipped = CueWeights(weights_module.USER_WEIGHTS, weights_module.AGENT_WEIGHTS)
    weights = {s.name: shipped for s in sessions}
    if args.write or args.cross_validate:
        user, agent = examples(sessions, True, scorer), examples(sessions, False, scorer)
        if args.write:
            write_weights(fit(user), fit(agent))
            return 0
        folds = {s.name: s.group if args.cross_validate == "project" else s.name for s in sessions}
        fitted = {fold: CueWeights(fit(user, fold), fit(agent, fold)) for fold in dict.fromkeys(folds.values())}
        weights = {name: fitted[fold] for name, fold in folds.items()}
    began = time.perf_counter()
    predictions = {s.name: predict(s, weights[s.name], args.mode, args.status) for s in sessions}
    took = time.perf_counter() - began
    if args.save:
        args.save.write_text(json.dumps(predictions, ensure_ascii=False, indent=1), encoding="utf-8")
    report(predictions, sessions, scorer, args.strict, args.verbose)
    volume = sum((args.folder / f"{s.name}.jsonl").stat().st_size for s in sessions) / 1e6
    prompts = sum(len([part for part in episodes(s.turns) if part.user]) for s in sessions)
    print(f"{sum(map(len, predictions.values())) / max(1, prompts) * 3:.1f} statements per three prompts ({prompts} prompts)")
    print(f"mode {args.mode}  {took:.2f} s for {volume:.1f} MB of logs: {volume / took:.1f} MB/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
