from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memeval.cli.app import build
from memeval.core.calls import Stop
from memeval.core.errors import ConfigError, ProviderError, StoppedError
from memeval.core.types import SearchRequest
from memeval.providers.http import HttpProvider
from memeval.providers.http_client import retry_after
from memeval.registry import BUILT_IN
from memeval.specs import EndpointSpec, PagingSpec, ProviderSpec, load_provider_spec
from tests.memeval.providers.fake_api import Asked, Behaviour, FakeApi, Reply, serving
from tests.memeval.providers.material import garden, session
from tests.memeval.providers.vendors import KEY, VENDORS, Chroma, Mem0, Supermemory, Zep, guarded

REQUEST = SearchRequest("tomatoes garden", 3)
GENERAL = """\
name: general
type: hosted
connection: {baseUrl: "URL", timeout: 5}
scoping: {type: userId}
endpoints:
  add: {path: /add, body: {text: $.content}}
  search: {path: /search, body: {q: $.query}, response: {results: $.hits, contentField: $.text}}
rateLimit: {backoff: 0, retries: 2}
"""


class Waits(Stop):
    """A stop flag that records waits instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.check()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for _, _, key in VENDORS.values():
        if key:
            monkeypatch.setenv(key, KEY)


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with serving(FakeApi(lambda asked: Reply({"hits": []}))) as running:
        yield running


def vendor_spec(name: str, api: FakeApi) -> ProviderSpec:
    return load_provider_spec(BUILT_IN / "providers" / f"{name}.yaml", {f"{VENDORS[name][1]}_BASE_URL": api.url})


def opened(spec: ProviderSpec, workdir: Path, options: Mapping[str, Any] | None = None) -> tuple[HttpProvider, Waits]:
    provider, waits = HttpProvider(spec, options or {}), Waits()
    provider.use_stop(waits)
    provider.open(workdir)
    return provider, waits


def vendor(name: str, api: FakeApi, behaviour: Behaviour, workdir: Path) -> tuple[HttpProvider, Waits]:
    api.behaviour = behaviour
    return opened(vendor_spec(name, api), workdir, {"embedder": "hash"} if name == "chroma" else None)


def general(api: FakeApi, workdir: Path, text: str = GENERAL) -> tuple[HttpProvider, Waits]:
    path = workdir / "general.yaml"
    path.write_text(text.replace("URL", api.url))
    return opened(load_provider_spec(path), workdir)


# What the vendors are sent


def test_supermemory_gets_documents_with_tag_and_custom_id(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = vendor("supermemory", api, Supermemory(), tmp_path)
    provider.ingest("run-1", garden()[:1])
    (body,) = api.bodies("POST", "/v3/documents")
    assert body["containerTag"] == "run-1"
    assert body["customId"] == "run-1-s1"
    assert body["metadata"] == {"memeval_session": "s1", "memeval_turns": "s1-0,s1-1,s1-2,s1-3"}
    assert body["content"].startswith("[2023-05-01 09:00]\nuser: I planted tomatoes in my garden.\nassistant: Tomatoes")
    assert api.asked[0].headers["Authorization"] == f"Bearer {KEY}"
    provider.await_indexed("run-1", 60)
    provider.search("run-1", REQUEST)
    assert api.asked[-1].body == {"q": "tomatoes garden", "containerTag": "run-1", "searchMode": "hybrid", "limit": 3}
    provider.clear("run-1")
    assert api.asked[-1].body == {"containerTags": ["run-1"]}


def test_mem0_gets_messages_with_time_and_user(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = vendor("mem0", api, Mem0(), tmp_path)
    provider.ingest("run-1", [session("s1", "I planted tomatoes.", "Good.", speaker="Ada")])
    (body,) = api.bodies("POST", "/v3/memories/add/")
    assert body["messages"] == [
        {"role": "user", "content": "Ada: I planted tomatoes."},
        {"role": "assistant", "content": "assistant: Good."},
    ]
    assert body["user_id"] == "run-1"
    assert body["timestamp"] == int(datetime(2023, 5, 1, 9, tzinfo=UTC).timestamp())
    assert api.asked[0].headers["Authorization"] == f"Token {KEY}"
    provider.search("run-1", REQUEST)
    assert api.asked[-1].body == {"query": "tomatoes garden", "filters": {"user_id": "run-1"}, "top_k": 3}
    provider.clear("run-1")
    assert (api.asked[-1].method, api.asked[-1].query) == ("DELETE", {"user_id": ["run-1"]})


def test_letta_gets_an_archive_and_its_passages_in_one_call(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = vendor("letta", api, VENDORS["letta"][0](), tmp_path)
    provider.ingest("run-1", garden())
    assert [asked.path for asked in api.asked].count("/v1/archives/") == 1
    assert api.bodies("POST", "/v1/archives/") == [{"name": "run-1", "embedding": "openai/text-embedding-3-small"}]
    added = [asked for asked in api.asked if asked.path.endswith("/passages/batch")]
    assert len(added) == 3
    assert added[0].body["passages"][0] == {
        "text": "[2023-05-01 09:00]\nuser: I planted tomatoes in my garden.",
        "created_at": "2023-05-01T09:00:00+00:00",
        "metadata": {"memeval_session": "s1", "memeval_turns": "s1-0"},
    }
    found = provider.search("run-1", REQUEST)
    assert found[0].sessions == ("s1",)
    assert found[0].turns == ("s1-0",)
    assert api.asked[-1].body["archive_id"] == added[0].path.split("/")[3]


def test_zep_traces_facts_back_by_their_episodes(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = vendor("zep", api, Zep(), tmp_path)
    provider.ingest("run-1", garden()[:1])
    bodies = api.bodies("POST", "/api/v2/graph")
    assert len(bodies) == 4
    assert bodies[0]["type"] == "message"
    assert bodies[0]["created_at"] == "2023-05-01T09:00:00+00:00"
    assert provider.search("run-1", REQUEST) == []
    provider.await_indexed("run-1", 60)
    found = provider.search("run-1", replace(REQUEST, text="tomatoes garden " + "x" * 1_000))
    assert found[0].turns == ("s1-0",)
    assert len(api.asked[-1].body["query"]) == 400


def test_chroma_gets_vectors_and_gives_parallel_lists(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = vendor("chroma", api, Chroma(), tmp_path)
    provider.ingest("run-1", garden())
    (first, *_) = [asked.body for asked in api.asked if asked.path.endswith("/upsert")]
    assert first["ids"] == ["s1-0", "s1-1", "s1-2", "s1-3"]
    assert len(first["embeddings"]) == len(first["documents"]) == len(first["metadatas"]) == 4
    found = provider.search("run-1", REQUEST)
    assert len(found) == 3
    assert found[0].turns
    assert found[0].score >= found[1].score
    assert api.asked[-1].body["n_results"] == 3


@pytest.mark.parametrize(("name", "most"), [("zep", 50), ("supermemory", 100), ("letta", 100), ("mem0", 200)])
def test_no_search_asks_for_more_than_the_api_takes(api: FakeApi, tmp_path: Path, name: str, most: int) -> None:
    provider, _ = vendor(name, api, VENDORS[name][0](), tmp_path)
    provider.ingest("run-1", garden())
    provider.await_indexed("run-1", 60)
    assert provider.search("run-1", SearchRequest("tomatoes garden", 200))
    assert most in (api.asked[-1].body.get("limit"), api.asked[-1].body.get("top_k"))


# Indexing in the background


def test_nothing_is_found_before_it_is_indexed(api: FakeApi, tmp_path: Path) -> None:
    provider, waits = vendor("supermemory", api, Supermemory(polls=3), tmp_path)
    provider.ingest("run-1", garden())
    assert provider.search("run-1", REQUEST) == []
    provider.await_indexed("run-1", 60)
    assert provider.search("run-1", REQUEST)[0].sessions == ("s1",)
    assert waits.seconds.count(2.0) == 2


def test_indexing_that_fails_or_takes_too_long_is_an_error(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = vendor("supermemory", api, Supermemory(fails=True), tmp_path / "a")
    provider.ingest("run-1", garden())
    with pytest.raises(ProviderError, match="could not index"):
        provider.await_indexed("run-1", 60)
    provider, _ = vendor("supermemory", api, Supermemory(polls=10**9), tmp_path / "b")
    provider.ingest("run-1", garden())
    with pytest.raises(ProviderError, match="3 of the units are still not indexed after 0 s") as caught:
        provider.await_indexed("run-1", 0)
    assert caught.value.transient


def test_a_killed_run_neither_sends_twice_nor_forgets_to_wait(api: FakeApi, tmp_path: Path) -> None:
    service = Supermemory()
    provider, _ = vendor("supermemory", api, service, tmp_path)
    provider.ingest("run-1", garden()[:2])
    api.faults = [Reply({"error": "quota"}, 400)]
    with pytest.raises(ProviderError):
        provider.ingest("run-1", garden())
    again, _ = opened(provider.spec, tmp_path)
    assert again.ingest("run-1", garden()) == {"sessions": 3, "calls": 1}
    again.await_indexed("run-1", 60)
    assert len(api.bodies("POST", "/v3/documents")) == 4
    assert all(document["left"] <= 0 for document in service.documents.values())


def test_an_answer_without_the_id_to_wait_for_is_an_error(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = vendor("mem0", api, lambda asked: Reply({"message": "ok"}), tmp_path)
    with pytest.raises(ProviderError, match="event_id"):
        provider.ingest("run-1", garden())


# Faults


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("$.content", "$.contents", ["endpoints.add.body.text", "'contents'", "content"]),
        ("/add", '"/add/${tag}"', ["endpoints.add.path", "'tag'", "runTag"]),
        ("$.query", "$.embedding", ["endpoints.search.body.q", "'embedding'"]),
        ("$.hits", "'$.hits[?(@.x)]'", ["endpoints.search.response.results", "can't be parsed from '[?"]),
        ("{text: $.content}", "{each: $.messages, item: $.part.role}", ["endpoints.add.body.item", "'part'", "item"]),
    ],
)
def test_a_template_that_cannot_be_filled_or_read_is_an_error_with_its_place_before_any_call(
    tmp_path: Path, old: str, new: str, words: list[str]
) -> None:
    path = tmp_path / "general.yaml"
    path.write_text(GENERAL.replace("URL", "http://localhost:1").replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        HttpProvider(load_provider_spec(path), {})
    for word in [f"{path}:", *words]:
        assert word in str(caught.value)


def test_a_wrong_key_is_named_and_not_tried_again(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERMEMORY_API_KEY", "wrong")
    provider, _ = vendor("supermemory", api, guarded("Authorization", f"Bearer {KEY}", Supermemory()), tmp_path)
    with pytest.raises(ProviderError, match="SUPERMEMORY_API_KEY") as caught:
        provider.ingest("run-1", garden())
    assert not caught.value.transient
    assert "401" in str(caught.value)
    assert "wrong" not in str(caught.value).replace("What is wrong", "")
    assert len(api.asked) == 1


def test_a_missing_key_is_an_error_before_the_first_call(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZEP_API_KEY")
    with pytest.raises(ConfigError, match="ZEP_API_KEY"):
        vendor("zep", api, Zep(), tmp_path)
    assert api.asked == []


def test_retry_after_is_honoured(api: FakeApi, tmp_path: Path) -> None:
    provider, waits = vendor("supermemory", api, Supermemory(), tmp_path)
    api.faults = [Reply({"error": "slow down"}, 429, {"Retry-After": "7"})]
    provider.ingest("run-1", garden()[:1])
    assert len(api.asked) == 2
    assert 7 <= max(waits.seconds) <= 8


def test_a_limit_that_stays_is_a_transient_error_with_what_was_asked_for(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = general(api, tmp_path)
    api.faults = [Reply(None, 429, {"Retry-After": "3"})] * 3
    with pytest.raises(ProviderError, match="HTTP 429") as caught:
        provider.ingest("run-1", garden())
    assert (caught.value.transient, caught.value.retry_after) == (True, 3.0)
    assert len(api.asked) == 3


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_server_errors_are_tried_again(api: FakeApi, tmp_path: Path, status: int) -> None:
    provider, _ = general(api, tmp_path)
    api.faults = [Reply(b"<html>oops</html>", status)] * 2
    provider.ingest("run-1", garden()[:1])
    assert len(api.asked) == 3


@pytest.mark.parametrize("status", [400, 404, 422, 302])
def test_other_refusals_are_errors_at_once_that_quote_the_answer(api: FakeApi, tmp_path: Path, status: int) -> None:
    provider, _ = general(api, tmp_path)
    api.faults = [Reply({"detail": "no such field"}, status, {"Location": "/elsewhere"})]
    with pytest.raises(ProviderError, match="no such field") as caught:
        provider.ingest("run-1", garden())
    assert not caught.value.transient
    assert len(api.asked) == 1


def test_an_answer_that_is_not_json_is_tried_again_then_an_error(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = general(api, tmp_path)
    provider.ingest("run-1", garden())
    api.asked.clear()
    api.faults = [Reply(b'{"hits": [')]
    assert provider.search("run-1", REQUEST) == []
    assert len(api.asked) == 2
    api.faults = [Reply(b"<html>")] * 3
    with pytest.raises(ProviderError, match="other than JSON") as caught:
        provider.search("run-1", REQUEST)
    assert caught.value.transient


def test_a_slow_server_is_given_up_after_the_timeout(api: FakeApi, tmp_path: Path) -> None:
    release = threading.Event()

    def stuck(asked: Asked) -> Reply:
        release.wait(60)
        return Reply({})

    api.behaviour = stuck
    provider, _ = general(api, tmp_path, GENERAL.replace("timeout: 5", "timeout: 0.05").replace("retries: 2", "retries: 0"))
    try:
        with pytest.raises(ProviderError, match="timed out") as caught:
            provider.ingest("run-1", garden())
    finally:
        release.set()
    assert caught.value.transient


def test_a_server_that_is_not_there_is_a_transient_error(tmp_path: Path) -> None:
    nobody = FakeApi(lambda asked: Reply())
    nobody.url = "http://127.0.0.1:9"
    provider, _ = general(nobody, tmp_path)
    with pytest.raises(ProviderError, match="refused") as caught:
        provider.ingest("run-1", garden())
    assert caught.value.transient


def test_waits_end_with_the_run(api: FakeApi, tmp_path: Path) -> None:
    provider, waits = general(api, tmp_path)
    waits.set()
    with pytest.raises(StoppedError):
        provider.ingest("run-1", garden())
    assert api.asked == []


def test_calls_keep_their_distance(api: FakeApi, tmp_path: Path) -> None:
    provider, waits = general(api, tmp_path, GENERAL.replace("{backoff: 0", "{addDelay: 50, backoff: 0"))
    provider.ingest("run-1", garden())
    first, second = waits.seconds
    assert 49 < first <= 50
    assert 99 < second <= 100


# Paging, scoping, reading


def test_pages_are_fetched_until_there_are_enough(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = general(api, tmp_path)
    search = provider.spec.endpoints.search
    paged = replace(search, paging=PagingSpec("page"), response=replace(search.response, next_page=""))
    provider, _ = opened(_with_search(provider.spec, paged), tmp_path / "a")
    api.behaviour = lambda asked: Reply({"hits": [{"text": f"page {asked.query.get('page', ['1'])[0]}"}]})
    provider.ingest("run-1", garden()[:1])
    assert [piece.text for piece in provider.search("run-1", REQUEST)] == ["page 1", "page 2", "page 3"]


def test_a_cursor_goes_where_the_api_wants_it_and_the_last_page_ends_it(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = general(api, tmp_path)
    search = provider.spec.endpoints.search
    paged = replace(search, paging=PagingSpec("cursor", "body"), response=replace(search.response, next_page="$.next"))
    provider, _ = opened(_with_search(provider.spec, paged), tmp_path / "a")
    answers = {None: {"hits": [{"text": "a"}], "next": "n1"}, "n1": {"hits": [{"text": "b"}], "next": None}}
    api.behaviour = lambda asked: Reply(answers[(asked.body or {}).get("cursor")])
    provider.ingest("run-1", garden()[:1])
    api.asked.clear()
    assert [piece.text for piece in provider.search("run-1", replace(REQUEST, k=50))] == ["a", "b"]
    assert api.asked[1].body == {"q": "tomatoes garden", "user_id": "run-1", "cursor": "n1"}


def _with_search(spec: ProviderSpec, search: EndpointSpec) -> ProviderSpec:
    assert spec.endpoints is not None
    return replace(spec, endpoints=replace(spec.endpoints, search=search))


@pytest.mark.parametrize(
    ("scoping", "field", "value"),
    [
        ("{type: userId}", "user_id", "run-1"),
        ("{type: sessionId}", "session_id", "run-1"),
        ("{type: containerTags}", "containerTags", ["run-1"]),
        ("{type: custom, field: space}", "space", "run-1"),
    ],
)
def test_a_file_that_forgets_the_scope_gets_it_all_the_same(
    api: FakeApi, tmp_path: Path, scoping: str, field: str, value: Any
) -> None:
    provider, _ = general(api, tmp_path, GENERAL.replace("{type: userId}", scoping))
    provider.ingest("run-1", garden()[:1])
    provider.search("run-1", REQUEST)
    assert api.bodies("POST", "/add")[0][field] == value
    assert api.bodies("POST", "/search")[0][field] == value


def test_chunks_and_content_are_joined_and_results_without_text_left_out(api: FakeApi, tmp_path: Path) -> None:
    text = GENERAL.replace("contentField: $.text", "contentField: $.text, chunksField: '$.chunks[*].body', timestampField: $.at")
    provider, _ = general(api, tmp_path, text)
    hits = [
        {"text": "a", "chunks": [{"body": "b"}, {"body": "a"}], "at": "2024-01-02T00:00:00+00:00"},
        {"text": " "},
        {"at": "x"},
    ]
    api.behaviour = lambda asked: Reply({"hits": hits})
    provider.ingest("run-1", garden()[:1])
    (piece,) = provider.search("run-1", REQUEST)
    assert piece.text == "a\nb"
    assert piece.at == datetime(2024, 1, 2, tzinfo=UTC)
    assert (piece.sessions, piece.turns) == ((), ())


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("5", 5.0),
        ("0.5", 0.5),
        ("Wed, 01 Jan 2025 00:00:30 GMT", 30.0),
        ("Wed, 01 Jan 2020 00:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str, seconds: float | None) -> None:
    assert retry_after(header, datetime(2025, 1, 1, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("hit", "place"),
    [
        ({"text": ["a", "list"]}, "contentField"),
        ({"text": 7}, "contentField"),
        ({"words": "under another name"}, "contentField"),
        ("a text alone", "contentField"),
        ({"text": "tomatoes", "score": float("nan")}, "scoreField"),
        ({"text": "tomatoes", "score": "high"}, "scoreField"),
        ({"text": "tomatoes", "score": True}, "scoreField"),
    ],
)
def test_an_answer_of_another_form_is_an_error_with_the_path_that_read_it(
    api: FakeApi, tmp_path: Path, hit: object, place: str
) -> None:
    text = GENERAL.replace("contentField: $.text", "contentField: $.text, scoreField: $.score")
    provider, _ = general(api, tmp_path, text)
    provider.ingest("s", [session("s1", "tomatoes")])
    api.behaviour = lambda asked: Reply({"hits": [hit]})
    with pytest.raises(ProviderError, match=rf"general\.yaml:\d+: endpoints\.search\.response\.{place}"):
        provider.search("s", REQUEST)


def test_answers_can_be_watched_as_they_come(api: FakeApi, tmp_path: Path) -> None:
    provider, _ = general(api, tmp_path)
    seen: list[tuple[str, bytes]] = []
    provider.watch(lambda where, body: seen.append((where, body)))
    provider.ingest("s", [session("s1", "tomatoes")])
    provider.search("s", REQUEST)
    assert [where.split("/")[-1] for where, _ in seen] == ["add", "search"]
    assert seen[-1][1] == b'{"hits": []}'


# Clearing


class Shelf:
    """Documents that can only be deleted one by one."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def __call__(self, asked: Asked) -> Reply:
        if asked.method == "POST" and asked.path == "/docs":
            ids = [f"d{len(self.kept) + number}" for number in range(len(asked.body["docs"]))]
            self.kept |= dict(zip(ids, asked.body["docs"], strict=True))
            return Reply({"created": ids})
        if asked.method == "DELETE":
            return Reply({}, 200 if self.kept.pop(asked.path.rpartition("/")[2], None) else 404)
        return Reply([{"key": key, **doc} for key, doc in self.kept.items()])


