from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memoryd.citations.cite import renewed
from memoryd.core.types import Citation, Status
from memoryd.dream.stages import CODE_CHANGED, CODE_GONE
from tests.memoryd.citations.generated import git
from tests.memoryd.dream.sweeping import World, item, planned, sweep_of


def cited(root: Path, path: str = "src/app.py", symbol: str = "function_7") -> Citation:
    return renewed(Citation(path, symbol=symbol), root, "")


def learn(world: World, code: Path) -> str:
    return world[0].write(item("function_7 returns 7.", cites=(cited(code.parents[1]),)))


def test_a_memory_whose_code_is_gone_is_proposed_for_retirement_and_a_refusal_lasts(world: World, code: Path) -> None:
    id, sweep = learn(world, code), sweep_of(*world, planned(()))
    code.unlink()
    sweep.run("nightly")
    (proposal,) = sweep.proposals.waiting()
    assert (proposal.why, proposal.changes[0].id) == (CODE_GONE, id)
    assert world[0].require(id).status is Status.ACTIVE
    sweep.refuse([proposal.id])
    sweep.run("nightly")
    assert sweep.proposals.waiting() == []


def test_accepting_a_proposal_cites_changed_code_as_it_is_now(world: World, code: Path) -> None:
    id, sweep = learn(world, code), sweep_of(*world, planned(()))
    code.write_text(code.read_text().replace("return 7\n", "return 70\n"))
    sweep.run("nightly")
    (proposal,) = sweep.proposals.waiting()
    assert proposal.why == CODE_CHANGED
    sweep.accept([proposal.id])
    assert world[0].require(id).cites == (cited(code.parents[1]),)
    sweep.run("nightly")
    assert sweep.proposals.waiting() == []


def test_a_file_that_git_saw_renamed_is_cited_at_its_new_path(world: World, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.py").write_text("".join(f"def function_{n}():\n    return {n}\n" for n in range(9)))
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    world[1].touch_session("s1", "shop", str(root), "")
    first = replace(cited(root, "a.py"), commit=git(root, "rev-parse", "HEAD"))
    id = world[0].write(item("function_7 returns 7.", cites=(first,)))
    git(root, "mv", "a.py", "b.py")
    git(root, "commit", "-qm", "two")
    sweep_of(*world, planned(())).run("nightly")
    assert world[0].require(id).cites == (replace(first, path="b.py"),)
