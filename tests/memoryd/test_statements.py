from __future__ import annotations

import pytest

from memoryd.statements import Relation, relate


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("The staging database listens on port 5432.", "No, the staging database is on port 5544, not on 5432."),
        ("Deploys happen on Fridays.", "No, deploys happen on Tuesdays, not on Fridays."),
        ("Logs are written to the console.", "Nope, logs are written to a file, not to the console."),
    ],
)
def test_a_denial_with_the_right_value_corrects_the_wrong_one(known: str, new: str) -> None:
    assert relate(known, new) is Relation.REPLACES
    assert relate(new, known) is not Relation.SAME


def test_a_denied_rule_is_still_a_prohibition() -> None:
    assert relate("Push to main.", "No, do not push to main.") is Relation.REPLACES


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The search service runs on OpenSearch.", "The search service runs on TypeSense instead of OpenSearch."),
        ("The queue is written with BullMQ.", "The queue is written with pgBoss, not BullMQ."),
        ("We read userIdKey from the session.", "We read accountIdKey from the session instead of userIdKey."),
        ("Models are served by TorchServe.", "No longer TorchServe: models are served by vLLM."),
    ],
)
def test_names_of_mixed_case_are_compared_whole(old: str, new: str) -> None:
    assert relate(old, new) is Relation.REPLACES
    assert relate(old, old.upper()) is Relation.SAME


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We use Celery for background work.", "Let's drop Celery, from now on we use Dramatiq for background work."),
        ("The docs are built with Sphinx.", "We switched the docs from Sphinx to MkDocs."),
        ("The test mail server is on port 1025.", "The test mail server is on port 2525 now, not 1025 any more."),
        ("Die Tests laufen mit Jest.", "Die Tests laufen jetzt mit Vitest statt Jest."),
        ("Das Archiv liegt auf Server alpha7.", "Das Archiv liegt nicht mehr auf alpha7, sondern auf beta9."),
        ("Les tests tournent avec Mocha.", "On est passé de Mocha à Vitest pour les tests."),
        ("Usamos Travis para la integración.", "Ya no usamos Travis para la integración, ahora es Buildkite."),
        ("O site é feito com Webpack.", "Não usamos mais Webpack no site, agora é Vite."),
        ("Для очередей используем RabbitMQ.", "Для очередей теперь используем Kafka вместо RabbitMQ."),
        ("缓存使用 Memcached。", "缓存从 Memcached 换成了 Redis。"),
        ("テストはJestで実行する。", "テストはJestではなくVitestで実行する。"),
        ("배포는 Jenkins로 한다.", "배포는 이제 Jenkins 대신 Buildkite로 한다."),
    ],
)
def test_what_is_said_to_be_over_is_replaced_in_each_language(old: str, new: str) -> None:
    assert relate(old, new) is Relation.REPLACES


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Unit tests run with Mocha.", "We no longer use Jest for unit tests."),
        ("Run all checks before a push.", "Run all checks before a push, except in CI."),
        ("We dropped support for Ruby 2.7.", "Ruby 2.7 is no longer supported."),
    ],
)
def test_an_exception_or_the_end_of_something_else_replaces_nothing(old: str, new: str) -> None:
    assert relate(old, new) is not Relation.REPLACES
