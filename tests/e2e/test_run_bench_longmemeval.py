"""LongMemEval with the real client in all arms: three questions, in a tiny file of its format or in your own data.

LONGMEMEVAL_DATA specifies a file of the data set. LONGMEMEVAL_QUESTIONS specifies ids of questions in it whose
answers it contains literally.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.bench import Rememberer, asked, bench, trajectories
from tests.e2e.model_server import ModelServer

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

FACTS = [
    ("u1", "What is the name of my new sailing boat?", "Marigold", "I finally bought a sailing boat and named it Marigold."),
    ("u2", "Where do I take pottery classes?", "Kiln Corner", "I take pottery classes at Kiln Corner every Tuesday evening."),
    ("u3", "What do I feed my tortoise?", "dandelion leaves", "I always feed my tortoise dandelion leaves, never lettuce."),
]


def _session(*said: str) -> list[dict[str, str]]:
    return [turn for text in said for turn in ({"role": "user", "content": text}, {"role": "assistant", "content": "I see."})]


def _tiny(path: Path) -> Path:
    """Write three questions, each with its evidence session and an unrelated one."""
    records = [
        {
            "question_id": name,
            "question_type": "single-session-user",
            "question": question,
            "answer": answer,
            "question_date": "2023/06/01 (Thu) 10:00",
            "haystack_dates": ["2023/05/01 (Mon) 09:00", "2023/05/20 (Sat) 18:30"],
            "haystack_session_ids": [f"answer_{name}_1", f"other_{name}"],
            "haystack_sessions": [_session("Good morning.", fact), _session("How do I boil rice without a lid?")],
            "answer_session_ids": [f"answer_{name}_1"],
        }
        for name, question, answer, fact in FACTS
    ]
    path.write_text(json.dumps(records))
    return path


def _records(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    read: list[dict[str, Any]] = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    return read


@pytest.fixture
def data(tmp_path: Path) -> Path:
    named = os.environ.get("LONGMEMEVAL_DATA")
    return Path(named) if named else _tiny(tmp_path / "longmemeval.json")


@pytest.fixture
def model(data: Path) -> Iterator[ModelServer]:
    made = ModelServer(Rememberer({str(one["question"]): [str(one["answer"])] for one in _records(data)}))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("mode", "index", "recalled"),
    [("off", False, False), ("builtin", True, False), ("plugin", False, True), ("both", True, True)],
)
def test_accuracy_follows_from_what_each_arm_remembers(
    model: ModelServer, data: Path, tmp_path: Path, mode: str, index: bool, recalled: bool
) -> None:
    wanted = os.environ.get("LONGMEMEVAL_QUESTIONS", ",".join(name for name, *_ in FACTS))
    chosen = [one for one in _records(data) if one["question_id"] in wanted.split(",")]
    flags = ("-b", "longmemeval-s", "--data", str(data), "--questions", wanted, "--mode", mode, "--workers", "2")
    (cell,) = bench(model, tmp_path, *flags, "--embedder", "", "--run-id", "g")["cells"]
    bodies = asked(model)
    assert len(bodies) == cell["questions"]["done"] == 3
    for text in bodies:
        assert ("MEMORY.md" in text) is index, text[-2000:]
        assert ("<memoryd-recall" in text) is recalled, text[-2000:]
    known = 0
    for one in chosen:
        (body,) = [text for text in bodies if one["question"] in text]
        known += str(one["answer"]).lower() in body.replace(one["question"], "").lower()
    assert cell["metrics"]["accuracy"]["value"] == pytest.approx(known / 3)
    if not os.environ.get("LONGMEMEVAL_DATA"):
        assert known == (0 if mode == "off" else 3)
    replayed = 0 if mode == "off" else sum(len(one["haystack_sessions"]) for one in chosen)
    lines = trajectories(tmp_path, cell["run_id"])
    assert len(lines) == replayed + 3
    assert {line["status"] for line in lines} == {"done"}
    assert not [text for text in bodies if "answer_" in text or str(data) in text]
    print(f"{mode}: accuracy {known}/3, MEMORY.md {index}, recall {recalled}, {len(lines)} sessions")  # noqa: T201
