from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.citations.check import CodeCheck, CodeState, annotated, overall
from memoryd.citations.cite import cite
from memoryd.citations.symbols import definition
from memoryd.citations.versions import claims, link, values_of
from memoryd.core.codec import item_digest, item_from_json, item_to_json
from memoryd.core.types import Citation, Kind, MemoryItem, Passage, Turn, TurnKind
from memoryd.recall.prompt_block import item_line
from memoryd.stores import memory_file
from tests.costs import assert_linear

SOURCE = '''"""Prices."""

RATE = 3


def round_price(value):
    shifted = value * 100

    return int(shifted + 0.5)


class Basket:
    def total(self):
        return sum(self.prices)
'''
COMPOSE = """services:
  db:
    image: postgres:16
    ports:
      - "5433:5432"
  web:
    ports:
    - "8080:80"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/price.py").write_text(SOURCE)
    (tmp_path / "compose.yaml").write_text(COMPOSE)
    (tmp_path / "package.json").write_text('{"engines": {"node": ">=20"}, "dependencies": {"react": "^18.2.0"}}')
    return tmp_path


def learnt(root: Path, statement: str, *touched: str, kind: Kind = Kind.FACT) -> tuple[Citation, ...]:
    turns = tuple(Turn(TurnKind.TOOL_USE, "", tool="Read", detail=str(root / path)) for path in touched)
    return cite(statement, kind, Passage(turns, cwd=str(root)), "")


def state(root: Path, cites: tuple[Citation, ...]) -> CodeState:
    return overall(CodeCheck().quick(root, cites)).state


def test_a_statement_cites_the_function_it_names_in_a_file_that_was_read(project: Path) -> None:
    (cited,) = learnt(project, "round_price() rounds half up.", "shop/price.py")
    assert (cited.path, cited.symbol) == ("shop/price.py", "round_price")


def test_a_change_elsewhere_in_the_file_leaves_a_cited_function_unchanged(project: Path) -> None:
    cites = learnt(project, "round_price() in shop/price.py rounds half up.")
    (project / "shop/price.py").write_text(SOURCE.replace("RATE = 3", "RATE = 4"))
    assert state(project, cites) is CodeState.UNCHANGED
    (project / "shop/price.py").write_text(SOURCE.replace("0.5", "0.4"))
    assert state(project, cites) is CodeState.CHANGED


def test_a_quoted_line_is_cited_as_text(project: Path) -> None:
    cites = learnt(project, "Prices are rounded by `int(shifted + 0.5)`.", "shop/price.py")
    assert [cited.text for cited in cites] == ["int(shifted + 0.5)"]
    (project / "shop/price.py").write_text("# new\n" + SOURCE)
    assert state(project, cites) is CodeState.UNCHANGED


def test_a_deleted_file_without_git_is_gone(project: Path) -> None:
    cites = learnt(project, "Totals are computed in shop/price.py.")
    (project / "shop/price.py").unlink()
    assert state(project, cites) is CodeState.GONE


def test_wishes_cite_nothing_and_files_outside_or_with_secrets_are_never_cited(project: Path) -> None:
    (project / ".env").write_text("PORT=5433")
    assert learnt(project, "Never touch shop/price.py.", kind=Kind.RULE) == ()
    assert learnt(project, "It is in ../other.py and .env and /etc/hostname.") == ()


@pytest.mark.parametrize(
    ("statement", "path", "key"),
    [
        ("The project needs Node 20.", "package.json", "engines.node"),
        ("The frontend is built with React 18.", "package.json", "dependencies.react"),
        ("Postgres listens on port 5433.", "compose.yaml", "services.db.ports[5432]"),
        ("The web server is on port 8080.", "compose.yaml", "services.web.ports[80]"),
        ("The tests run against PostgreSQL 16.", "compose.yaml", "services.db.image"),
    ],
)
def test_versions_and_ports_are_linked_with_the_file_that_says_so(project: Path, statement: str, path: str, key: str) -> None:
    (cited,) = learnt(project, statement)
    assert (cited.path, cited.key) == (path, key)


def test_a_version_that_the_file_no_longer_says_is_given_with_what_it_says_now(project: Path) -> None:
    cites = learnt(project, "The project needs Node 20.")
    (project / "package.json").write_text('{"engines": {"node": ">=22"}}')
    item = annotated(MemoryItem("The project needs Node 20."), overall(CodeCheck().quick(project, cites)))
    assert item_line(item).endswith("(package.json now says >=22)")


def test_a_number_that_is_no_version_is_not_linked() -> None:
    assert link("It took 20 minutes on Node.", {"engines.node": "20"}) is None
    assert claims("Retry 3 times after 50% of failures.") != [("node", "3")]


def test_citations_survive_the_file_and_a_person_may_write_them_as_text() -> None:
    cited = Citation("shop/price.py", "3f9c2a7b1c2d", "ab" * 20, symbol="round_price", body="0123")
    item = MemoryItem("It rounds.", id="mem_0123456789ab", cites=(cited,))
    text = memory_file.render(item)
    assert memory_file.read(text, "x", "mem_0123456789ab.md", 0).item.cites == (cited,)
    assert item_from_json(item_to_json(item)) == item
    by_hand = memory_file.render(replace(item, cites=())).replace(b"status:", b"cites: shop/price.py@3f9c2a7\nstatus:")
    assert memory_file.read(by_hand, "x", "mem_0123456789ab.md", 0).item.cites == (Citation("shop/price.py", "3f9c2a7"),)


def test_a_memory_without_citations_keeps_its_digest() -> None:
    item = MemoryItem("It rounds.", id="mem_0123456789ab")
    assert item_digest(item) != item_digest(replace(item, cites=(Citation("a.py"),)))


@pytest.mark.parametrize(
    ("source", "name", "last"),
    [
        ("export const useCart = () => {\n  return 1\n}\nconst b = 2", "useCart", "}"),
        ("func (s *Store) Load(id int) error {\n\treturn nil\n}\n\nfunc x() {}", "Load", "}"),
        ("pub async fn run_all(x: u8) -> u8 {\n    x\n}\nfn y() {}", "run_all", "}"),
        ("class A {\n  total(items) {\n    return 1;\n  }\n  other() {\n  }\n}", "total", "  }"),
        ("CREATE TABLE order_lines (\n  id int\n);\nSELECT 1", "order_lines", ");"),
        ("@cached\ndef load(\n    a,\n):\n    return a\n\n\nx = 1", "load", "    return a"),
        ("deploy() {\n  echo hi\n}\nother() {\n}", "deploy", "}"),
    ],
)
def test_definitions_end_where_their_body_ends_in_many_languages(source: str, name: str, last: str) -> None:
    found = definition(source, name)
    assert found is not None
    assert found.splitlines()[-1] == last


def test_a_use_of_a_name_is_no_definition() -> None:
    assert definition("x = round_price(3)\nif round_price(4) == 2:\n    pass", "round_price") is None


@given(st.text(max_size=300), st.sampled_from(["package.json", "compose.yml", ".env.example", "go.mod", "a.toml", "Dockerfile"]))
def test_any_text_of_a_configuration_file_can_be_read(text: str, path: str) -> None:
    assert all(isinstance(value, str) for value in values_of(path, text).values())


def test_a_dotted_key_of_thousands_of_parts_is_not_parsed() -> None:
    assert values_of("pyproject.toml", "a." * 100_000 + "b = 1") == {}
    assert_linear(lambda text: values_of("pyproject.toml", f"{text}b = 1"), "a.", 25_000)
