from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from memeval.benchmarks.source import Downloader, DownloadLines, Sources
from memeval.core.errors import DataError
from memeval.specs import BenchmarkSpec, FileSpec, SourceSpec, SourceType, SpecOrigin

BODY = bytes(range(256)) * 4096  # 1 MiB
SHA = hashlib.sha256(BODY).hexdigest()


@dataclass
class Server:
    """A local server that can abort, ignore ranges, fail and redirect."""

    files: dict[str, bytes] = field(default_factory=dict)
    etag: str = '"v1"'
    break_after: list[int] = field(default_factory=list)  # Bytes of each of the next answers.
    statuses: list[int] = field(default_factory=list)  # Of the next answers.
    ranges: bool = True
    links: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.seen.append((self.path, dict(self.headers)))
            if state.statuses:
                self.send_error(state.statuses.pop(0))
            elif self.path in state.redirects:
                self.send_response(302)
                self.send_header("Location", state.redirects[self.path])
                self.end_headers()
            elif self.path not in state.files:
                self.send_error(404)
            else:
                self._send(state.files[self.path])

        def _send(self, body: bytes) -> None:
            start = 0
            wanted = self.headers.get("Range", "")
            if wanted and state.ranges and self.headers.get("If-Range") == state.etag:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(body) - start))
            self.send_header("ETag", state.etag)
            if self.path in state.links:
                self.send_header("Link", f'<{state.links[self.path]}>; rel="next"')
            self.end_headers()
            self.wfile.write(body[start:][: state.break_after.pop(0)] if state.break_after else body[start:])

        def log_message(self, format: str, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield state
    httpd.shutdown()
    thread.join(60)
    httpd.server_close()


def spec(server: Server, *files: FileSpec, **more: str) -> BenchmarkSpec:
    return BenchmarkSpec(
        "toy", SourceSpec(SourceType.URL, files=files or (FileSpec("a.bin", f"{server.url}/a.bin", SHA),), **more)
    )


def sources(tmp_path: Path, server: Server, attempts: int = 1, **more: object) -> Sources:
    made = Downloader(attempts=attempts, backoff_seconds=1, timeout_seconds=60, sleep=lambda seconds: None)
    return replace(Sources(tmp_path / "cache", made, hub=server.url), **more)  # type: ignore[arg-type]


def test_a_file_is_fetched_once_and_progress_is_reported(tmp_path: Path, server: Server) -> None:
    server.files["/a.bin"] = BODY
    result: list[tuple[str, int, int | None]] = []
    found = replace(sources(tmp_path, server), downloader=Downloader(progress=lambda *step: result.append(step)))
    path = found.resolve(spec(server))
    assert path.read_bytes() == BODY and path == tmp_path / "cache" / "toy" / "a.bin"
    assert result[-1] == ("a.bin", len(BODY), len(BODY)) and len(result) > 1
    assert found.resolve(spec(server)) == path
    assert len(server.seen) == 1
    assert sorted(item.name for item in path.parent.iterdir()) == ["a.bin", "a.bin.lock"]


def test_a_long_download_is_reported_now_and_then_and_its_end_always() -> None:
    said: list[str] = []
    times = iter([0.0, 1.0, 5.5, 6.0, 7.0, 0.0, 0.1])
    result = DownloadLines(said.append, lambda: next(times))
    for done in (1, 2, 3, 4, 10):
        result("m.json", done * 10**6, 10**7)
    result("a.json", 10**5, None)
    result("b.json", 10**5, 10**5)
    assert said == ["m.json: 3.0 MB of 10.0 MB, 30 %", "m.json: 10.0 MB of 10.0 MB, 100 %", "b.json: 0.1 MB of 0.1 MB, 100 %"]


def test_a_broken_download_is_resumed_where_it_ended_within_one_call(tmp_path: Path, server: Server) -> None:
    server.files["/a.bin"] = BODY
    server.break_after = [300_000, 200_000]
    assert sources(tmp_path, server, attempts=3).resolve(spec(server)).read_bytes() == BODY
    assert [headers.get("Range") for _, headers in server.seen] == [None, "bytes=300000-", "bytes=500000-"]


def test_a_broken_download_is_resumed_by_the_next_call(tmp_path: Path, server: Server) -> None:
    server.files["/a.bin"] = BODY
    server.break_after = [300_000]
    with pytest.raises(DataError, match="ended after 300000 of 1048576 bytes") as error:
        sources(tmp_path, server).resolve(spec(server))
    assert str(tmp_path / "cache" / "toy" / "a.bin") in error.value.fix
    assert not (tmp_path / "cache" / "toy" / "a.bin").exists()
    assert sources(tmp_path, server).resolve(spec(server)).read_bytes() == BODY
    assert server.seen[-1][1]["Range"] == "bytes=300000-"


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_changed_meanwhile_or_a_server_without_ranges_starts_over(
    tmp_path: Path, server: Server, ranges: bool
) -> None:
    server.files["/a.bin"] = b"old" * 1000
    server.break_after = [1500]
    with pytest.raises(DataError):
        sources(tmp_path, server).resolve(spec(server))
    server.files["/a.bin"], server.etag, server.ranges = BODY, '"v2"' if ranges else '"v1"', ranges
    assert sources(tmp_path, server).resolve(spec(server)).read_bytes() == BODY


def test_a_part_that_is_too_long_is_dropped(tmp_path: Path, server: Server) -> None:
    server.files["/a.bin"] = BODY
    folder = tmp_path / "cache" / "toy"
    folder.mkdir(parents=True)
    (folder / "a.bin.part").write_bytes(BODY + b"more")
    (folder / "a.bin.part.etag").write_text('"v1"')
    server.statuses = [416]
    assert sources(tmp_path, server, attempts=2).resolve(spec(server)).read_bytes() == BODY


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(tmp_path: Path, server: Server) -> None:
    server.files["/a.bin"] = BODY[:-1] + b"!"
    with pytest.raises(DataError, match=f"does not match: expected SHA-256 {SHA}"):
        sources(tmp_path, server).resolve(spec(server))
    assert not list((tmp_path / "cache" / "toy").glob("a.bin")) and not list((tmp_path / "cache" / "toy").glob("*.part"))


def test_a_wrong_size_is_refused(tmp_path: Path, server: Server) -> None:
    server.files["/a.bin"] = BODY
    with pytest.raises(DataError, match="expected 7 bytes"):
        sources(tmp_path, server).resolve(spec(server, FileSpec("a.bin", f"{server.url}/a.bin", bytes=7)))


def test_busy_servers_are_tried_again_and_missing_files_are_not(tmp_path: Path, server: Server) -> None:
    server.files["/a.bin"] = BODY
    server.statuses = [503, 429]
    assert sources(tmp_path, server, attempts=3).resolve(spec(server)).exists()
    with pytest.raises(DataError, match="HTTP 404"):
        sources(tmp_path, server, attempts=3).resolve(spec(server, FileSpec("b", f"{server.url}/b")))
    assert len(server.seen) == 4


def test_where_nothing_answers_the_error_says_which_file_to_put_where(tmp_path: Path, server: Server) -> None:
    gone = FileSpec("sub/a.json", "http://127.0.0.1:1/a.json")
    with pytest.raises(DataError, match="can't be fetched") as error:
        sources(tmp_path, server).resolve(spec(server, gone))
    assert f"put it at {tmp_path}/cache/toy/sub/a.json" in error.value.fix


def test_a_file_put_into_the_cache_by_hand_is_used_also_packed_and_offline(tmp_path: Path, server: Server) -> None:
    offline = sources(tmp_path, server, offline=True)
    with pytest.raises(DataError, match="offline mode is on") as error:
        offline.resolve(spec(server))
    target = tmp_path / "cache" / "toy" / "a.bin.gz"
    assert str(target.with_suffix("")) in error.value.fix
    target.parent.mkdir(parents=True)
    target.write_bytes(b"x")
    assert offline.resolve(spec(server)) == target
    assert server.seen == []


def test_a_file_name_cannot_leave_the_cache(tmp_path: Path, server: Server) -> None:
    for name in ("../a.json", "/etc/a.json"):
        with pytest.raises(DataError, match="points outside the cache"):
            sources(tmp_path, server).resolve(spec(server, FileSpec(name, f"{server.url}/a")))


def hub(*files: FileSpec) -> BenchmarkSpec:
    return BenchmarkSpec("toy", SourceSpec(SourceType.HUGGINGFACE, dataset="org/set", revision="abc", files=files))


def test_a_file_of_the_hub_comes_from_its_revision(tmp_path: Path, server: Server) -> None:
    server.files["/datasets/org/set/resolve/abc/data/a%20b.json"] = b"[]"
    path = sources(tmp_path, server).resolve(hub(FileSpec("data/a b.json")))
    assert path == tmp_path / "cache" / "org--set" / "abc" / "data" / "a b.json"


def test_patterns_are_filled_in_from_the_listing_of_the_hub_page_by_page(tmp_path: Path, server: Server) -> None:
    tree = "/api/datasets/org/set/tree/abc/data?recursive=true"
    entries = [
        {"type": "directory", "path": "data/x"},
        {"type": "file", "path": "data/x/1.json", "size": len(BODY), "lfs": {"oid": SHA, "size": len(BODY)}},
        {"type": "file", "path": "data/x/deep/3.json", "size": 2},
    ]
    server.files[tree] = json.dumps(entries).encode()
    server.files["/page2"] = json.dumps([{"type": "file", "path": "data/y/2.json", "size": 2}]).encode()
    server.links[tree] = f"{server.url}/page2"
    server.files["/datasets/org/set/resolve/abc/data/x/1.json"] = BODY
    server.files["/datasets/org/set/resolve/abc/data/y/2.json"] = b"{}"
    folder = sources(tmp_path, server).resolve(hub(FileSpec("data/*/*.json")))
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("[0-9].json")) == [
        "data/x/1.json",
        "data/y/2.json",
    ]
    asked = len(server.seen)
    assert sources(tmp_path, server).resolve(hub(FileSpec("data/*/*.json"))) == folder
    assert len(server.seen) == asked  # The listing is kept.
    assert sources(tmp_path, server, offline=True).resolve(hub(FileSpec("data/*/*.json"))) == folder


