from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from memoryd.core.files import read_regular
from memoryd.core.project import ProjectRegistry, normalise_remote


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments], cwd=folder, check=True, capture_output=True
    )


def repository(folder: Path, remote: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "start")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


@pytest.fixture
def registry(tmp_path: Path) -> ProjectRegistry:
    return ProjectRegistry(tmp_path / "state" / "projects.json")


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/shop.git",
        "https://token@github.com/acme/shop",
        "git@github.com:acme/shop.git",
        "ssh://git@github.com:22/acme/shop.git",
        "https://GitHub.com/acme/shop/",
    ],
)
def test_all_spellings_of_a_remote_are_one(url: str) -> None:
    assert normalise_remote(url) == "github.com/acme/shop"


def test_a_subfolder_belongs_to_its_repository(registry: ProjectRegistry, tmp_path: Path) -> None:
    repo = repository(tmp_path / "shop")
    (repo / "src").mkdir()
    assert registry.resolve(repo / "src").id == registry.resolve(repo).id


def test_a_worktree_shares_the_project_of_its_repository(registry: ProjectRegistry, tmp_path: Path) -> None:
    repo = repository(tmp_path / "shop")
    git(repo, "worktree", "add", "-q", str(tmp_path / "elsewhere" / "feature"), "-b", "feature")
    tree = registry.resolve(tmp_path / "elsewhere" / "feature")
    assert tree.id == registry.resolve(repo).id
    assert tree.root.endswith("feature")


def test_clones_with_one_remote_share_a_project(registry: ProjectRegistry, tmp_path: Path) -> None:
    one = repository(tmp_path / "a" / "shop", "git@github.com:acme/shop.git")
    two = repository(tmp_path / "b" / "other-name", "https://github.com/acme/shop")
    assert registry.resolve(one).id == registry.resolve(two).id


def test_two_folders_that_only_share_a_name_are_two_projects(registry: ProjectRegistry, tmp_path: Path) -> None:
    one = repository(tmp_path / "a" / "shop")
    two = repository(tmp_path / "b" / "shop")
    (tmp_path / "c" / "shop").mkdir(parents=True)
    ids = {registry.resolve(folder).id for folder in (one, two, tmp_path / "c" / "shop")}
    assert len(ids) == 3


def test_a_remote_that_is_added_later_keeps_the_project(registry: ProjectRegistry, tmp_path: Path) -> None:
    repo = repository(tmp_path / "shop")
    before = registry.resolve(repo).id
    git(repo, "remote", "add", "origin", "https://github.com/acme/shop")
    assert registry.resolve(repo).id == before
    clone = repository(tmp_path / "clone", "https://github.com/acme/shop")
    assert registry.resolve(clone).id == before


def test_a_renamed_remote_keeps_the_project(registry: ProjectRegistry, tmp_path: Path) -> None:
    repo = repository(tmp_path / "shop", "https://github.com/acme/shop")
    before = registry.resolve(repo).id
    git(repo, "remote", "set-url", "origin", "https://github.com/newco/shop")
    assert registry.resolve(repo).id == before


def test_another_repository_in_the_same_place_is_another_project(registry: ProjectRegistry, tmp_path: Path) -> None:
    repo = repository(tmp_path / "work", "https://github.com/acme/shop")
    before = registry.resolve(repo).id
    (tmp_path / "keep").mkdir()  # Holds the freed inode.
    shutil.move(repo, tmp_path / "moved")
    other = repository(tmp_path / "work", "https://github.com/acme/site")
    assert registry.resolve(other).id != before
    assert registry.resolve(tmp_path / "moved").id == before


