from __future__ import annotations

import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import ConfigError, ModelError
from memeval.core.protocols import Model
from memeval.models import open_model
from memeval.models.openai_compatible import OpenAICompatible
from memeval.models.prices import Price, load_prices
from memoryd.core.openai_api import retry_after
from memoryd.core.types import Message, Usage
from tests.memeval.model_server import ModelServer, Reply

ASK = [Message("system", "s"), Message("user", "What is it?")]


def model(server: ModelServer, **options: Any) -> Model:
    return open_model(f"{server.url}#m", options)


def failure(server: ModelServer, *replies: Reply, **options: Any) -> ModelError:
    server.script(*replies)
    with pytest.raises(ModelError) as caught:
        model(server, **options).complete(ASK)
    assert len(server.seen) == 1, "one try; the runner does the others"
    return caught.value


def test_an_answer_comes_with_model_tokens_and_cost(server: ModelServer) -> None:
    server.script(Reply(" Oslo \n"))
    answer = model(server, input_price=2.0, output_price=10.0).complete(ASK, max_tokens=50)
    assert (answer.text, answer.model) == ("Oslo", "m-1")
    # 7 · 2 / 10^6 + 3 · 10 / 10^6
    assert answer.usage == Usage(1, 7, 3, pytest.approx(44e-6))  # type: ignore[arg-type]
    assert answer.seconds > 0
    assert server.seen[0] == {
        "model": "m", "temperature": 0.0, "max_tokens": 50,
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "What is it?"}],
    }  # fmt: skip


