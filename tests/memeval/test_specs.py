from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memeval.core.errors import ConfigError
from memeval.core.types import QuestionType
from memeval.specs import AuthType, IngestionMode, ProviderType, load_benchmark_spec, load_provider_spec, to_plain

HOSTED = """\
name: demo
displayName: Demo
type: hosted
connection:
  baseUrl: ${DEMO_URL:-http://localhost:1}
  timeout: ${DEMO_TIMEOUT:-5}
auth: {type: bearer, envVar: DEMO_KEY}
scoping:
  type: userId
endpoints:
  add:
    path: /add/${runTag}
    body: {text: $.content, n: 3}
    response: {idField: $.id}
  search:
    method: GET
    path: /search
capabilities: {timestamps: true}
rateLimit:
  retries: 2
  backoff: 0
"""


def write(tmp_path: Path, text: str, name: str = "demo.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_provider_file_becomes_a_frozen_spec(tmp_path: Path) -> None:
    spec = load_provider_spec(write(tmp_path, HOSTED), environ={"DEMO_TIMEOUT": "7.5"})
    assert spec.type is ProviderType.HOSTED
    assert spec.connection is not None and spec.endpoints is not None
    assert spec.connection.base_url == "http://localhost:1"
    assert spec.connection.timeout == 7.5
    assert (spec.auth.type, spec.auth.effective_prefix) == (AuthType.BEARER, "Bearer ")
    assert spec.endpoints.add.path == "/add/${runTag}"
    assert spec.endpoints.add.body == {"text": "$.content", "n": 3}
    assert spec.rate_limit.backoff == 0.0
    assert spec.effective_implementation == "http"
    assert spec.origin.where("auth.envVar").endswith("demo.yaml:7: auth.envVar")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("  type: userId", "  typ: userId", 9, ["scoping.typ", "not a known key", "Did you mean type?"]),
        ("  type: userId", "  type: user", 9, ["scoping.type", "'user'", "containerTags"]),
        ("  retries: 2", "  retries: two", 20, ["rateLimit.retries", "an integer", "'two'"]),
        ("  retries: 2", "  retries: true", 20, ["rateLimit.retries", "an integer"]),
        ("  retries: 2", "  retries:", 20, ["rateLimit.retries", "not empty"]),
        ("  retries: 2", "  retries: 2\n  retries: 3", 21, ["rateLimit.retries", "given twice"]),
        ("${DEMO_URL:-http://localhost:1}", "${DEMO_URL}", 5, ["connection.baseUrl", "DEMO_URL", "not set"]),
        ("${DEMO_TIMEOUT:-5}", "${DEMO_TIMEOUT:-soon}", 6, ["connection.timeout", "a number", "'soon'"]),
        ("envVar: DEMO_KEY", "header: X", 7, ["auth.envVar", "is needed"]),
        ("    path: /search", "    url: /search", 17, ["endpoints.search.url", "not a known key"]),
        ("    path: /search\n", "", 16, ["endpoints.search.path", "is missing"]),
        ("  search:\n    method: GET\n    path: /search\n", "", 11, ["endpoints.search", "is missing"]),
        ("displayName: Demo", "displayName: [a, b]", 2, ["displayName", "must be text", "a list"]),
        ("scoping:\n  type: userId", "scoping: userId", 8, ["scoping", "must be a mapping"]),
        ("  retries: 2", "  retries: -2", 20, ["rateLimit.retries", "at least 0"]),
        ("${DEMO_TIMEOUT:-5}", "${DEMO_TIMEOUT:-0}", 6, ["connection.timeout", "positive"]),
        ("${DEMO_URL:-http://localhost:1}", "localhost:1", 5, ["connection.baseUrl", "http://"]),
        ("    method: GET", "    method: FETCH", 16, ["endpoints.search.method", "'FETCH'", "GET"]),
        ("  type: userId", "  type: userId\n  runIdFormat: x-${run}", 10, ["scoping.runIdFormat", "${run}", "${runId}"]),
        ("  baseUrl:", "  base_url:", 5, ["connection.base_url", "not a known key", "Did you mean baseUrl?"]),
        ("displayName: Demo", "origin: {path: x}", 2, ["origin", "not a known key"]),
        ("  retries: 2", "  retries: 2.5", 20, ["rateLimit.retries", "an integer", "2.5"]),
        ("  backoff: 0", "  backoff: .inf", 21, ["rateLimit.backoff", "at least 0"]),
        (
            "capabilities: {timestamps: true}",
            "capabilities: {timestamps: 1}",
            18,
            ["capabilities.timestamps", "true or false", "1"],
        ),
        ("    body: {text: $.content, n: 3}", "    ignoreStatus: 404", 13, ["endpoints.add.ignoreStatus", "must be a list"]),
        ("name: demo", "name: other", 1, ["'other'", "demo.yaml"]),
        ("type: hosted", "type: hosted\n  : :", 4, ["not valid YAML"]),
    ],
)
def test_a_wrong_file_is_an_error_that_names_file_line_and_key(
    tmp_path: Path, old: str, new: str, line: int, words: list[str]
) -> None:
    assert old in HOSTED
    path = write(tmp_path, HOSTED.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        load_provider_spec(path, environ={})
    text = str(caught.value)
    assert f"{path}:{line}:" in text
    for word in words:
        assert word in text


@pytest.mark.parametrize("content", ["", "- a", "just text", "a: &x [*x]"])
def test_a_file_that_holds_no_spec_is_a_config_error(tmp_path: Path, content: str) -> None:
    with pytest.raises(ConfigError, match=r"demo\.yaml"):
        load_provider_spec(write(tmp_path, content))


def test_a_file_that_is_not_there_or_not_text_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        load_provider_spec(tmp_path / "none.yaml")
    (tmp_path / "demo.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_provider_spec(tmp_path / "demo.yaml")


def test_variables_can_be_escaped_and_others_stay(tmp_path: Path) -> None:
    text = "name: demo\ntype: local\noptions:\n a: $${HOME}\n b: ${runTag}\n c: \"${N:-3}\"\n d: '${N:-3}'\n e: ${N:-3}\n"
    spec = load_provider_spec(write(tmp_path, text), environ={})
    assert spec.options == {"a": "${HOME}", "b": "${runTag}", "c": "3", "d": "3", "e": 3}
    assert spec.effective_implementation == "demo"


def test_a_benchmark_file_becomes_a_frozen_spec(tmp_path: Path) -> None:
    text = """\
name: demo
source: {type: url, files: [{path: a.json, url: "http://x/a.json", sha256: 00ff}]}
schema: {sessions: $.s}
questionTypes: {single: fact_recall, "5": abstention}
ingestion: session-based
retrieval: {k: [1, 5]}
metrics: [accuracy]
metadata: {published: 2024-01-02}
"""
    spec = load_benchmark_spec(write(tmp_path, text))
    assert spec.question_types == {"single": QuestionType.FACT_RECALL, "5": QuestionType.ABSTENTION}
    assert spec.ingestion is IngestionMode.SESSION_BASED
    assert spec.retrieval.k == (1, 5)
    assert spec.source.files[0].sha256 == "00ff"
    assert spec.metadata == {"published": "2024-01-02"}
    assert spec.effective_loader == "schema"
    assert to_plain(spec)["questionTypes"] == {"single": "fact_recall", "5": "abstention"}
    assert isinstance(spec.question_types, MappingProxyType)


def test_rules_between_keys_of_a_benchmark_are_checked(tmp_path: Path) -> None:
    base = "name: demo\nsource: {type: local, path: x}\n"
    for text, word in [
        (base, "loader"),
        (base + "loader: a\nschema: {sessions: $.s}\n", "schema"),
        (base.replace("local", "huggingface") + "loader: a\n", "source.dataset"),
        (base.replace("local", "url") + "loader: a\n", "source.files"),
        (base + "loader: a\nretrieval: {levels: [word]}\n", "'word'"),
        (base + "loader: a\nretrieval: {k: [5, 0]}\n", "retrieval.k"),
    ]:
        with pytest.raises(ConfigError, match=word):
            load_benchmark_spec(write(tmp_path, text))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_any_text_is_a_spec_or_a_config_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "demo.yaml"
    path.write_text(text, "utf-8", errors="replace")
    with pytest.raises(ConfigError):
        load_provider_spec(path, environ={})
