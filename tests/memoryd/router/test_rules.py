from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import Backend, Query
from memoryd.retrieval import RULES, explain, route

DOCUMENT = Path(__file__).parents[3] / "docs" / "design" / "router.md"
EXAMPLES = {
    "empty": ("", "   "),
    "memory_id": ("mem_0123456789ab",),
    "relationship_words": (
        "what depends on the token cache?",
        "Which services use Redis?",
        "what is related to src/auth.py",
        "everything connected with the deploy script",
        "connection between login and the cache",
        "what does caching have to do with login?",
        "Was hängt mit der Anmeldung zusammen?",
        "Qu'est-ce qui est lié à Redis",
        "¿Qué depende de Redis?",
        "Что связано с авторизацией?",
        "和登录有关的内容",
        "哪些依赖 Redis？",
    ),
    "other_script": ("怎么保留日志？", "Нужны ли изменения?", "ログの場所"),
    "question": (
        "Why does login fail after a restart?",
        "how are errors marked",
        "May I stash changes?",
        "the default port?",
        'Why did it print "cannot open file"?',
        "Should the stake amount depend on the exchange rate?",
        "Warum schlägt der Test fehl",
        "What did we use before the migration?",
        "Which linter should we use in CI?",
        "what did she used to do with the old server",
    ),
    "quoted": ('"cannot open file"', "error 'unable to read' in worktree", "„nicht gefunden“ error log"),
    "names": ("src/auth/token.py", "TypeError getStagedFiles()", "ENTIRE_LOCAL_DEV flag"),
    "long_text": ("the login page keeps asking for the password again although I have just typed it in",),
    "few_words": ("retry policy", "telemetry default"),
    "default": ("package manager the team agreed on",),
}


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in EXAMPLES.items() for text in texts])
def test_each_rule_decides_its_examples(rule: str, text: str) -> None:
    assert route(Query(text)).rule == rule


def test_flags_and_a_named_backend_come_before_the_wording() -> None:
    text = "src/auth.py"
    assert route(Query(text, relationship=True)).backend is Backend.GRAPH
    assert route(Query(text, needs_semantic=True)).backend is Backend.VECTOR
    assert route(Query(text, relationship=True, backend=Backend.MARKDOWN)) == route(Query(text, backend=Backend.MARKDOWN))
    assert route(Query(text)).backend is Backend.MARKDOWN


def test_every_rule_is_described_with_its_backend_in_the_design_notes() -> None:
    described = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", DOCUMENT.read_text("utf-8"), re.MULTILINE))
    assert described == {"given": "any"} | {rule.name: rule.backend.name for rule in RULES}


def test_the_choice_is_explained_in_a_sentence() -> None:
    assert explain(route(Query("retry policy"))) == "markdown, because a few keywords are searched literally (rule few_words)."


@given(st.text(max_size=300))
def test_any_text_has_a_route_and_always_the_same(text: str) -> None:
    assert route(Query(text)) == route(Query(text))