def test_a_large_file_that_differs_from_the_listing_of_the_hub_is_refused(tmp_path: Path, server: Server) -> None:
    entry = {"type": "file", "path": "a.parquet", "size": len(BODY), "lfs": {"oid": "0" * 64}}
    server.files["/api/datasets/org/set/tree/abc/?recursive=true"] = json.dumps([entry]).encode()
    server.files["/datasets/org/set/resolve/abc/a.parquet"] = BODY
    for name in ("*.parquet", "a.parquet"):
        with pytest.raises(DataError, match="SHA-256"):
            sources(tmp_path, server).resolve(hub(FileSpec(name)))


def test_where_no_hub_lists_the_files_the_error_says_what_to_put_where(tmp_path: Path, server: Server) -> None:
    with pytest.raises(DataError, match="HTTP 404") as error:
        sources(tmp_path, server).resolve(hub(FileSpec("data/*.csv")))
    assert str(tmp_path / "cache" / "org--set" / "abc" / "data" / "*.csv") in error.value.fix
    assert "--data" in error.value.fix


def test_a_pattern_that_nothing_matches_is_an_error(tmp_path: Path, server: Server) -> None:
    server.files["/api/datasets/org/set/tree/abc/?recursive=true"] = b"[]"
    with pytest.raises(DataError, match=r"no file '\*.csv'"):
        sources(tmp_path, server).resolve(hub(FileSpec("*.csv")))


