"""Replay recorded sessions for the session reader: the offers made to the session's own model, and the memories from its answers.

    python -m benchmarks.session_play FOLDER LOG [LOG …]     step through the logs up to the first offer without an answer

The log grows prompt by prompt, each turn is read by the offline reader when it ends, and the hook makes an offer with a
prompt (at most every third), all by the product. For each offer, FOLDER/NAME/NN.md contains the conversation since the
previous offer (shortened, without secrets), the prompt, and the exact text that the product adds to it. FOLDER/TOOL.md
contains the description of the tool `settle` that a model has in every session. The last file of a session, if any, is the
offer at the start of the project's next session, which has not seen this one.

The person or model that answers reads TOOL.md once, then the newest file of each session, without any other knowledge, and
writes a file NN.json beside NN.md with the JSON arguments of the `settle` call, such as

    {"items": [{"id": "a3f9", "keep": true, "content": "…", "kind": "fix", "asked_as": ["…"]}, {"id": "07bc", "keep": false}],
     "own": [{"content": "…", "kind": "environment"}]}

or an empty file to ignore the offer. The command is then run again with the same arguments: it applies the answer with
the product's own `settle`, so that later offers know what was kept, and writes the next offer. An answer can't be changed
once applied. The command prints which sessions wait for an answer and, for finished ones, the tokens given, offers,
results, and the memories active afterwards (`origin`: offline, settled or own). FOLDER/memories.json contains only the
memories, as input for `benchmarks.judging`.

In a series, each session starts with the memories of the earlier ones: finish the first log, then start the next one with
`--after FOLDER/NAME` (the folder of the previous one), and so on. FOLDER/NAME/given.json contains everything that a session
was given, at its start and with its prompts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from memoryd.api.dispatch import Api
from memoryd.api.registry import tools
from memoryd.core.config import Settings, load_settings
from memoryd.core.state import State
from memoryd.core.text import one_line
from memoryd.core.types import Passage, Turn, TurnKind
from memoryd.daydream.model_answer import middle_cut, render
from memoryd.daydream.transcript import ReadLimits, read_all
from memoryd.mcp.server import INSTRUCTIONS

SHOWN_TOKENS = 9_000
OUTPUT_CHARACTERS, FAILED_CHARACTERS = 120, 300
PROMPT_CHARACTERS = 8_000
PROMPTS = frozenset({"prompt", "queue"})
NEXT = "next-session"
HOME, META = "home", "played.json"


class PlayClock:
    """A clock that follows the times in the logs and never goes back."""

    def __init__(self) -> None:
        self._now = datetime(2020, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the current time in the log."""
        return self._now

    def reach(self, moment: datetime | None) -> None:
        """Advance to a moment, but by at least one second."""
        self._now = max(self._now + timedelta(seconds=1), moment or self._now)


@dataclass(frozen=True)
class Log:
    """A recorded session."""

    path: Path
    turns: tuple[Turn, ...]
    session: str
    cwd: str

    @property
    def name(self) -> str:
        """Return the file's name without its suffix."""
        return self.path.stem

    def prompts(self) -> Iterator[Turn]:
        """Yield the prompts typed by the user, the ones that trigger the hook."""
        last = 0
        for turn in self.turns:
            if turn.kind is TurnKind.USER and turn.via in PROMPTS and not turn.sidechain and turn.line > last:
                last = turn.line
                yield turn


def load(path: Path) -> Log:
    """Read a whole log."""
    pieces = list(read_all(path, limits=ReadLimits(tokens=10**9)))
    turns = tuple(turn for piece in pieces for turn in piece.turns)
    session = next((piece.session for piece in pieces if piece.session), path.stem)
    return Log(path, turns, session, next((piece.cwd for piece in pieces if piece.cwd), ""))


def typed(turn: Turn) -> str:
    """Return the prompt as received by the hook."""
    return f"{turn.detail} {turn.text}" if turn.detail.startswith("/") else turn.text