SHELF = """\
name: general
type: hosted
connection: {baseUrl: "URL", timeout: 5}
endpoints:
  add:
    path: /docs
    unit: batch
    body: {shelf: "${runTag}", docs: {each: $.items, item: {body: $.item.content}}}
    response: {idField: "$.created[*]"}
  search: {path: /find, body: {shelf: "${runTag}", q: $.query}, response: {results: $, contentField: $.body, idField: $.key}}
  clear: {method: DELETE, path: "/docs/${id}", eachId: true, ignoreStatus: [404]}
"""


def test_documents_that_are_deleted_one_by_one_are_cleared(api: FakeApi, tmp_path: Path) -> None:
    api.behaviour = shelf = Shelf()
    provider, _ = general(api, tmp_path, SHELF)
    provider.ingest("run-1", garden()[:1])
    assert len(shelf.kept) == 4
    provider.clear("run-1")
    assert not shelf.kept
    assert provider.remaining("run-1", REQUEST) == []


def test_check_names_a_clear_call_that_leaves_everything_behind(api: FakeApi, tmp_path: Path) -> None:
    api.behaviour = Shelf()
    path = tmp_path / "general.yaml"
    path.write_text(SHELF.replace("URL", api.url).replace("/docs/${id}", "/wrong").replace("eachId: true, ", ""))
    done = CliRunner().invoke(build(), ["check", str(path)])
    assert done.exit_code == 0, done.output
    assert "HTTP 404 Not Found, in ignoreStatus" in done.stdout
    assert "still contains something after it was cleared" in done.stderr
