"""The demo's sessions answer the demo's questions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoryd.core.config import Settings
from memoryd.core.state import State
from memoryd.core.types import Query
from memoryd.daydream.pipeline import DayDream
from memoryd.demo.__main__ import QUESTIONS
from memoryd.demo.sessions import SESSIONS, write_session
from memoryd.embed.onnx import OnnxEmbedder
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock

ANSWERS = ("5433", "staging", "pg-boss", "npm run lint", "applyDiscount", "")


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


def test_every_question_of_the_demo_is_answered_by_what_its_sessions_left(
    settings: Settings, clock: FakeClock, embedder: OnnxEmbedder, tmp_path: Path
) -> None:
    service = Orchestrator(settings, clock, embedder)
    service.catch_up()
    state = State(tmp_path / "state.db", clock)
    daydream = DayDream(service, state, settings, clock, embedder=embedder)
    for name, steps in SESSIONS.items():
        log = tmp_path / f"{name}.jsonl"
        write_session(log, name, steps, str(tmp_path), datetime(2026, 1, 5, tzinfo=UTC))
        state.enqueue(str(log), name, str(tmp_path), "SessionEnd")
        clock.advance(days=1)
        job = state.due_job()
        assert job is not None
        daydream.run_job(job)
    service.settle()
    try:
        for question, answer in zip(QUESTIONS, ANSWERS, strict=True):
            hits = service.search(Query(text=question, needs_semantic=True), 1)
            if answer:
                assert answer in hits[0].item.content, question
    finally:
        service.close()
        state.close()
