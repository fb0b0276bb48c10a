"""Write the prepared state of a run as readable files: `db.json`, `vector.json` and `meta.json` for each case.

    db.json      the data received and stored by the system: sessions, model notes, units sent with the returned ids, and
                 Markdown files
    vector.json  each vector with numbers to four decimals, and with its text if known
    meta.json    the run, case, system and data, with counts, times, costs and versions

The files are never read back. The state itself is not changed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from memeval.core.errors import RunError
from memeval.core.types import Phase, Session
from memeval.providers.local import SessionStore, folder_name, sqlite_notes
from memeval.providers.retrieval import cut
from memeval.results.store import Key, RunStore
from memeval.run import phases
from memeval.run import plan as plans
from memeval.run.plan import Plan, RunContext
from memeval.run.result import without_secrets
from memoryd.core.files import write_atomic

DECIMALS = 4


def write_state(store: RunStore, plan: Plan, context: RunContext, folder: Path, case: str = "") -> Iterator[Path]:
    """Write the files of all cases or of one case, and yield the folder of each. Raises RunError if there is no state."""
    state = store.path.parent / "state"
    if not state.is_dir():
        raise RunError(
            f"Run {store.path.parent.name} has no state.", fix="Give a run that ingested on this machine: memeval prepare."
        )
    cases = list(dict.fromkeys(row.case_id for row in store.questions()))
    if case and case not in cases:
        raise RunError(f"Run {store.path.parent.name} has no case {case!r}.", fix=f"It has: {', '.join(cases[:10])}.")
    embedder = _embedder_name(plan, context)
    for case_id in [case] if case else cases:
        scope = phases.scope_of(plan.provider.scoping.run_id_format, store.meta("scope_run"), plan.benchmark.name, case_id)
        target = folder / folder_name(case_id)
        for name, content in _contents(store, plan, state, scope, case_id, embedder):
            write_atomic(target / name, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode(), private=False)
        yield target


def _embedder_name(plan: Plan, context: RunContext) -> str:
    """Return the embedder name used in vector keys, or an empty string for a provider without an embedder."""
    return str(getattr(getattr(plans.make_provider(plan, context), "embedder", None), "name", ""))


def _contents(
    store: RunStore, plan: Plan, state: Path, scope: str, case_id: str, embedder: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    own = state / folder_name(scope)
    sessions = _sessions(state, scope)
    notes = sqlite_notes(lambda _: own).get(scope) if (own / "notes.db").exists() else {}
    sent = _sent(state / "sent.db", scope)
    markdown = {path.relative_to(own).as_posix(): path.read_text("utf-8", "replace") for path in sorted(own.rglob("*.md"))}
    others = {path.relative_to(own).as_posix(): path.stat().st_size for path in sorted(own.rglob("*")) if path.is_file()}
    yield "db.json", {"sessions": [_session(one) for one in sessions], "notes": notes, "sent": sent, "markdown": markdown}
    vectors = _vectors(own / "vectors.db", _texts(sessions, notes), embedder)
    yield "vector.json", {"embedder": embedder, "dimensions": len(vectors[0]["vector"]) if vectors else 0, "vectors": vectors}
    record = store.get(Key(Phase.INGEST, case_id))
    yield (
        "meta.json",
        {
            "run": store.path.parent.name,
            "benchmark": plan.benchmark.name,
            "case": case_id,
            "provider": plan.provider.name,
            "provider_options": without_secrets({**plan.provider.options, **plan.settings.provider_options}),
            "scope": scope,
            "state": f"state/{own.name}",
            "counts": {
                "sessions": len(sessions),
                "turns": sum(len(one.turns) for one in sessions),
                "notes": len(notes),
                "sent": len(sent),
                "markdown": len(markdown),
                "vectors": len(vectors),
            },
            "files": others,
            "ingest": None if record is None else {"status": str(record.status), "seconds": record.seconds, **record.payload},
            "data_hash": (store.meta("plan") or {}).get("data_hash"),
            "created_at": store.meta("created_at"),
            "provenance": store.meta("provenance"),
        },
    )


def _sessions(state: Path, scope: str) -> list[Session]:
    kept = SessionStore(state)
    try:
        return kept.all(scope)
    finally:
        kept.close()


def _session(session: Session) -> dict[str, Any]:
    turns = [
        {"id": turn.id, "role": turn.role, "speaker": turn.speaker, "at": str(turn.at or ""), "text": turn.text}
        for turn in session.turns
    ]
    return {"id": session.id, "at": str(session.at or ""), "turns": turns}


def _sent(path: Path, scope: str) -> list[dict[str, Any]]:
    """Return the units sent to a remote system, with the returned ids."""
    rows = _rows(path, "SELECT unit, remote, session, turns, ready FROM sent WHERE scope = ? ORDER BY number", (scope,))
    return [
        {"unit": unit, "id": remote, "session": session, "turns": json.loads(turns), "indexed": bool(ready)}
        for unit, remote, session, turns, ready in rows
    ]


def _texts(sessions: Sequence[Session], notes: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts that may have a vector: turns and the models' notes on them."""
    yield from (piece.key for piece in cut(sessions, "turn"))
    for note in notes.values():
        for one in note if isinstance(note, list) else [note]:
            text = one[1] if isinstance(one, list) and len(one) == 2 else one
            if isinstance(text, str):
                yield text


def _vectors(path: Path, texts: Iterator[str], embedder: str) -> list[dict[str, Any]]:
    known = {hashlib.sha256(f"{embedder}\0{text}".encode("utf-8", "replace")).digest(): text for text in texts}
    rows = _rows(path, "SELECT key, value FROM vector ORDER BY key", ())
    return [
        {
            "text": known.get(key),
            "key": key.hex()[:16],
            "vector": [round(float(number), DECIMALS) for number in np.frombuffer(value, dtype=np.float16)],
        }
        for key, value in rows
    ]


def _rows(path: Path, statement: str, values: tuple[str, ...]) -> list[Any]:
    """Query a database that may not exist."""
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as db:
            return db.execute(statement, values).fetchall()
    except sqlite3.Error as error:
        raise RunError(f"{path} can't be read: {error}.", fix="Prepare the run again.") from error