def test_the_cost_that_the_server_tells_wins(server: ModelServer) -> None:
    server.script(Reply(usage={"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "cost": 0.125}))
    assert model(server, input_price=2.0, output_price=10.0).complete(ASK).usage.cost_usd == 0.125


def test_without_a_price_the_cost_is_unknown_and_not_zero(server: ModelServer) -> None:
    assert model(server).complete(ASK).usage.cost_usd is None


def test_tokens_are_estimated_where_the_server_is_silent(server: ModelServer) -> None:
    server.script(Reply("four", usage=None))
    usage = model(server, input_price=1.0, output_price=1.0).complete(ASK).usage
    # "s" 1, "What is it?" 3, "four" 1
    assert usage == Usage(1, 4, 1, pytest.approx(5e-6))  # type: ignore[arg-type]


def test_429_is_transient_and_says_how_long_to_wait(server: ModelServer) -> None:
    error = failure(server, Reply("slow down", status=429, headers={"retry-after": "7"}))
    assert error.transient
    assert error.retry_after == 7
    assert "slow down" in error.message


@pytest.mark.parametrize("status", [408, 500, 502, 503, 529])
def test_faults_of_the_server_are_transient(server: ModelServer, status: int) -> None:
    error = failure(server, Reply("oops", status=status))
    assert (error.transient, error.retry_after) == (True, None)
    assert str(status) in error.message


@pytest.mark.parametrize(
    ("status", "fix"), [(401, "key"), (402, "credit"), (403, "key"), (404, "name"), (413, "top-k"), (400, "options")]
)
def test_faults_of_the_user_are_not(server: ModelServer, status: int, fix: str) -> None:
    error = failure(server, Reply("no", status=status))
    assert not error.transient
    assert fix in error.fix


@pytest.mark.parametrize(
    "raw", [b'{"id": "1", "choi', b"<html>busy</html>", b"[]", b"null", b'{"error": {"message": "overloaded"}}']
)
def test_an_answer_that_is_not_a_completion_is_a_transient_fault(server: ModelServer, raw: bytes) -> None:
    assert failure(server, Reply(raw=raw)).transient


def test_a_page_in_place_of_an_answer_is_a_transient_fault(server: ModelServer) -> None:
    assert failure(server, Reply(raw=b"<html>login</html>", headers={"content-type": "text/html"})).transient


def test_a_slow_server_is_given_up(server: ModelServer) -> None:
    server.script(Reply(held=True))  # Until the end of the test: a client that does not give up is never answered.
    with pytest.raises(ModelError, match=r"0\.2 s") as caught:
        model(server, timeout=0.2).complete(ASK)
    assert caught.value.transient


def test_a_server_that_is_not_there_is_a_transient_fault(server: ModelServer) -> None:
    url = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(ModelError, match="can't be reached") as caught:
        open_model(f"{url}#m").complete(ASK)
    assert caught.value.transient


@pytest.mark.parametrize(
    ("reply", "transient", "said"),
    [
        (Reply(""), True, "empty"),
        (Reply("", finish="length"), False, "used up its tokens"),
        (Reply("x", finish="content_filter"), False, "content filter"),
    ],
)
def test_no_answer_is_a_failure_and_never_an_empty_string(server: ModelServer, reply: Reply, transient: bool, said: str) -> None:
    error = failure(server, reply)
    assert error.transient is transient
    assert said in error.message


def test_an_answer_that_was_cut_is_an_answer(server: ModelServer) -> None:
    server.script(Reply("It is the", finish="length"))
    assert model(server).complete(ASK).text == "It is the"


def test_thoughts_are_no_part_of_the_answer(server: ModelServer) -> None:
    server.script(Reply("<think>\nno? yes!\n</think>\n\nyes"))
    assert model(server).complete(ASK).text == "yes"


def test_a_refused_temperature_is_left_out_from_then_on(server: ModelServer) -> None:
    server.script(Reply("temperature is deprecated for this model", status=400), Reply("fine"))
    asked = model(server)
    assert asked.complete(ASK).text == "fine"
    asked.complete(ASK)
    assert ["temperature" in body for body in server.seen] == [True, False, False]


def test_a_refused_limit_gets_its_other_name(server: ModelServer) -> None:
    said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    server.script(Reply(said, status=400), Reply("fine"))
    assert model(server).complete(ASK, max_tokens=9).text == "fine"
    assert (server.seen[1]["max_completion_tokens"], "max_tokens" in server.seen[1]) == (9, False)


def test_a_schema_is_sent_and_described_in_words_where_it_is_refused(server: ModelServer) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    server.script(Reply("response_format is not supported", status=422), Reply("{}"))
    assert model(server).complete(ASK, schema=schema).text == "{}"
    assert server.seen[0]["response_format"]["json_schema"]["schema"] == schema
    assert "response_format" not in server.seen[1]
    assert '"properties"' in server.seen[1]["messages"][-1]["content"]


def test_a_server_that_refuses_for_ever_is_not_asked_for_ever(server: ModelServer) -> None:
    server.script(Reply("temperature, temperature", status=400))
    with pytest.raises(ModelError, match="400"):
        model(server).complete(ASK)
    assert len(server.seen) == 2


def test_retry_after_in_all_its_forms() -> None:
    assert retry_after({"retry-after": "1.5"}) == 1.5
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert retry_after({"retry-after": formatdate(time.time() + 300, usegmt=True)}) == pytest.approx(300, abs=60)
    assert retry_after({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}) == 0
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


def test_vendors_are_asked_with_their_own_key_and_habits(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in ("OPENAI", "OPENROUTER", "ANTHROPIC"):
        monkeypatch.setenv(f"{vendor}_API_KEY", f"key-of-{vendor}")
    schema = {"type": "object"}
    for name in ("openai/gpt-4o", "openrouter/x/y", "anthropic/claude-haiku-4-5"):
        made = open_model(name, {"base_url": server.url})
        assert made.name == name
        made.complete(ASK, schema=schema, max_tokens=5)
    openai, openrouter, anthropic = server.seen
    assert [headers["authorization"] for headers in server.headers_seen] == [
        f"Bearer key-of-{vendor}" for vendor in ("OPENAI", "OPENROUTER", "ANTHROPIC")
    ]
    assert [body["model"] for body in server.seen] == ["gpt-4o", "x/y", "claude-haiku-4-5"]
    assert openai["max_completion_tokens"] == 5
    assert (openrouter["max_tokens"], openrouter["usage"]) == (5, {"include": True})
    assert "response_format" not in anthropic
    assert "usage" not in openai


def test_a_vendor_without_a_key_is_refused_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="no API key") as caught:
        open_model("openai/gpt-4o")
    assert "OPENAI_API_KEY" in caught.value.fix


def test_an_address_may_come_from_the_environment(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMEVAL_BASE_URL", raising=False)
    with pytest.raises(ConfigError, match="no address"):
        open_model("compatible/qwen")
    monkeypatch.setenv("MEMEVAL_BASE_URL", server.url)
    assert open_model("compatible/qwen").complete(ASK).text == "yes"
    with pytest.raises(ConfigError, match="lacks the model's name"):
        open_model(server.url)


@pytest.mark.parametrize("options", [{"temprature": 0}, {"timeout": "fast"}, {"max_tokens": True}])
def test_wrong_options_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        open_model("http://127.0.0.1:1/v1#m", options)


def test_an_unknown_kind_of_model_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="'opnai'") as caught:
        open_model("opnai/gpt-4o")
    assert "openai" in caught.value.fix


def test_a_call_is_estimated_before_it_is_made(server: ModelServer) -> None:
    made = model(server, input_price=1.0, output_price=100.0)
    assert isinstance(made, OpenAICompatible)
    # 1 + 4 and 3 + 4 input tokens, 10 output tokens.
    assert made.estimate(ASK, 10) == pytest.approx((12 * 1 + 10 * 100) / 1e6)
    unpriced = model(server)
    assert isinstance(unpriced, OpenAICompatible)
    assert unpriced.estimate(ASK, 10) is None


def test_another_address_or_temperature_is_another_model_to_the_cache(server: ModelServer) -> None:
    salts = {getattr(model(server, **options), "cache_salt") for options in ({}, {"temperature": 1.0}, {"max_tokens": 3})}  # noqa: B009
    assert len(salts) == 3


def test_the_price_table_is_dated_and_knows_snapshots(tmp_path: Path) -> None:
    prices = load_prices()
    assert prices.as_of == "2026-11-01"
    assert prices.of("openai/gpt-4o-2024-08-06") == prices.of("openai/gpt-4o") == Price(2.5, 10.0)
    assert prices.of("openrouter/openai/gpt-4o-mini") == Price(0.15, 0.6)
    assert prices.of("openai/gpt-4o-audio") is None, "a longer name is another model"
    own = tmp_path / "prices.toml"
    own.write_text('as_of = "2030-01-01"\n[models]\n"x/y" = [1, 2.5]\n')
    assert load_prices(own).of("x/y") == Price(1.0, 2.5)
    assert Price(1.0, 2.5).cost(1_000_000, 2_000_000) == 6.0


@pytest.mark.parametrize("text", ['[models]\n"x/y" = [1]', '[models]\n"x/y" = [1, -2]', "models = 3", "not toml"])
def test_a_wrong_price_table_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"p\.toml"):
        load_prices(tmp_path / "p.toml")
    with pytest.raises(ConfigError, match="none"):
        load_prices(tmp_path / "none.toml")
