"""Forms generated from the requests of operations."""

from __future__ import annotations

from typing import Any

import pytest

from memoryd.api.memories import ListMemories, Remember, UpdateMemory
from memoryd.api.parameters import parse
from memoryd.api.registry import operations
from memoryd.console.fields import Fields
from memoryd.console.forms import fields_of, values_of
from memoryd.core.errors import InputError
from tests.memoryd.console.auditing import harm
from tests.memoryd.console.console_client import Console

EVIL = "<script>alert(1)</script>"
FORMS = [name for name, entry in operations().items() if entry.form]


def test_more_lists_every_operation_that_has_a_form(console: Console) -> None:
    text = console.get("/operations").text
    assert FORMS
    for name in FORMS:
        assert f'href="/operations/{name}"' in text and operations()[name].form in text


@pytest.mark.parametrize("name", FORMS)
def test_a_form_has_a_labelled_field_for_every_parameter(console: Console, name: str) -> None:
    text = console.get(f"/operations/{name}").text
    for field in fields_of(operations()[name].request, Fields()):
        assert f'name="{field.name}"' in text and field.label in text
    assert harm(text) == []
    assert not [call for call, _ in console.calls if call == name], "a form that is only shown runs nothing"


@pytest.mark.parametrize("name", FORMS)
def test_a_form_runs_its_operation_on_a_real_store(real_console: Console, name: str, tmp_path: Any) -> None:
    (tmp_path / "shop").mkdir()
    project = real_console.api._registry.resolve(tmp_path / "shop").id
    answer = real_console.post(f"/operations/{name}", project=project)
    assert answer.status_code == 200, answer.text


def test_what_was_entered_goes_to_the_operation_and_comes_back_with_the_answer(console: Console) -> None:
    console.answers["log"] = {"runs": [{"error": EVIL}], "daemon_log": [EVIL]}
    answer = console.post("/operations/log", limit="7", session=EVIL)
    assert ("log", {"limit": 7, "session": EVIL}) in console.calls
    assert 'value="7"' in answer.text and harm(answer.text) == []


def test_a_wrong_value_is_shown_beside_what_was_entered(real_console: Console) -> None:
    answer = real_console.post("/operations/log", limit="many", session="s1")
    assert answer.status_code == 400
    assert "limit" in answer.text and "integer" in answer.text and 'value="many"' in answer.text and 'value="s1"' in answer.text


@pytest.mark.parametrize("path", ["/operations/forget", "/operations/nothing", "/operations/change_settings"])
def test_what_has_no_form_is_not_a_page(console: Console, path: str) -> None:
    assert console.get(path).status_code == 404
    assert console.post(path).status_code == 404


def test_the_fields_of_a_request_are_read_as_the_operation_takes_them() -> None:
    entered = Fields([("content", "Use uv."), ("kind", "rule"), ("tags", "style\ntools"), ("pinned", "1"), ("scope", "")])
    values = values_of(Remember, entered)
    assert values == {"content": "Use uv.", "kind": "rule", "tags": ["style", "tools"], "pinned": True}
    assert parse(Remember, values, "remember").tags == ("style", "tools")
    kinds = {field.name: field.kind for field in fields_of(ListMemories, Fields())}
    assert (kinds["kinds"], kinds["status"], kinds["tags"], kinds["limit"], kinds["project"]) == (
        "many",
        "select",
        "lines",
        "number",
        "text",
    )
    with pytest.raises(InputError, match="confidence"):
        parse(
            UpdateMemory, values_of(UpdateMemory, Fields([("id", "mem_000000000001"), ("confidence", "much")])), "update_memory"
        )
