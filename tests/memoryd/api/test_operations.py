"""The registry: each operation is defined once, and all interfaces follow that definition."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NotRequired, TypedDict, get_origin, get_type_hints

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from memoryd.api import registry
from memoryd.api.dispatch import Api
from memoryd.api.memories import ListMemories, Recall, UpdateMemory
from memoryd.api.parameters import Count, ListOf, Text, count, memory_id, parameters, parse, request, text
from memoryd.api.registry import Caller, Shown, Tool, operation, operations, tools
from memoryd.cli.app import load_command
from memoryd.cli.root import Context
from memoryd.core.config import IN_CLIENT, Settings
from memoryd.core.errors import InputError
from memoryd.core.types import Kind, Status
from memoryd.mcp.server import tool_of
from memoryd.testing import FakeClock

ROOT = Path(__file__).parents[3]
ID = "mem_0123456789ab"
OPEN = {"import_file", "import_claude_memory", "export"}  # Whatever else they count depends on the formats.
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(operations())), st.data())
def test_whatever_is_sent_is_a_request_or_an_error_that_names_the_operation(name: str, data: Any) -> None:
    entry = operations()[name]
    names = st.sampled_from([*parameters(entry.request), "unknown"])
    values = data.draw(st.dictionaries(names, ANYTHING, max_size=4))
    for model in (False, True):
        try:
            parse(entry.request, values, name, model=model)
        except InputError as error:
            assert error.message.startswith(f"{name}: ") and error.fix


@given(st.sampled_from(sorted(tools())), st.data())
def test_what_a_schema_allows_is_taken_from_a_model(name: str, data: Any) -> None:
    """Generate texts, numbers and choices that the tool's schema allows."""
    entry = tools()[name]
    schema = entry.input_schema()
    known = {key: part for key, part in schema["properties"].items() if _sample(part, key) is not None}
    chosen = {
        key: data.draw(_sample(part, key)) for key, part in known.items() if key in schema["required"] or data.draw(st.booleans())
    }
    assert isinstance(parse(entry.request, chosen, name, model=True), entry.request)


def _sample(part: Mapping[str, Any], name: str) -> st.SearchStrategy[Any] | None:
    if "enum" in part:
        return st.sampled_from(part["enum"])
    if "pattern" in part:
        return st.just(ID)
    if part["type"] == "integer":
        return st.integers(part["minimum"], part["maximum"])
    if part["type"] == "number":
        return st.floats(0, 1)
    if part["type"] == "boolean":
        return st.booleans()
    if part["type"] == "array" and part["items"]["type"] != "object":
        inner = _sample(part["items"], name)
        return None if inner is None else st.lists(inner, max_size=3)
    times = ("after", "before", "as_of", "valid_at", "valid_from", "valid_to")
    return None if part["type"] != "string" or name in times else st.text("ab ", min_size=1, max_size=9).filter(str.strip)


