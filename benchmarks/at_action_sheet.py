# ruff: noqa: E501 - the script of the sessions reads best one call per line
"""Write a sheet for blind judging of the memories injected at the moment of action.

Ten scripted sessions, spread over two weeks in one project, run twice: once with memory at prompts only, and once
with memory at tool calls as well. The sheet lists the injected texts and their moments in random order. Their origins
are in the key.

    python benchmarks/at_action_sheet.py FOLDER
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from memoryd.core.config import load_settings
from memoryd.core.project import ProjectRegistry
from memoryd.core.state import State
from memoryd.core.tool_calls import ToolCall
from memoryd.core.types import Kind, MemoryItem, Polarity, Source
from memoryd.embed import make_embedder
from memoryd.language.entities import find_entities
from memoryd.recall.at_action import AtAction
from memoryd.recall.injection import Injector, SessionEvent
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock

# Memories learned at the end of each session. Later sessions may need them.
LEARNT: tuple[tuple[tuple[Kind, str], ...], ...] = (
    (
        (Kind.RULE, "In packages/web use npm, not pnpm."),
        (Kind.FACT, "The tariff table is loaded once in src/tariff.py by load_tariffs()."),
    ),
    ((Kind.DEAD_END, "Caching parcels in src/cache.py with lru_cache served stale prices; it was taken out again."),),
    (
        (
            Kind.FIX,
            "`pytest tests/db` failed with OperationalError because the compose file was not up; `docker compose up -d db` cured it.",
        ),
    ),
    ((Kind.DECISION, "Money is kept as integer cents in src/money.py because floats drifted."),),
    (
        (Kind.ENVIRONMENT, "Postgres of this project listens on port 5433."),
        (Kind.DEAD_END, "Parallel migrations in migrations/env.py deadlock."),
    ),
    ((Kind.FIX, "`npm run build` failed with ERR_OSSL_EVP_UNSUPPORTED; NODE_OPTIONS=--openssl-legacy-provider cured it."),),
    ((Kind.FACT, "Labels are rendered by render_label in src/label.py, which expects millimetres."),),
    ((Kind.RULE, "Never edit files under generated/ by hand."),),
    ((Kind.DEAD_END, "Retrying the carrier API in src/carrier.py more than twice gets the account blocked."),),
    (),
)
Call = tuple[str, dict[str, str], str]
WORK: tuple[tuple[str, tuple[Call, ...]], ...] = (
    ("Set up the project.", (("Bash", {"command": "ls"}, ""), ("Read", {"file_path": "src/tariff.py"}, ""))),
    ("Make price lookups faster.", (("Read", {"file_path": "src/cache.py"}, ""), ("Grep", {"pattern": "load_tariffs"}, ""))),
    ("Run the database tests.", (("Bash", {"command": "pytest tests/db"}, "Exit code 1: OperationalError: connection refused"),)),
    ("Add a discount column.", (("Edit", {"file_path": "src/tariff.py", "old_string": "a", "new_string": "load_tariffs()"}, ""),)),
    ("Add a migration for discounts.", (("Write", {"file_path": "migrations/env.py", "content": ""}, ""), ("Bash", {"command": "git status"}, ""))),
    ("Build the web client.", (("Bash", {"command": "cd packages/web && npm run build"}, "Exit code 1: code: 'ERR_OSSL_EVP_UNSUPPORTED'"),)),
    ("Show prices on the label.", (("Read", {"file_path": "src/label.py"}, ""), ("Edit", {"file_path": "src/money.py", "old_string": "", "new_string": "x"}, ""))),
    ("Speed up quotes again, perhaps with a cache.", (("Edit", {"file_path": "src/cache.py", "old_string": "", "new_string": "lru_cache"}, ""),)),
    ("The database tests fail on my new machine.", (("Bash", {"command": "pytest tests/db"}, "Exit code 1: sqlalchemy.exc.OperationalError: connection refused"), ("Bash", {"command": "docker ps"}, ""))),
    ("Quotes fail now and then; make the carrier call sturdier.", (("Read", {"file_path": "src/carrier.py"}, ""), ("Write", {"file_path": "generated/api.py", "content": "x"}, ""), ("Edit", {"file_path": "src/label.py", "old_string": "", "new_string": "render_label(3)"}, ""), ("Bash", {"command": "npm run build"}, ""))),
)  # fmt: skip


def moments(folder: Path, with_tools: bool) -> list[tuple[str, str]]:
    """Run the sessions. Return the injected texts as (moment, text)."""
    settings = replace(load_settings({}, home=str(folder / "home")), inject_tools=with_tools, inject_session=False)
    clock, registry = FakeClock(), ProjectRegistry(settings.paths.projects)
    root = folder / "parcels"
    for name in (".git", "packages/web", "src", "generated", "migrations"):
        (root / name).mkdir(parents=True)
    project = registry.resolve(root)
    service, state = Orchestrator(settings, clock, make_embedder(settings)), State(settings.paths.state_db, clock)
    injector = Injector(service, state, settings, clock, registry)
    at_action = AtAction(service, state, settings, clock, injector.code)
    out: list[tuple[str, str]] = []
    for number, (prompt, calls) in enumerate(WORK):
        session = f"session {number + 1}"
        state.touch_session(session, project.id, str(root), "")
        out.append(
            (f"{session}, prompt: {prompt}", injector.prompt(SessionEvent(session, project, prompt=prompt, cwd=str(root))))
        )
        for tool, values, error in calls:
            call = ToolCall(tool, values, str(root), str(root), session, project.id)
            shown = f"{session} ({prompt}), {tool} {json.dumps(values)}"
            replies = [
                (shown, at_action(call)),
                *([(f"{shown} failed: {error}", at_action(replace(call, error=error)))] if error else []),
            ]
            out += [(moment, reply.context) for moment, reply in replies if reply]
        clock.advance(seconds=timedelta(days=1.4).total_seconds())
        for kind, text in LEARNT[number]:
            by_user = kind is Kind.RULE
            item = MemoryItem(text, kind=kind, project=project.id, session=session, entities=find_entities(text),
                              polarity=Polarity.DO if by_user else Polarity.KNOW,
                              source=Source.USER if by_user else Source.AGENT_STEP)  # fmt: skip
            service.write(item)
        service.settle()
    service.close()
    return [(moment, text) for moment, text in out if text]


def main(target: Path) -> None:
    """Write sheet.txt and key.json."""
    rows = []
    for origin, with_tools in (("prompts", False), ("tools", True)):
        with tempfile.TemporaryDirectory() as folder:
            rows += [(origin, *moment) for moment in moments(Path(folder), with_tools)]
    random.Random(16).shuffle(rows)
    head = "For each item: was what memory gave at this moment useful, neutral or harmful?\n\n"
    items = [f"## {number}\nmoment: {moment}\ngiven:\n{text}\n" for number, (_, moment, text) in enumerate(rows, 1)]
    (target / "sheet.txt").write_text(head + "\n".join(items), "utf-8")
    (target / "key.json").write_text(json.dumps({number: row[0] for number, row in enumerate(rows, 1)}), "utf-8")
    print(f"{len(rows)} items")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
