"""Tests of the pages in a real browser. They fail without Chromium (Debian: apt-get install chromium)."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from memeval.core.types import Phase
from memeval.report import parse_run
from memeval.report.html import write_site
from memeval.report.html.run_page import anchor
from memeval.results.files import ResultsDir
from tests.memeval.result_files import Asked, many, result, write

pytestmark = pytest.mark.slow
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ATTACK = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def browser() -> str:
    """Return the browser from CHROMIUM_BIN or PATH. A missing browser is a failure."""
    found = os.environ.get("CHROMIUM_BIN") or next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found, "Chromium is needed: apt-get install chromium, or set CHROMIUM_BIN"
    return found


def run_browser(profile: Path, *words: str) -> tuple[str, str]:
    """Run the browser headless and return its output and error.

    No host name can be resolved, so anything that needs the network fails.
    """
    command = [
        browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars",
        "--disable-dev-shm-usage", "--no-first-run", "--enable-logging=stderr", "--v=0",
        "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}", *words,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    return done.stdout, done.stderr


def console(stderr: str) -> list[str]:
    """Return the page's console messages: script errors and policy violations."""
    return [line for line in stderr.splitlines() if ":CONSOLE" in line]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    asked = [
        *many(28, 20),
        Asked("evil", {"llm_accuracy": 0.0}, text=ATTACK, answer=ATTACK, expected=(ATTACK,), pieces=(ATTACK,)),
        Asked("broken", error=(Phase.ANSWER, ATTACK)),
        Asked("unsure", {"llm_accuracy": None}, type="temporal"),
    ]
    write(root, result("r1", asked))
    write(root, result("r2", many(31, 12, cost=0.002), provider={"name": ATTACK}))
    return write_site(ResultsDir(root)).parent


def test_the_page_runs_its_script_and_nothing_else(site: Path, tmp_path: Path) -> None:
    dom, log = run_browser(tmp_path, "--dump-dom", (site / "r1.html").as_uri())
    assert not console(log)
    assert "<title>sample with bm25</title>" in dom and "31 of 31 questions" in dom
    assert 'class="no-script"' not in dom
    assert dom.count("<script") == 1 and "&lt;img src=x" in dom and "<img" not in dom


def test_a_strangers_script_would_be_stopped_by_the_policy(site: Path, tmp_path: Path) -> None:
    """Check that the test detects a fault: injected markup does not run, and the console reports it."""
    broken = tmp_path / "broken.html"
    text = (site / "r1.html").read_text("utf-8")
    broken.write_text(text.replace("<h1>", f"{ATTACK}<h1>"), "utf-8")
    dom, log = run_browser(tmp_path / "profile", "--dump-dom", broken.as_uri())
    assert "<title>owned</title>" not in dom
    assert any("Content Security Policy" in line for line in console(log))


def test_a_link_to_a_question_opens_it(site: Path, tmp_path: Path) -> None:
    name = anchor(parse_run(result("x", [Asked("evil")])).questions[0])
    dom, log = run_browser(tmp_path, "--dump-dom", f"{(site / 'r1.html').as_uri()}#{name}")
    assert not console(log)
    opened = re.findall(r"<details [^>]*\bopen\b[^>]*>", dom)
    assert len(opened) == 1 and f'id="{name}"' in opened[0]


def test_filters_leave_the_questions_that_fit(site: Path, tmp_path: Path) -> None:
    """A second script, allowed by the copy's policy, drives the page."""
    steps = """
      const set = (id, value) => { const f = document.getElementById(id); f.value = value; f.dispatchEvent(new Event("input")); };
      const seen = []; const look = () => seen.push(document.getElementById("shown").textContent);
      set("mark", "failed"); look(); set("mark", ""); set("type", "temporal"); look(); set("mark", "unscored"); look();
      set("type", ""); set("mark", ""); set("words", "QUESTION 27"); look();
      document.body.textContent = JSON.stringify(seen);
    """
    copy = tmp_path / "driven.html"
    text = (site / "r1.html").read_text("utf-8")
    text = re.sub(r"script-src 'sha256-[^']+'|script-src &#x27;sha256-.*?&#x27;", "script-src 'unsafe-inline'", text)
    copy.write_text(text.replace("</body>", f"<script>{steps}</script></body>"), "utf-8")
    dom, _ = run_browser(tmp_path / "profile", "--dump-dom", copy.as_uri())
    found = re.search(r"<body[^>]*>(\[.*?\])\s*</body>", dom, re.DOTALL)
    assert found, dom[-500:]
    assert json.loads(found[1]) == [f"{number} of 31 questions" for number in (1, 5, 1, 1)]