def test_a_request_has_typed_values() -> None:
    asked = parse(Recall, {"query": " ports ", "kinds": "rule", "k": 3.0, "after": "2026-01-02", "session": None}, "recall")
    assert (asked.query, asked.kinds, asked.k, asked.session) == ("ports", (Kind.RULE,), 3, "")
    assert asked.after == datetime(2026, 1, 2, tzinfo=UTC)
    assert parse(ListMemories, {"status": "all"}, "list_memories").status == tuple(Status)
    assert parse(ListMemories, {}, "list_memories").status is None
    assert parse(UpdateMemory, {"id": ID, "tags": []}, "update_memory").tags == ()
    assert parse(UpdateMemory, {"id": ID}, "update_memory").tags is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "query: is missing"),
        ({"query": "  "}, "query: is missing: it must not be empty"),
        ({"query": "\0\u200d"}, "query: is missing: it must not be empty"),
        ({"query": 5}, "must be of type string"),
        ({"query": "x", "kinds": ["rule", "joke"]}, "(entry 2) must be one of"),
        ({"query": "x", "k": True}, "must be of type integer, from 1 to 50"),
        ({"query": "x", "k": 51}, "from 1 to 50"),
        ({"query": "x", "include_old": "yes"}, "must be of type boolean"),
        ({"query": "x", "as_of": "soon"}, "as_of: 'soon' is not a date or time"),
        ({"query": "x", "kind": "rule"}, "there is no parameter 'kind'"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(Recall, values, "recall")
    assert message in caught.value.message and caught.value.message.startswith("recall: ")


def test_a_model_gets_less_and_narrower_parameters_than_a_person() -> None:
    assert parse(Recall, {"query": "x" * 2_001}, "recall").query
    with pytest.raises(InputError, match="maximum is 2000"):
        parse(Recall, {"query": "x" * 2_001}, "recall", model=True)
    with pytest.raises(InputError, match="no parameter 'weak'"):
        parse(Recall, {"query": "x", "weak": True}, "recall", model=True)
    with pytest.raises(InputError, match="from 1 to 200"):
        parse(ListMemories, {"limit": 500}, "list_memories", model=True)


def test_every_operation_says_what_it_does_and_every_parameter_what_it_is() -> None:
    for name, entry in operations().items():
        assert entry.summary.strip(), name
        assert entry.request.__doc__ and entry.answer.__doc__, name
        assert not [key for key, parameter in parameters(entry.request).items() if not parameter.about], name


def test_the_bounds_of_a_model_are_within_those_of_a_person() -> None:
    for name, entry in tools().items():
        for key, parameter in parameters(entry.request, in_tool=True).items():
            item = parameter.item if isinstance(parameter, ListOf) else parameter
            if isinstance(item, Count) and item.model_bounds:
                assert item.low <= item.model_bounds[0] <= item.model_bounds[1] <= item.high, (name, key)
            if isinstance(item, Text):
                assert item.model_limit <= item.limit, (name, key)


def test_what_only_a_person_may_do_is_not_a_tool_and_is_refused_in_the_clients_shell(
    settings: Settings, clock: FakeClock
) -> None:
    api = Api(settings, clock)
    reserved = [name for name, entry in operations().items() if entry.person_only]
    assert len(reserved) > 10 and not set(reserved) & set(tools())
    for name in reserved:
        with pytest.raises(InputError, match="Only you may do this"):
            api.call(name, {"caller": IN_CLIENT})
        with pytest.raises(InputError, match="no method"):
            api.call(name, {"caller": "model"})
    for name, values in (("forget", {"id": ID, "purge": True}), ("daydream", {"transcript": "/x.jsonl"})):
        with pytest.raises(InputError, match="Only you may do this"):
            api.call(name, {"caller": IN_CLIENT, **values})
    api.close()


def test_an_answer_has_what_its_type_says(settings: Settings, clock: FakeClock, tmp_path: Path) -> None:
    """Check every operation that can be run on a small store without changing settings of this machine."""
    api = Api(replace(settings, rank="bm25"), clock)
    folder = tmp_path / "shop"
    folder.mkdir()

    def checked(name: str, **params: Any) -> dict[str, Any]:
        answer = api.call(name, {"cwd": str(folder), **params})
        hints = get_type_hints(operations()[name].answer, include_extras=True)
        needed = {key for key, hint in hints.items() if get_origin(hint) is not NotRequired}
        assert needed <= answer.keys(), (name, needed - answer.keys())
        if name not in OPEN:
            assert answer.keys() <= hints.keys(), (name, answer.keys() - hints.keys())
        return answer

    first = checked("remember", content="Deploys go through make ship.")["id"]
    other = checked("remember", content="The archive is read on Mondays.")["id"]
    needs: dict[str, dict[str, Any]] = {
        name: {"id": first} for name in ("get_memory", "why", "evidence", "update_memory", "related")
    }
    needs |= {"recall": {"query": "deploys", "weak": True}, "graph": {"about": first}, "confirm": {"ids": [first]}}
    needs |= {
        "dream": {},
        "forget_project": {"project": "shop", "dry_run": True},
        "export": {"path": str(tmp_path / "all.jsonl")},
    }
    needs |= {"settle": {"own": [{"content": "The blue server needs 3 GB."}]}, "merge": {"id": first, "other": other}}
    plain = [
        name for name, entry in operations().items() if not any(each.required for each in parameters(entry.request).values())
    ]
    skipped = {"change_settings", "decide", "undo", "daydream", "train_router", "write_keys", "sync_now"}
    skipped |= {"team_init", "team_audit", "team_leave"}  # need a repository: see tests/memoryd/team
    for name in dict.fromkeys([*plain, *needs]):
        if name not in skipped:
            checked(name, **needs.get(name, {}))
    newer = api.call("list_memories", {"cwd": str(folder)})["memories"][0]["id"]
    checked("forget", id=newer)
    checked("restore", id=newer)
    checked("undo", id=checked("update_memory", id=newer, content="Deploys go through make deploy.")["memory"]["id"])
    checked("import_file", path=str(tmp_path / "all.jsonl"))
    api.close()


# One more operation


@request
class CountWords:
    """Parameters of `count_words`."""

    words: str = text(required=True, words=True, help="The text.")
    longer_than: int = count("Only words with more letters.", default=0, high=50)


class WordCount(TypedDict):
    """The number of words."""

    words: Annotated[int, Shown("How many.", always=True)]


@operation(
    CountWords,
    WordCount,
    tool=Tool("Count words", "Count the words of a text.", order=900),
    command="count-words",
    form="Count words",
)
def count_words(runtime: Any, request: CountWords, caller: Caller) -> WordCount:
    """Count the words of a text."""
    return {"words": sum(len(word) > request.longer_than for word in request.words.split())}


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register the operation above in a module of its own."""
    module = ModuleType("memoryd.api.sample")
    module.count_words = count_words  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "memoryd.api.sample", module)
    monkeypatch.setattr(registry, "MODULES", (*registry.MODULES, "sample"))
    operations.cache_clear()
    tools.cache_clear()
    yield
    operations.cache_clear()
    tools.cache_clear()


@pytest.mark.usefixtures("added")
def test_one_more_operation_is_reached_from_the_command_line_mcp_and_the_console(
    settings: Settings, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api(settings, clock)
    monkeypatch.setattr(Context, "call", lambda self, method, timeout=0.0, **params: api.call(method, _given(params)))
    command = load_command("count-words")
    assert command is not None
    context = Context(settings, _output())
    result = CliRunner().invoke(command, ["make", "ship", "now", "--longer-than", "3", "--json"], obj=context)
    assert json.loads(result.stdout) == {"words": 2}
    assert "Only words with more letters." in CliRunner().invoke(command, ["--help"]).stdout

    offered = tool_of(list(tools().values())[-1])
    assert offered.name == "count_words" and offered.input_schema["required"] == ["words"]
    assert offered.input_schema["properties"]["longer_than"]["maximum"] == 50
    assert api.call("count_words", {"words": "a bb", "caller": "model"}) == {"words": 2}

    from memoryd.console.fields import Fields
    from memoryd.console.forms import fields_of, values_of

    assert [field.name for field in fields_of(CountWords, Fields())] == ["words", "longer_than"]
    assert values_of(CountWords, Fields([("words", "a bb"), ("longer_than", "1")])) == {"words": "a bb", "longer_than": 1}
    api.close()


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value not in (None, ())}


def _output() -> Any:
    from memoryd.cli.output import Output

    return Output(as_json=False)


def test_an_id_is_read_as_one() -> None:
    @request
    class One:
        """A memory."""

        id: str = memory_id()

    assert parse(One, {"id": f" {ID} "}, "one").id == ID
    with pytest.raises(InputError, match="is not a memory id"):
        parse(One, {"id": "../etc"}, "one")


def calls_by_name() -> Iterator[tuple[str, str, list[str]]]:
    """Yield (file, operation, parameter names) for each call in the command line and the console."""
    for folder in ("cli", "console"):
        for path in sorted((ROOT / "memoryd" / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and is_call(node.func) and node.args and isinstance(node.args[0], ast.Constant):
                    yield path.name, str(node.args[0].value), [keyword.arg for keyword in node.keywords if keyword.arg]


def is_call(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr in ("call", "try_call")


def test_the_command_line_and_the_console_call_operations_and_parameters_that_exist() -> None:
    found = list(calls_by_name())
    assert len(found) > 60
    for file, name, names in found:
        if name == "console_open":  # Answered by the daemon itself.
            continue
        assert name in operations(), f"{file}: {name}"
        unknown = set(names) - {"timeout"} - parameters(operations()[name].request).keys()
        assert not unknown, f"{file}: {name} has no {unknown}"


def test_the_daemon_knows_no_operation_by_name() -> None:
    found = []
    for path in sorted((ROOT / "memoryd" / "daemon").rglob("*.py")):
        constants = (node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant))
        found += [f"{path.name}: {value}" for value in constants if isinstance(value, str) and value in operations()]
    assert not found