class Stage:
    """A scratch home with one project folder, for stepping through sessions."""

    def __init__(self, home: Path, folder: Path, clock: PlayClock, rank: str | None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.settings: Settings = load_settings({}, home=str(home), rank=rank)
        self.clock = clock
        self.given: list[dict[str, str]] = []
        self.api = Api(self.settings, clock)
        self.api.warm()

    def event(self, name: str, session: str, transcript: Path, **fields: str) -> str:
        """Handle a hook event and return the text that it adds to the session."""
        payload = {"session_id": session, "cwd": str(self.folder), "transcript_path": str(transcript), **fields}
        answer = self.api.hook(name, payload, {})
        context = str(orjson.loads(answer).get("hookSpecificOutput", {}).get("additionalContext", "")) if answer else ""
        if context:
            self.given.append({"session": session, "event": name, "prompt": fields.get("prompt", ""), "text": context})
        return context

    def read(self, name: str, session: str, transcript: Path) -> None:
        """Read the log after it has grown, as after the hook of this name."""
        payload = {"session_id": session, "cwd": str(self.folder), "transcript_path": str(transcript)}
        self.api.drain_spool_record(name, payload, {})
        while (wait := self.api.tick()) is not None and wait <= 0:
            pass

    def close(self) -> None:
        """Close the home."""
        self.api.close()


def offer_in(context: str) -> str:
    """Return the block to settle from the text added by a hook, or an empty string."""
    start = context.find('<memoryd-recall reason="to settle">')
    return context[start:] if start >= 0 else ""


@dataclass(frozen=True)
class Offer:
    """An offer: its text, the conversation it is about, and the prompt it came with."""

    text: str
    turns: tuple[Turn, ...] = ()
    prompt: str = ""
    number: int = 0
    line: int = 0


def step(log: Log, stage: Stage, transcript: Path, last: tuple[int, int] | None = None) -> Iterator[Offer]:
    """Step through a session as the product sees it, and yield its offers.

    Args:
        log: The session.
        stage: The home, as the last offer left it.
        transcript: Where the growing log is written.
        last: Number and line of the prompt of the last offer, to continue after it. (0, 0) if it was made to the next session.
    """
    lines = log.path.read_bytes().splitlines(keepends=True)
    after, done = last or (0, 0)
    if last is None:
        stage.event("SessionStart", log.session, transcript, source="startup")
    for number, prompt in enumerate(log.prompts(), 1):
        if number <= after or last == (0, 0):
            stage.clock.reach(prompt.at)
            continue
        transcript.write_bytes(b"".join(lines[: prompt.line - 1]))
        if prompt.line > 1:
            stage.read("Stop", log.session, transcript)
        stage.clock.reach(prompt.at)
        text = offer_in(stage.event("UserPromptSubmit", log.session, transcript, prompt=typed(prompt)))
        if text:
            yield Offer(
                text, tuple(turn for turn in log.turns if done <= turn.line < prompt.line), typed(prompt), number, prompt.line
            )
            done = prompt.line
    stage.clock.reach(log.turns[-1].at if log.turns else None)
    if last != (0, 0):
        transcript.write_bytes(b"".join(lines))
        stage.read("SessionEnd", log.session, transcript)
        stage.clock.reach(stage.clock.now() + timedelta(hours=1))
        text = offer_in(stage.event("SessionStart", f"{NEXT}-{log.name}", transcript.with_name("next.jsonl"), source="startup"))
        if text:
            yield Offer(text)
    stage.event("SessionEnd", f"{NEXT}-{log.name}", transcript.with_name("next.jsonl"))


def sheet(log: Log, offer: Offer, number: int, returned: str) -> str:
    """Return the Markdown for one offer, which the player of the model reads. `returned` is the result of the last call."""
    head = f"# {log.name}, offer {number}\n\nAnswer into {number:02d}.json beside this file. See TOOL.md.\n"
    if not offer.number:
        return f"{head}\n## A new session of the project starts. You saw nothing of the last. Memory adds:\n\n{offer.text}\n"
    shown = render(Passage(tuple(map(_brief, offer.turns)), cwd=log.cwd), SHOWN_TOKENS)
    prompt = offer.prompt[:PROMPT_CHARACTERS]
    if returned:
        head += f"\n## Your last call of `settle` returned\n\n{returned}\n"
    return (
        f"{head}\n## The conversation since the last offer (shortened; the model has it whole)\n\n{shown}\n"
        f"\n## Now the user sends prompt {offer.number}\n\n{prompt}\n\n## Memory adds to it\n\n{offer.text}\n"
    )


def _brief(turn: Turn) -> Turn:
    """Truncate tool output. Its findings are repeated in the assistant's words, and reading it would take most of the time."""
    if turn.kind is not TurnKind.TOOL_RESULT:
        return turn
    return replace(turn, text=middle_cut(one_line(turn.text), FAILED_CHARACTERS if turn.error else OUTPUT_CHARACTERS))


def tool_page() -> str:
    """Return the instructions about memory that a model gets in every session."""
    operation = tools()["settle"]
    outcome = operation.tool.description if operation.tool else operation.summary
    schema = json.dumps(operation.input_schema(), indent=1, ensure_ascii=False)
    return (
        "# You play the assistant of the session\n\nYou work on the user's prompt as ever; only your call of `settle` counts, "
        "beside that work. Write its arguments as JSON into NN.json for each NN.md, in order. Know nothing but these files.\n\n"
        f"## What the server says about itself\n\n{INSTRUCTIONS}\n\n## settle\n\n{outcome}\n\n```json\n{schema}\n```\n"
    )


def play(folder: Path, logs: Sequence[Path], *, after: Path | None = None, rank: str | None = None) -> dict[str, Any]:
    """Step through the logs with the answers so far and report what was kept.

    `after` is the folder of a finished session from which to continue.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "TOOL.md").write_text(tool_page(), "utf-8")
    played = [_play_one(folder, load(path), after, rank) for path in logs]
    sessions = [entry for entry in played if "waiting" not in entry]
    memories = [memory for entry in sessions for memory in entry.pop("memories")]
    (folder / "memories.json").write_text(json.dumps(memories, indent=1, ensure_ascii=False), "utf-8")
    waiting = [entry for entry in played if "waiting" in entry]
    return {"waiting": waiting, "sessions": sessions, "totals": _totals(sessions, memories), "memories": memories}


def _play_one(folder: Path, log: Log, after: Path | None, rank: str | None) -> dict[str, Any]:
    """Return the report on a session, or `waiting` with the file to answer. A finished session is not played again."""
    place = (folder / log.name).absolute()
    code = place / "code" / (Path(log.cwd).name or "project")
    if (place / META).exists():
        played = Played(**json.loads((place / META).read_text("utf-8")))
    else:
        place.mkdir(exist_ok=True)
        played = Played(str(code))
        if after is not None:
            shutil.copytree(after / HOME, place / HOME)
            played.code = json.loads((after / META).read_text("utf-8"))["code"]
    page = place / f"{played.offers:02d}.md"
    if played.report is None and not (played.offers and not page.with_suffix(".json").exists()):
        stage = Stage(place / HOME, Path(played.code), PlayClock(), rank)
        stage.given = played.given
        try:
            _go_on(stage, log, place, played)
        finally:
            stage.close()
        (place / META).write_text(json.dumps(asdict(played), indent=1), "utf-8")
        given = [entry for entry in stage.given if entry["session"] == log.session]
        (place / "given.json").write_text(json.dumps(given, indent=1, ensure_ascii=False), "utf-8")
    if played.report is not None:
        return {**played.report}
    return {"name": log.name, "waiting": str(place / f"{played.offers:02d}.md")}


@dataclass
class Played:
    """How far a session was played: the folder of its code, the last offer and its prompt, and the results of the answers."""

    code: str
    offers: int = 0
    last: tuple[int, int] | None = None
    ignored: int = 0
    results: list[dict[str, Any]] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    given: list[dict[str, str]] = field(default_factory=list)
    report: dict[str, Any] | None = None


def _go_on(stage: Stage, log: Log, place: Path, played: Played) -> None:
    """Apply the answer to the last offer, and step on to the next offer without an answer or to the end."""
    steps = step(log, stage, place / f"{log.session}.jsonl", None if played.last is None else (played.last[0], played.last[1]))
    if played.offers:
        # Before the generator runs, the clock still has to reach the prompt of the offer.
        stage.clock.reach(next((prompt.at for n, prompt in enumerate(log.prompts(), 1) if n == (played.last or (0,))[0]), None))
        _apply(stage, place / f"{played.offers:02d}.json", played)
    for offer in steps:
        played.offers, played.last = played.offers + 1, (offer.number, offer.line)
        page = place / f"{played.offers:02d}.md"
        returned = [entry for entry in played.results if entry["offer"] == played.offers - 1]
        page.write_text(sheet(log, offer, played.offers, json.dumps(returned) if returned else ""), "utf-8")
        if not page.with_suffix(".json").exists():
            return
        _apply(stage, page.with_suffix(".json"), played)
    with closing(State(stage.settings.paths.state_db, stage.clock)) as state:
        given = state.offers.of_session(log.session) + state.offers.of_session(f"{NEXT}-{log.name}")
    tokens = [entry[2] for entry in given]
    played.report = {
        "name": log.name,
        "prompts": sum(1 for _ in log.prompts()),
        "offers": len(given),
        "ignored": played.ignored,
        "tokens": sum(tokens),
        "most_tokens": max(tokens, default=0),
        "shown": sum(entry[3] for entry in given),
        "results": played.results,
        "memories": _kept(stage, log, played.origins),
    }


def _apply(stage: Stage, path: Path, played: Played) -> None:
    answer = _answer(path)
    if answer is None:
        played.ignored += 1
        return
    outcome = stage.api.call("settle", {**answer, "caller": "model", "cwd": str(stage.folder)})
    for result in outcome["results"]:
        played.results.append({"offer": played.offers, **result})
        if result["status"] == "kept":
            played.origins[result["memory"]] = "own" if result["id"] == "own" else "settled"


def _answer(path: Path) -> dict[str, Any] | None:
    if not path.read_text("utf-8").strip():
        return None
    value = json.loads(path.read_text("utf-8"))
    if not isinstance(value, dict):
        raise SystemExit(f"{path}: expected an object with items and own.")
    return value


def _kept(stage: Stage, log: Log, origins: Mapping[str, str]) -> list[dict[str, Any]]:
    lines = {turn.uuid: turn.line for turn in log.turns if turn.uuid}
    sessions = {log.session, f"{NEXT}-{log.name}"}
    listed = stage.api.call("list_memories", {"project": "all", "limit": 1000})["memories"]
    out = []
    for brief in reversed(listed):
        if brief["session"] not in sessions:
            continue
        memory = stage.api.call("get_memory", {"id": brief["id"]})["memory"]
        uuids = memory["evidence"]["lines"]
        out.append(
            {
                "session": log.name,
                "content": memory["content"],
                "kind": memory["kind"],
                "polarity": memory["polarity"],
                "source": memory["source"],
                "origin": origins.get(memory["id"], "offline"),
                "lines": [lines[uuid] for uuid in uuids if uuid in lines],
                "asked_as": memory.get("asked_as", []),
                "id": memory["id"],
            }
        )
    return out


def _totals(sessions: Sequence[Mapping[str, Any]], memories: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    by_origin = {name: sum(m["origin"] == name for m in memories) for name in ("offline", "settled", "own")}
    statuses: dict[str, int] = {}
    for session in sessions:
        for result in session["results"]:
            statuses[result["status"]] = statuses.get(result["status"], 0) + 1
    tokens = sum(session["tokens"] for session in sessions)
    return {
        "sessions": len(sessions),
        "prompts": sum(session["prompts"] for session in sessions),
        "offers": sum(session["offers"] for session in sessions),
        "ignored": sum(session["ignored"] for session in sessions),
        "tokens": tokens,
        "tokens_per_session": round(tokens / len(sessions), 1) if sessions else 0,
        "results": statuses,
        "memories": by_origin,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--after", type=Path, help="folder of a finished session of the same project, whose memory is there")
    parser.add_argument("--rank", help="ranking of the scratch homes (bm25 is fastest)")
    options = parser.parse_args(arguments)
    report = play(options.folder, options.logs, after=options.after, rank=options.rank)
    sys.stdout.write(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
