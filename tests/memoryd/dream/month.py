"""A month of sixty synthetic sessions with known truth: what is said, and what must be known after each night."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memoryd.core.config import Settings, load_settings
from memoryd.core.state import State
from memoryd.core.types import Candidate, Kind, MemoryItem, Passage, Polarity, Query, Scope, Source, Status
from memoryd.daydream.reconcile import Reconciler
from memoryd.dream.planner import Planner
from memoryd.dream.sweep import Report, Sweep
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
NIGHTS = 30
CAP = 40
SHOP, BLOG = "shop-1", "blog-2"

# The same question with two later answers: the first day of each, what is said, and what the answer must contain.
PORT = (
    (1, "The staging database listens on port 5432.", "5432"),
    (9, "The staging database listens on port 5544.", "5544"),
    (19, "The staging database listens on port 5655.", "5655"),
)
LANGUAGE = (
    (2, "The user prefers commit messages in English.", "English"),
    (11, "From now on the user prefers commit messages in German instead of English.", "German"),
    (21, "From now on the user prefers commit messages in French instead of German.", "French"),
)
WRONG_PORT = "The staging database listens on port 5999."
RULE = (
    (2, "Always run make lint before committing."),
    (6, "Always run `make lint` before you commit."),
    (11, "Before committing, always run make lint."),
    (17, "Run make lint before each commit, always."),
    (23, "You must always run make lint before committing."),
)
FORBIDDEN = (
    "Use the global Redis cache for user sessions.",
    "Use the global Redis cache for the user sessions!",
    "For user sessions, use the global Redis cache.",
)
FORGOTTEN_ON = 8
SHARED = "The continuous integration runs on Linux runners with Python 3.13."
FREEZE = "The code freeze for the spring release is in force."
FREEZE_ENDS = START + timedelta(days=14)
MODULES = ("basket", "invoice", "ledger", "catalogue", "search", "mailer", "parser", "report", "auth", "queue")
FINDINGS = (
    "module retries uploads on timeouts",
    "tests need a running mail catcher",
    "migration takes an exclusive table lock",
    "endpoint answers with gzip bodies",
    "worker was rewritten in Rust by the platform team",
    "folder holds generated protobuf stubs",
    "dashboard reads from the replica",
    "cron entry fires on weekdays",
    "template is shared with the newsletter",
    "schema has a soft delete column",
    "benchmark is noisy on laptops",
    "client caches tokens in memory",
    "docs are built with mkdocs",
)


@dataclass
class Month:
    """One run of the script in a scratch home."""

    home: Path
    nights: list[Report] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.settings: Settings = load_settings({}, home=str(self.home), embedder="hash", dream_project_cap=CAP)
        self.clock = FakeClock(START)
        self.state = State(self.settings.paths.state_db, self.clock)
        self.store = Orchestrator(self.settings, self.clock, HashEmbedder(256), self.state.ledger)
        self.store.catch_up()
        planning = Planner(self.store, self.state, self.settings, self.clock)
        self.sweep = Sweep(self.store, self.state, self.settings, self.clock, planning)
        self.reconciler = Reconciler(self.store, self.clock)

    def close(self) -> None:
        self.store.close()
        self.state.close()

    # What happens

    def live(self, check: Callable[[Month, int], None]) -> None:
        """Live through thirty days of two sessions each. `check` runs after each night."""
        for day in range(1, NIGHTS + 1):
            self.morning(day)
            self.afternoon(day)
            self.clock.advance(hours=10)
            self.store.settle()
            self.nights.append(self.sweep.run("nightly"))
            self.settle_contradictions()
            self.store.settle()
            check(self, day)
            self.clock.advance(hours=8)

    def morning(self, day: int) -> None:
        """Run a session of the shop with the user's statements."""
        session = f"shop-{day:02}"
        for first, text, _ in PORT:
            if day == first:
                self.hear(session, text, Kind.ENVIRONMENT)
        for first, text, _ in LANGUAGE:
            if day == first:
                self.hear(session, text, Kind.PREFERENCE)
        for first, text in RULE:
            if day == first:
                self.hear(session, text, Kind.RULE, polarity=Polarity.DO)
                self.take_in(f"laptop-{day}", text.replace("make lint", "the command make lint"), Kind.RULE, Polarity.DO)
        if day == 3:
            self.hear(session, FORBIDDEN[0], Kind.DECISION)
            self.store.write(
                MemoryItem(
                    FREEZE, kind=Kind.FACT, project=SHOP, session=session, created_at=self.clock.now(), valid_to=FREEZE_ENDS
                )
            )
        if day == FORGOTTEN_ON:
            for item in self.current("global Redis cache"):
                self.store.forget(item.id)
        self.clock.advance(hours=3)

    def afternoon(self, day: int) -> None:
        """Run a session of the agent in one of two projects, with findings and worthless statements."""
        session = f"work-{day:02}"
        project = SHOP if day % 2 else BLOG
        for number in range(4):
            at = 4 * day + number
            finding = f"The {MODULES[at % len(MODULES)]} {FINDINGS[at % len(FINDINGS)]}."
            self.hear(session, finding, Kind.NOTE, project=project, source=Source.AGENT_STEP)
        if day in (4, 5, 20):
            self.hear(session, SHARED, Kind.ENVIRONMENT, project=project, source=Source.AGENT_STEP)
        if day > FORGOTTEN_ON and day % 4 == 1:
            wording = FORBIDDEN[(day // 4) % len(FORBIDDEN)]
            self.hear(session, wording, Kind.DECISION, project=SHOP, source=Source.AGENT_STEP)
        if day == 15:  # The agent found a fact that contradicts the user's fact. Only the user can decide.
            self.hear(session, WRONG_PORT, Kind.ENVIRONMENT, project=SHOP, source=Source.AGENT_STEP)
        self.clock.advance(hours=3)

    def take_in(self, session: str, text: str, kind: Kind, polarity: Polarity) -> None:
        """Import a memory from another machine's export, bypassing the day dream's comparison."""
        item = MemoryItem(text, kind=kind, polarity=polarity, project=SHOP, session=session, created_at=self.clock.now())
        self.store.write(item)

    def settle_contradictions(self) -> None:
        """Resolve the contradictions that the dream leaves to the user: the agent was wrong."""
        for pair in self.sweep.proposals.page().undecided:
            self.asked += [pair.reason]
            for id in (pair.first, pair.second):
                if self.store.require(id).source is Source.AGENT_STEP:
                    self.store.forget(id)

    def hear(
        self,
        session: str,
        text: str,
        kind: Kind,
        *,
        project: str = SHOP,
        source: Source = Source.USER,
        polarity: Polarity = Polarity.KNOW,
    ) -> None:
        """Process one statement with the day dream."""
        said = Candidate(
            text, kind, polarity, source, at=self.clock.now(), uuids=(f"{session}:{text[:20]}",), scope=Scope.PROJECT
        )
        self.reconciler.keep(said, Passage(turns=(), session=session, project=project))
        self.clock.advance(minutes=7)

    # What is asked

    def ask(self, question: str, **filters: object) -> list[MemoryItem]:
        """Return what a session of the shop receives for a question."""
        query = replace(Query(text=question, project=SHOP, now=self.clock.now()), **filters)  # type: ignore[arg-type]
        return [hit.item for hit in self.store.search(query, 8)]

    def current(self, text: str) -> list[MemoryItem]:
        """Return all active memories with these words."""
        return [item for item in self.store.all() if item.status is Status.ACTIVE and text in item.content]

    def active(self, project: str) -> int:
        """Count the active memories of a project."""
        return sum(item.status is Status.ACTIVE and item.project == project for item in self.store.all())