def test_the_index_opens_from_disk(site: Path, tmp_path: Path) -> None:
    dom, log = run_browser(tmp_path, "--dump-dom", (site / "index.html").as_uri())
    assert not console(log) and "2 runs of 1 benchmark" in dom and dom.count("<svg") == 2
    links = re.findall(r'href="([^"]+)"', dom)
    assert links and all((site / link).is_file() for link in links)


@pytest.mark.parametrize("name", ["index", "r1"])
def test_pages_are_drawn_in_light_and_dark(site: Path, tmp_path: Path, name: str) -> None:
    light = picture(site / f"{name}.html", tmp_path / "light", "1")
    dark = picture(site / f"{name}.html", tmp_path / "dark", "0")
    assert light[0][0] > 230 and dark[0][0] < 40, "background"
    for colours in (light, dark):
        assert len(set(colours)) > 100, "nothing is drawn"
    blue_light, blue_dark = (0x2A, 0x6F, 0xC9), (0x6B, 0xA6, 0xF2)
    assert light.count(blue_light) > 500 and dark.count(blue_dark) > 500, "bars have the colour of their mode"


def test_nothing_stands_out_on_a_phone(site: Path, tmp_path: Path) -> None:
    """In a frame as narrow as a phone, no page is wider than its frame. Wide tables scroll horizontally."""
    frames = "".join(
        f'<iframe src="{(site / name).as_uri()}" width="360" height="800"></iframe>' for name in ("index.html", "r1.html")
    )
    script = """addEventListener("load", () => { const wide = Array.from(document.querySelectorAll("iframe")).map((f) => [
      f.contentDocument.documentElement.scrollWidth, f.contentDocument.documentElement.clientWidth]);
      document.body.textContent = JSON.stringify(wide); });"""
    outer = tmp_path / "frames.html"
    outer.write_text(f"<body>{frames}<script>{script}</script></body>", "utf-8")
    dom, _ = run_browser(tmp_path / "profile", "--allow-file-access-from-files", "--dump-dom", outer.as_uri())
    found = re.search(r"<body>(\[\[.*?\]\])\s*</body>", dom)
    assert found, dom[-500:]
    for inner, frame in json.loads(found[1]):
        assert 300 < frame <= 360 and inner <= frame


def picture(path: Path, profile: Path, scheme: str) -> list[tuple[int, int, int]]:
    """Return the pixels of a screenshot. Scheme 0 is dark, 1 is light."""
    target = profile.with_suffix(".png")
    run_browser(profile, f"--blink-settings=preferredColorScheme={scheme}", "--window-size=1100,900",
                f"--screenshot={target}", path.as_uri())  # fmt: skip
    return pixels(target.read_bytes())


def pixels(png: bytes) -> list[tuple[int, int, int]]:
    """Return the RGB values of an 8-bit PNG without interlacing, row by row."""
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", png[16:29])
    assert (depth, interlace) == (8, 0) and colour in (2, 6)
    size, data, at = (4 if colour == 6 else 3), b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        data += png[at + 8 : at + 8 + length] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += 12 + length
    raw, stride = zlib.decompress(data), width * size
    rows, before = [], bytearray(stride)
    for row in range(height):
        start = row * (stride + 1)
        before = unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), before, size)
        rows += [tuple(before[x : x + 3]) for x in range(0, stride, size)]
    return rows  # type: ignore[return-value]


def unfiltered(kind: int, line: bytearray, above: bytearray, size: int) -> bytearray:
    """Undo a line's filter (PNG specification, section 9.2)."""
    for x in range(len(line) if kind else 0):
        left, up = (line[x - size] if x >= size else 0), above[x]
        corner = above[x - size] if x >= size else 0
        guess = left + up - corner
        paeth = min((left, up, corner), key=lambda value: abs(guess - value))
        line[x] = (line[x] + (left, up, (left + up) // 2, paeth)[kind - 1]) & 255
    return line
