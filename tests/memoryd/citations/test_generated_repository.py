from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memoryd.citations.check import CodeCheck, CodeState, overall
from tests.memoryd.citations.generated import GeneratedRepository

COMMITS, MEMORIES, SEEDS = 60, 100, (12,)


def grown(root: Path, seed: int, commits: int = COMMITS) -> GeneratedRepository:
    repository = GeneratedRepository(root, seed)
    while repository.commits < commits:
        repository.step()
        for _ in range(2):
            if len(repository.learnt) < MEMORIES:
                repository.learn()
    return repository


@pytest.mark.slow
def test_states_of_100_memories_after_60_commits_are_right(tmp_path: Path) -> None:
    right, total, seen, wrong = 0, 0, set[CodeState](), list[str]()
    for seed in SEEDS:
        repository = grown(tmp_path / str(seed), seed)
        assert all(learnt.cites for learnt in repository.learnt)
        for branch in sorted(repository.branches):
            repository.checkout(branch)
            check = CodeCheck()
            for learnt in repository.learnt:
                check.quick(repository.root, learnt.cites)
            check.settle()
            for learnt in repository.learnt:
                found, expected = overall(check.quick(repository.root, learnt.cites)), repository.expected(learnt)
                seen.add(expected)
                total, right = total + 1, right + (found.state is expected)
                wrong += [] if found.state is expected else [f"{seed} {branch} {learnt}: {found}, expected {expected.name}"]
    assert seen == set(CodeState)
    assert right >= 0.98 * total, f"{right}/{total}\n" + "\n".join(wrong)


def test_states_after_a_few_commits_are_right(tmp_path: Path) -> None:
    repository, check = grown(tmp_path / "r", 17, commits=12), CodeCheck()
    for learnt in repository.learnt:
        check.quick(repository.root, learnt.cites)
    check.settle()
    found = [overall(check.quick(repository.root, learnt.cites)).state for learnt in repository.learnt]
    assert found == [repository.expected(learnt) for learnt in repository.learnt]


def test_cited_code_that_was_compared_before_starts_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository, check = grown(tmp_path / "r", 13, commits=12), CodeCheck()
    hits = [cited for learnt in repository.learnt[:8] for cited in learnt.cites]
    check.quick(repository.root, hits)
    check.settle()
    before = check.quick(repository.root, hits)

    def refuse(*_arguments: object, **_named: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert check.quick(repository.root, hits) == before