def test_a_folder_without_git_is_its_real_path(registry: ProjectRegistry, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    assert registry.resolve(tmp_path / "link").id == registry.resolve(tmp_path / "plain").id


def test_a_git_file_of_any_size_costs_no_more_than_its_beginning(
    registry: ProjectRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    monkeypatch.setattr("memoryd.core.project.read_regular", lambda path, limit: read.append(limit) or read_regular(path, limit))
    folder = tmp_path / "shop"
    folder.mkdir()
    with (folder / ".git").open("wb") as stream:
        stream.truncate(3_000_000_000)
    assert registry.resolve(folder).name == "shop"
    assert read and max(read) <= 1_000_000


def test_a_folder_that_is_gone_still_resolves(registry: ProjectRegistry, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    before = registry.resolve(folder).id
    folder.rmdir()
    assert registry.resolve(folder).id == before


def test_a_project_is_found_by_id_and_by_an_unambiguous_name(registry: ProjectRegistry, tmp_path: Path) -> None:
    one = registry.resolve(repository(tmp_path / "a" / "shop"))
    registry.resolve(repository(tmp_path / "b" / "site"))
    assert registry.find("shop") == one.id == registry.find(one.id)
    registry.resolve(repository(tmp_path / "c" / "shop"))
    assert registry.find("shop") is None


@pytest.mark.parametrize(
    "folder",
    ["/a\0b", "/" + "x" * 5000, "/x" * 5000, "~nosuchuser/x", "/tmp/\udcff", "/tmp/a\nb", "relative", "/proc/1/fdinfo"],
    ids=["nul", "long name", "long path", "unknown user", "not unicode", "line break", "relative", "not to be entered"],
)
def test_a_folder_that_cannot_be_looked_at_is_a_project_all_the_same(registry: ProjectRegistry, folder: str) -> None:
    assert registry.resolve(folder).id == registry.resolve(folder).id


@pytest.mark.parametrize(
    "data", [b"", b"{garbage", b"null", b"[1]", b'{"a": {}}', b'{"a": {"name": 1, "remotes": [], "dirs": {}}}']
)
def test_a_damaged_registry_is_put_aside_and_started_again(registry: ProjectRegistry, tmp_path: Path, data: bytes) -> None:
    before = registry.resolve(tmp_path).id
    path = tmp_path / "state" / "projects.json"
    path.write_bytes(data)
    assert registry.resolve(tmp_path).id == before
    assert path.with_name("projects.json.damaged").read_bytes() == data


@pytest.mark.parametrize(
    "url", ["https://me:p@ss@github.com/acme/shop", "https://me:se:cret@github.com/acme/shop.git", "https://token@github.com"]
)
def test_no_part_of_a_remote_s_password_is_kept(url: str) -> None:
    assert normalise_remote(url) in ("github.com/acme/shop", "https://github.com")


def made_repository(folder: Path, commit: str = "") -> Path:
    """Create a repository like `git init`. With a commit, also create its log of HEAD."""
    git = folder / ".git"
    (git / "logs").mkdir(parents=True)
    (git / "description").write_text("Unnamed repository.")
    if commit:
        (git / "logs" / "HEAD").write_text(
            f"{'0' * 40} {commit * 40} Kim <kim@example.org> 1760000000 +0000\tcommit (initial): x\n"
        )
    return folder


@pytest.mark.parametrize("commit", ["", "a"])
def test_a_repository_without_a_remote_that_was_renamed_is_the_same_project(tmp_path: Path, commit: str) -> None:
    registry = ProjectRegistry(tmp_path / "projects.json")
    old = made_repository(tmp_path / "old", commit)
    id = registry.resolve(old).id
    old.rename(tmp_path / "new")
    assert registry.resolve(tmp_path / "new").id == id


def test_a_copy_beside_the_original_is_a_project_of_its_own(tmp_path: Path) -> None:
    registry = ProjectRegistry(tmp_path / "projects.json")
    first = registry.resolve(made_repository(tmp_path / "first", "a")).id
    assert registry.resolve(made_repository(tmp_path / "copy", "a")).id != first


def test_another_repository_in_the_place_of_a_deleted_one_is_a_new_project(tmp_path: Path) -> None:
    registry = ProjectRegistry(tmp_path / "projects.json")
    old = made_repository(tmp_path / "old", "a")
    id = registry.resolve(old).id
    shutil.rmtree(old)
    assert registry.resolve(made_repository(tmp_path / "new", "b")).id != id
