from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.errors import DaemonError
from memoryd.core.paths import Paths
from memoryd.daemon.endpoint import Endpoint, listen, parse_endpoint, publish, read_endpoint, withdraw


@pytest.mark.parametrize("endpoint", [Endpoint(path="/a b/ü.sock"), Endpoint(port=1234, token="ab" * 32)])
def test_an_endpoint_comes_back_as_written(tmp_path: Path, endpoint: Endpoint) -> None:
    paths = Paths(tmp_path)
    publish(paths, endpoint)
    assert read_endpoint(paths) == endpoint
    assert endpoint.token not in endpoint.public() or not endpoint.token


@given(st.text(max_size=60))
def test_any_line_gives_an_endpoint_or_a_daemon_error(line: str) -> None:
    try:
        parse_endpoint(line)
    except DaemonError as error:
        assert error.fix


def test_a_stopping_daemon_leaves_the_endpoint_of_its_successor(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    publish(paths, Endpoint(port=2, token="b"))
    withdraw(paths, Endpoint(port=1, token="a"))
    assert read_endpoint(paths) == Endpoint(port=2, token="b")


@pytest.fixture
def short_folder() -> Iterator[str]:
    """Return a folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="md-") as folder:
        yield folder


def test_a_temporary_folder_of_somebody_else_is_not_used(
    tmp_path: Path, short_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", short_folder)
    paths = Paths(tmp_path / ("long" * 30))
    first, endpoint = listen(paths, tcp=False)
    first.close()
    folder = os.path.dirname(endpoint.path)
    os.chmod(folder, 0o777)
    second, other = listen(paths, tcp=False)
    second.close()
    assert os.path.dirname(other.path) != folder


def test_where_no_path_is_short_enough_for_a_socket_a_port_with_a_token_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    listener, endpoint = listen(Paths(deep / "home"), tcp=False)
    listener.close()
    assert endpoint.port > 0 and len(endpoint.token) == 64