def test_a_token_is_not_handed_on_to_another_host(tmp_path: Path, server: Server) -> None:
    server.redirects["/datasets/org/set/resolve/abc/a.json"] = f"{server.url}/cdn"
    server.files["/cdn"] = b"[]"
    found = sources(tmp_path, server)
    found = replace(found, downloader=replace(found.downloader, token="secret"))
    assert found.resolve(hub(FileSpec("a.json"))).read_bytes() == b"[]"
    assert [headers.get("Authorization") for _, headers in server.seen] == ["Bearer secret", "Bearer secret", None]


def test_local_data_is_beside_the_yaml_file_and_the_users_own_copy_wins(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]")
    (tmp_path / "b.json").write_text("[]")
    local = SourceSpec(SourceType.LOCAL, path="a.json", instructions="Make one.")
    found = BenchmarkSpec("toy", local, origin=SpecOrigin(tmp_path / "toy.yaml"))
    assert Sources().resolve(found) == tmp_path / "a.json"
    assert Sources().resolve(found, tmp_path / "b.json") == tmp_path / "b.json"
    with pytest.raises(DataError, match=r"no .*c.json. Fix: Make one."):
        Sources().resolve(found, tmp_path / "c.json")
    several = replace(found, source=SourceSpec(SourceType.LOCAL, files=(FileSpec("a.json"), FileSpec("b.json"))))
    assert Sources().resolve(several) == tmp_path


def test_an_address_that_is_not_http_is_refused(tmp_path: Path, server: Server) -> None:
    with pytest.raises(DataError, match="not an http"):
        sources(tmp_path, server).resolve(spec(server, FileSpec("a", "file:///etc/passwd")))
