"""A store as after a year of work: 5,000 memories of four projects, reproducible by seed."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memoryd.core.config import Settings
from memoryd.core.ledger import UseKind
from memoryd.core.project import ProjectRegistry
from memoryd.core.state import Run, State
from memoryd.core.types import Evidence, Kind, Link, LinkType, MemoryItem, Polarity, Scope, Source, Status, Usage
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
PROJECTS = ("harbour-api", "seed-catalogue", "tram-planner", "dotfiles")
TOOLS = "pnpm pytest docker postgres redis vite ruff cargo gradle kafka nginx terraform git make uv".split()
THINGS = """checkout form, invoice export, login page, search index, nightly backup, mail queue, price table, report builder,
seat map, timetable import, user settings, image cache, audit log, rate limiter, feature flags, retry policy, release script,
test fixtures, error page, payment webhook""".replace("\n", " ").split(", ")
PLACES = (
    "src/api/routes.py src/db/schema.sql web/app.tsx scripts/release.sh infra/main.tf tests/conftest.py docs/setup.md".split()
)
REASONS = (
    "it kept the build green",
    "the old way broke twice in March",
    "the customer asked for it",
    "it is what the rest of the code does",
    "CI has no network there",
    "two people lost an afternoon to it",
)
FORMS: dict[Kind, tuple[str, ...]] = {
    Kind.RULE: ("Always run `{tool} check` before touching {place}.", "Never edit {place} by hand; it is made by {tool}."),
    Kind.PREFERENCE: (
        "I like the {thing} kept in one file, with {tool} for the rest.",
        "Answer in short sentences about the {thing}.",
    ),
    Kind.DECISION: ("We decided to keep the {thing} in {tool}, because {reason}.", "The {thing} moves to {tool} next quarter."),
    Kind.FACT: ("The {thing} lives in {place} and is started by {tool}.", "The {thing} is limited to {n} requests a minute."),
    Kind.FIX: ("`{tool}` failed with exit code {n} when {place} was missing: run it from the root.",),
    Kind.DEAD_END: ("Rewriting the {thing} with {tool} did not help: {reason}.",),
    Kind.ENVIRONMENT: ("{tool} is version {n}.{m} on the build machine.", "The {thing} needs port {n}."),
    Kind.TODO: ("The {thing} still has no test for {place}.",),
    Kind.NOTE: ("**{tool}** and the {thing}:\n\n- look at `{place}`\n- {reason}\n- see <https://example.org/{n}>",),
}
HOSTILE = (
    "<script>document.title='owned'</script> in the {thing}",
    "<img src=x onerror=\"document.title='owned'\"> [press](javascript:alert(1)) ![pixel](http://192.0.2.1/p.png)",
    '"><svg onload=alert(1)> {{ 7*7 }} {% raw %} \u202egnp.exe',
)


def transcript(path: Path, random_: random.Random, cwd: str, start: datetime, turns: int = 30) -> list[str]:
    """Write a session log like Claude Code; return the uuids of its lines."""
    uuids, lines = [], []
    for number in range(turns):
        uuid = f"{random_.getrandbits(128):032x}"
        role = "user" if number % 2 == 0 else "assistant"
        text = f"Turn {number}: {random_.choice(THINGS)} and {random_.choice(PLACES)}, {random_.choice(REASONS)}."
        content = text if role == "user" else [{"type": "text", "text": text}]
        entry = {
            "type": role,
            "uuid": uuid,
            "sessionId": path.stem,
            "cwd": cwd,
            "timestamp": (start + timedelta(minutes=number)).isoformat(),
            "message": {"role": role, "content": content},
        }
        uuids.append(uuid)
        lines.append(json.dumps(entry))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return uuids


class Maker:
    """Generates `count` memories. The newest is an hour older than NOW."""

    def __init__(self, folder: Path, registry: ProjectRegistry, count: int, seed: int = 7) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.count = count
        self.folders = {}
        for name in PROJECTS:
            (folder / name).mkdir(parents=True, exist_ok=True)
            self.folders[registry.resolve(folder / name).id] = folder / name
        self.sessions = self._sessions(max(8, count // 40))

    def _sessions(self, number: int) -> list[tuple[str, str, datetime, Path, list[str]]]:
        out = []
        for index in range(number):
            project = self.random.choice(list(self.folders))
            start = NOW - timedelta(days=365 * (number - index) / number)
            name = f"{self.random.getrandbits(32):08x}-aaaa-4bbb-8ccc-{self.random.getrandbits(48):012x}"
            path = self.folder / "logs" / f"{name}.jsonl"
            uuids = transcript(path, self.random, str(self.folders[project]), start) if index >= number - 12 else []
            out.append((name, project, start, path, uuids))
        return out

    def text(self, kind: Kind) -> str:
        """Return one statement."""
        pick = self.random.choice
        return pick(FORMS[kind]).format(
            tool=pick(TOOLS), thing=pick(THINGS), place=pick(PLACES), reason=pick(REASONS), n=self.random.randint(1, 9000), m=3
        )

    def items(self, hostile: bool = True) -> list[MemoryItem]:
        """Return all memories. Some are superseded, forgotten, pinned, linked, or hostile."""
        made: list[MemoryItem] = []
        for number in range(self.count):
            made.append(self._item(number, made))
        for number, text in enumerate(HOSTILE if hostile else ()):
            made[-1 - number] = replace(made[-1 - number], content=text.replace("{thing}", "mail queue"), status=Status.ACTIVE)
        return made

    def _item(self, number: int, before: list[MemoryItem]) -> MemoryItem:
        pick = self.random.choice
        place = min(len(self.sessions) - 1, number * len(self.sessions) // self.count)
        session, project, start, path, uuids = self.sessions[place]
        kind = self.random.choices(list(Kind), weights=[6, 5, 12, 30, 14, 6, 12, 5, 10])[0]
        source = self.random.choices(list(Source), weights=[50, 25, 15, 5, 3, 2, 0])[0]
        rule = kind is Kind.RULE and source is Source.USER
        status = self.random.choices(list(Status), weights=[84, 4, 9, 3])[0]
        created = start + timedelta(minutes=number % 600)
        links = []
        if before and self.random.random() < 0.3:
            links.append(Link(LinkType.RELATES_TO, pick(before[-200:]).id))
        if before and self.random.random() < 0.02:
            links.append(Link(LinkType.CONTRADICTS, pick(before[-200:]).id))
        tool = pick(TOOLS)
        return MemoryItem(
            content=self.text(kind),
            id=f"mem_{number:04x}{self.random.getrandbits(32):08x}",
            kind=kind,
            polarity=pick([Polarity.DO, Polarity.DONT]) if rule else Polarity.KNOW,
            scope=Scope.USER if self.random.random() < 0.04 else Scope.PROJECT,
            project=project,
            session=session,
            source=source,
            confidence=round(self.random.uniform(0.5, 0.95), 2),
            tags=tuple(sorted({tool, pick(["build", "deploy", "style", "data", "test"])})),
            entities=(tool, pick(PLACES)),
            status=status,
            links=(*links, Link(LinkType.MENTIONS, tool)),
            created_at=created,
            valid_from=created,
            expired_at=None if status is Status.ACTIVE else created + timedelta(days=3),
            evidence=Evidence(transcript=str(path), lines=(pick(uuids),) if uuids else ()),
            pinned=status is Status.ACTIVE and self.random.random() < 0.01,
        )


def fill(settings: Settings, folder: Path, count: int = 5_000, hostile: bool = True) -> list[MemoryItem]:
    """Write the store, the sessions and the uses of memories to the home folder."""
    registry = ProjectRegistry(settings.paths.projects)
    maker = Maker(folder, registry, count)
    clock = FakeClock(NOW)
    state = State(settings.paths.state_db, clock)
    service = Orchestrator(settings, clock, HashEmbedder(), state.ledger)
    items = maker.items(hostile)
    service.write_many(items)
    for session, project, start, path, _ in maker.sessions[-60:]:
        clock.advance(seconds=(start - clock.now()).total_seconds())
        state.touch_session(session, project, str(maker.folders[project]), str(path))
        theirs = [item.id for item in items if item.session == session]
        state.record_injection(session, theirs[:3], "SessionStart")
        state.ledger.record_use(theirs[3:5], session, UseKind.RETURNED)
        skipped = {"small talk": 9, "no statement": 14}
        run = Run(session, str(path), project, start.isoformat(), 0, 9_000, 30, len(theirs), 2, skipped, "", "heuristic")
        state.record_run(replace(run, usage=Usage(1, 900, 80, 0.0004)))
        state.end_session(session)
    service.settle()
    service.close()
    state.close()
    return items


__all__ = ["NOW", "PROJECTS", "Maker", "fill", "transcript"]
