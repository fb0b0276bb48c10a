"""Sessions by the content that decides them, on disk: the same one is paid once, over all runs.

Kept are sessions of which nothing but their answer is needed afterwards: questions, whose state is thrown away, and tasks of the
arm without memory, with their grades, since a task begins from a fresh checkout and nothing is carried on. What makes memory
(replays, and tasks of arms that remember) is always done anew: its effects lie in files that hold the paths of their run.

The key has client version, address, model, arm with the digest of plugin and settings, limits, prompt, flags, the id of the
session (benchmark, sequence, step, repeat), and the text of all that the session can remember.

As with model calls, an entry remembers who paid for it: a run that was killed between a session and its record gets the entry
as its own, so that a resumed run tells what an undisturbed one does. Everybody else gets it as cached, at no cost.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from memeval.claudecode.contract import ErrorKind, SessionResult, Step, ToolCall
from memeval.claudecode.memories import MEMORY_ID, Given
from memeval.claudecode.sandbox import State
from memeval.claudecode.sessions import Outcome
from memeval.results.codec import score_from_json, score_to_json, usage_from_json, usage_to_json
from memeval.types import Score
from memoryd.files import write_atomic
from memoryd.paths import Paths
from memoryd.types import Usage

FORM = 1
_OF_THE_RUN = re.compile(r"^(?:project|created_at|updated_at|expired_at|valid_to): .*$|transcript: [^,}]*", re.MULTILINE)


class SessionCache:
    """One JSON file for each session. Without a folder nothing is kept. A broken file counts as absent."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, key: str, payer: str) -> tuple[Outcome, tuple[Score, ...]] | None:
        """What became of the session, and its grades if they were kept."""
        if self._folder is None:
            return None
        try:
            data = json.loads(self._path(key).read_bytes())
            own = bool(payer) and data["payer"] == payer
            return _outcome(data, own=own), tuple(score_from_json(one) for one in data["scores"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, payer: str, outcome: Outcome, scores: Sequence[Score] = ()) -> None:
        """Keep a session that ended with an answer."""
        if self._folder is None or not outcome.result.ok:
            return
        told = {one.id for one in outcome.given}
        result = asdict(replace(outcome.result, transcript=None, init={}, tool_calls=()))
        data = {
            "payer": payer,
            "result": result | {"usage": usage_to_json(outcome.result.usage), "init": dict(outcome.result.init)},
            "tool_calls": [_call(call) for call in outcome.result.tool_calls],
            "attempts": outcome.attempts,
            "given": [asdict(one) for one in outcome.given],
            "files": {name: text for name, text in outcome.files.items() if name in told},
            "written": dict(outcome.written),
            "daydreams": dict(outcome.daydreams),
            "scores": [score_to_json(score) for score in scores],
        }
        write_atomic(self._path(key), json.dumps(data, ensure_ascii=False, sort_keys=True, default=str).encode())

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / key[:2] / f"{key}.json"


def _call(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": dict(call.arguments), "result": call.result, "is_error": call.is_error}


def _outcome(data: Mapping[str, Any], *, own: bool) -> Outcome:
    told = data["result"]
    paid = usage_from_json(told["usage"])
    usage = paid if own else Usage(0, paid.input_tokens, paid.output_tokens, 0.0, cached_calls=max(1, paid.calls))
    calls = tuple(ToolCall(**call) for call in data["tool_calls"])
    return Outcome(
        SessionResult(**{**told, "usage": usage, "tool_calls": calls, "error": ErrorKind.NONE}),
        data["attempts"] if own else 0,
        tuple(Given(**one) for one in data["given"]),
        data["files"],
        data["written"],
        data["daydreams"],
        cached=not own,
    )


def session_key(decides: Mapping[str, Any], step: Step, session_id: str, memory: Sequence[str]) -> str:
    """SHA-256 over all that decides a session. `decides` is what the sessions of a cell have in common."""
    content = [FORM, dict(decides), step.prompt, step.folder, list(step.flags), session_id, sorted(memory)]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False, sort_keys=True, default=str).encode()).hexdigest()


def remembered(state: State, root: Path) -> list[str]:
    """The text of both memories, without what differs from run to run: ids, the project, when one was written or ended."""
    builtin = [f"{path.partition('/memory/')[2]}\n{text}" for path, text in state.builtin_memory().items()]
    files = sorted(Paths(state.memory_home).memories.rglob("mem_*.md"))
    plugin = [MEMORY_ID.sub("", _OF_THE_RUN.sub("", path.read_text("utf-8", "replace"))) for path in files]
    return [text.replace(str(root), "") for text in (*builtin, *plugin)]
