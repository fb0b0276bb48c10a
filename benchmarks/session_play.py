"""Replay recorded sessions for the session reader: the offers made to the session's own model, and the memories from its answers.

    python -m benchmarks.session_play prepare FOLDER LOG [LOG …]     step through the logs and write one file per offer
    python -m benchmarks.session_play finish FOLDER                  feed the answers to the product and print the kept memories

`prepare` acts like the product: the log grows prompt by prompt, each turn is read by the offline reader when it ends, and
the hook makes an offer with a prompt (at most every third). For each offer, FOLDER/NAME/NN.md contains the conversation
since the previous offer (shortened, without secrets), the prompt, and the exact text that the product adds to it.
FOLDER/TOOL.md contains the description of the tool `settle` that a model has in every session. The last file of a session,
if any, is the offer at the start of the project's next session, which has not seen this one.

The person or model that answers reads TOOL.md once, then the files of a session in order, without any other knowledge, and
writes a file NN.json beside each NN.md with the JSON arguments of the `settle` call, such as

    {"items": [{"id": "a3f9", "keep": true, "content": "…", "kind": "fix", "asked_as": ["…"]}, {"id": "07bc", "keep": false}],
     "own": [{"content": "…", "kind": "environment"}]}

An offer without an answer counts as ignored, and nothing is kept. All offers of a session are made before the first answer
is known, so a line may repeat something that an earlier answer has kept. Such a line should be dropped.

`finish` applies the answers in order with the product's own `settle` and prints, for each session, tokens given, offers,
results, and the memories active afterwards (`origin`: offline, settled or own). FOLDER/memories.json contains only the
memories, as input for `benchmarks.judging`. `finish` works on a copy, so it can be repeated.

In a series, each session starts with the memories of the earlier ones: prepare and finish the first log, then prepare the next
one with `--after FOLDER/NAME` (the folder of the previous one), and so on. FOLDER/NAME/given.json contains everything that a
session was given, at its start and with its prompts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
HOME, COPY, META = "home", "played", "blocks.json"


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


def step(log: Log, stage: Stage, transcript: Path) -> Iterator[Offer]:
    """Step through a session as the product sees it, and yield its offers."""
    lines = log.path.read_bytes().splitlines(keepends=True)
    stage.event("SessionStart", log.session, transcript, source="startup")
    done = 0
    for number, prompt in enumerate(log.prompts(), 1):
        transcript.write_bytes(b"".join(lines[: prompt.line - 1]))
        if prompt.line > 1:
            stage.read("Stop", log.session, transcript)
        stage.clock.reach(prompt.at)
        text = offer_in(stage.event("UserPromptSubmit", log.session, transcript, prompt=typed(prompt)))
        if text:
            yield Offer(text, tuple(turn for turn in log.turns if done <= turn.line < prompt.line), typed(prompt), number)
            done = prompt.line
    transcript.write_bytes(b"".join(lines))
    stage.clock.reach(log.turns[-1].at if log.turns else None)
    stage.read("SessionEnd", log.session, transcript)
    stage.clock.reach(stage.clock.now() + timedelta(hours=1))
    text = offer_in(stage.event("SessionStart", f"{NEXT}-{log.name}", transcript.with_name("next.jsonl"), source="startup"))
    if text:
        yield Offer(text)
    stage.event("SessionEnd", f"{NEXT}-{log.name}", transcript.with_name("next.jsonl"))


def sheet(log: Log, offer: Offer, number: int) -> str:
    """Return the Markdown for one offer, which the player of the model reads."""
    head = f"# {log.name}, offer {number}\n\nAnswer into {number:02d}.json beside this file. See TOOL.md.\n"
    if not offer.number:
        return f"{head}\n## A new session of the project starts. You saw nothing of the last. Memory adds:\n\n{offer.text}\n"
    shown = render(Passage(tuple(map(_brief, offer.turns)), cwd=log.cwd), SHOWN_TOKENS)
    prompt = offer.prompt[:PROMPT_CHARACTERS]
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


def prepare(folder: Path, logs: Sequence[Path], *, after: Path | None = None, rank: str | None = None) -> list[dict[str, Any]]:
    """Make all offers and return a summary for each session.

    `after` is the folder of a finished session from which to continue.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "TOOL.md").write_text(tool_page(), "utf-8")
    return [_prepare_one(folder, load(path), after, rank) for path in logs]


def _prepare_one(folder: Path, log: Log, after: Path | None, rank: str | None) -> dict[str, Any]:
    place = (folder / log.name).absolute()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    code = place / "code" / (Path(log.cwd).name or "project")
    if after is not None:
        shutil.copytree(after / COPY, place / HOME)
        code = Path(json.loads((after / META).read_text("utf-8"))["code"])
    stage = Stage(place / HOME, code, PlayClock(), rank)
    try:
        rows = []
        for number, offer in enumerate(step(log, stage, place / f"{log.session}.jsonl"), 1):
            (place / f"{number:02d}.md").write_text(sheet(log, offer, number), "utf-8")
            rows.append({"number": number, "prompt": offer.number})
    finally:
        stage.close()
    prompts = sum(1 for _ in log.prompts())
    meta = {"log": str(log.path.absolute()), "session": log.session, "code": str(code), "rank": rank, "prompts": prompts}
    (place / META).write_text(json.dumps({**meta, "offers": rows}, indent=1), "utf-8")
    given = [entry for entry in stage.given if entry["session"] == log.session]
    (place / "given.json").write_text(json.dumps(given, indent=1, ensure_ascii=False), "utf-8")
    return {"name": log.name, "prompts": prompts, "offers": len(rows)}


def finish(folder: Path) -> dict[str, Any]:
    """Apply the answers and report the kept memories."""
    sessions, memories = [], []
    for place in sorted(path.parent for path in folder.glob(f"*/{META}")):
        shutil.rmtree(place / COPY, ignore_errors=True)
        shutil.copytree(place / HOME, place / COPY)
        session, kept = _finish_one(place.absolute())
        sessions.append(session)
        memories += kept
    (folder / "memories.json").write_text(json.dumps(memories, indent=1, ensure_ascii=False), "utf-8")
    return {"sessions": sessions, "totals": _totals(sessions, memories), "memories": memories}


def _finish_one(place: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    meta = json.loads((place / META).read_text("utf-8"))
    log = load(Path(meta["log"]))
    clock = PlayClock()
    clock.reach((log.turns[-1].at or clock.now()) + timedelta(days=1) if log.turns else None)
    code = Path(meta["code"])
    stage = Stage(place / COPY, code, clock, meta["rank"])
    state = State(stage.settings.paths.state_db, clock)
    origins: dict[str, str] = {}
    results, ignored = [], 0
    try:
        for row in meta["offers"]:
            answer = _answer(place / f"{row['number']:02d}.json")
            if answer is None:
                ignored += 1
                continue
            session = log.session if row["prompt"] else f"{NEXT}-{log.name}"
            stage.clock.reach(None)
            stage.event("Notification", session, place / f"{session}.jsonl")
            state.touch_session(session, _project(state, log.session), str(code), str(place / f"{session}.jsonl"))
            outcome = stage.api.call("settle", {**answer, "caller": "model", "cwd": str(code)})
            for result in outcome["results"]:
                results.append({"offer": row["number"], **result})
                if result["status"] == "kept":
                    origins[result["memory"]] = "own" if result["id"] == "own" else "settled"
        given = state.offers.of_session(log.session) + state.offers.of_session(f"{NEXT}-{log.name}")
        kept = _kept(stage, log, origins)
    finally:
        state.close()
        stage.close()
    tokens = [entry[2] for entry in given]
    told_session = {
        "name": log.name,
        "prompts": meta["prompts"],
        "offers": len(given),
        "ignored": ignored,
        "tokens": sum(tokens),
        "most_tokens": max(tokens, default=0),
        "shown": sum(entry[3] for entry in given),
        "results": results,
    }
    return told_session, kept


def _project(state: State, session: str) -> str:
    record = state.session(session)
    return record.project if record else ""


def _answer(path: Path) -> dict[str, Any] | None:
    if not path.exists() or not path.read_text("utf-8").strip():
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
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("prepare", help="make the offers")
    made.add_argument("folder", type=Path)
    made.add_argument("logs", type=Path, nargs="+")
    made.add_argument("--after", type=Path, help="folder of a finished session of the same project, whose memory is there")
    made.add_argument("--rank", help="ranking of the scratch homes (bm25 is fastest)")
    played = commands.add_parser("finish", help="apply the answers with the product")
    played.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "prepare":
        answer: Any = prepare(options.folder, options.logs, after=options.after, rank=options.rank)
    else:
        answer = finish(options.folder)
    sys.stdout.write(json.dumps(answer, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
