"""The command `init`, which creates templates for your own provider or benchmark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from memeval.core.errors import ConfigError
from memoryd.core.files import write_atomic

TYPES = ("python", "http", "mcp", "program")

_PYTHON_YAML = """\
# A memory system of your own, as a Python class. Try it:
#   memeval check {name}
#   memeval eval --benchmarks sample --providers {name} bm25
name: {name}
displayName: {title}
description: Notes that are found by common words.
type: local
# The class is in the file beside this one. It is made once for each case of a benchmark.
adapter: ./{module}.py:Memory
# Arguments of the class; a run can give others by --provider-option lower=false
options:
  lower: true
"""
_PYTHON_CODE = '''\
"""A memory system with the two methods that memeval needs. Put yours in their place."""


class Memory:
    """Notes in a list, found by the words that they share with the query.

    With an argument `folder` in `__init__` the class gets a folder for each case, and what it keeps there is used again by
    later commands. Without it memeval adds everything again when a later command needs it.
    """

    def __init__(self, lower: bool = True) -> None:
        self.lower = lower
        self.notes: list[tuple[str, dict]] = []

    def add(self, text: str, metadata: dict) -> None:
        """Remember one turn. `metadata` says where it comes from; hand it out with a hit, so that retrieval can be scored."""
        self.notes.append((text, metadata))

    def search(self, query: str, k: int) -> list[dict]:
        """At most k hits, best first."""
        wanted = self.words(query)
        scored = [(len(wanted & self.words(text)), text, metadata) for text, metadata in self.notes]
        scored.sort(key=lambda one: -one[0])
        return [{{"text": text, "score": score, "metadata": metadata}} for score, text, metadata in scored[:k]]

    def words(self, text: str) -> set[str]:
        return set((text.lower() if self.lower else text).split())
'''
_HTTP_YAML = """\
# A memory system with an HTTP API. Correct what is marked, then:
#   export {variable}_KEY=…
#   memeval check {name}        (shows each answer raw and as it is read)
#   memeval eval --benchmarks sample --providers {name}
name: {name}
displayName: {title}
description: A hosted memory.
type: hosted
connection:
  baseUrl: ${{{variable}_URL:-http://localhost:8000}}   # where it answers
  timeout: 30
auth:
  type: bearer              # or token, apikey, none
  envVar: {variable}_KEY
scoping:
  type: userId              # each case is a user of its own: ${{runTag}}
endpoints:
  add:
    method: POST
    path: /memories
    unit: turn              # or session, batch
    body:                   # $.content, $.at, $.metadata, $.messages, …: see docs/providers.md
      user_id: ${{runTag}}
      text: $.content
      metadata: $.metadata
    response:
      idField: $.id
  search:
    method: POST
    path: /search
    body:
      user_id: ${{runTag}}
      query: $.query
      limit: $.k
    response:
      results: $.results    # the list of hits; what follows is relative to one
      contentField: $.text
      scoreField: $.score
      idField: $.id
      metadataField: $.metadata
  clear:
    method: DELETE
    path: /users/${{runTag}}
    ignoreStatus: [404]
capabilities:
  sources: true
rateLimit:
  retries: 3
"""
_MCP_YAML = """\
# A memory system that is an MCP server. This one starts the reference server by npx; put yours in its place. Try it:
#   memeval check {name}        (shows each answer raw and as it is read, and names the tools that there are)
#   memeval eval --benchmarks sample --providers {name}
name: {name}
displayName: {title}
description: A memory over MCP.
type: mcp
mcp:
  command: [npx, -y, "@modelcontextprotocol/server-memory"]
  environment:
    MEMORY_FILE_PATH: ${{folder}}/memory.jsonl   # ${{folder}}: a folder for each case
tools:
  add:
    tool: create_entities
    unit: turn              # or session, batch
    arguments:              # $.content, $.at, $.metadata, …: see docs/providers.md
      entities:
        - name: ${{id}}
          entityType: turn
          observations: [$.content]
    response:
      idField: $.entities[*].name
  search:
    tool: search_nodes
    arguments:
      query: $.query
    response:
      results: $.entities   # the list of hits; what follows is relative to one
      contentField: $.observations[0]
      idField: $.name
  clear:
    tool: delete_entities
    arguments:
      entityNames: $.ids
capabilities:
  sources: true
"""
_PROGRAM_YAML = """\
# A memory system that is a program with an environment of its own. Try it:
#   memeval check {name}
#   memeval eval --benchmarks sample --providers {name} bm25
name: {name}
displayName: {title}
description: A program that answers JSON lines.
type: local
implementation: process
options:
  command: [python3, {path}]   # e.g. the Python of its own environment
"""
_PROGRAM_CODE = '''\
"""A memory system as a program: it answers one JSON line for each. Put yours in the place of the two functions."""

import json
import sys
from pathlib import Path

folder = Path()


def notes(scope):
    """What is kept; in files, since searches come from another process than additions."""
    path = folder / f"{{scope}}.json"
    return json.loads(path.read_text()) if path.exists() else []


def add(scope, items):
    (folder / f"{{scope}}.json").write_text(json.dumps(notes(scope) + items))


def search(scope, query, k):
    wanted = set(query.lower().split())
    scored = [(len(wanted & set(note["text"].lower().split())), note["id"]) for note in notes(scope)]
    scored.sort(key=lambda one: -one[0])
    return [{{"id": id, "score": score}} for score, id in scored[:k]]


def answer(asked):
    global folder
    match asked["do"]:
        case "open":
            folder = Path(asked["folder"])
        case "add":
            add(asked["scope"], asked["items"])
        case "search":
            return {{"found": search(asked["scope"], asked["query"], asked["k"])}}
        case "clear":
            (folder / f"{{asked['scope']}}.json").unlink(missing_ok=True)
    return {{}}


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({{"id": asked["id"], "ok": answer(asked)}}), flush=True)
'''
_BENCHMARK_YAML = """\
# A benchmark of your own. Try it:
#   memeval describe {name}
#   memeval eval --benchmarks {name} --providers memoryd bm25 --answering-model extractive
name: {name}
displayName: {title}
description: Questions about a team's meetings.
source:
  type: local
  path: {name}.jsonl        # relative to this file; also .json, .csv, .parquet
# Where things are. Paths of a session are relative to it, likewise of a turn and a question.
schema:
  caseId: $.team
  sessions: $.meetings
  sessionId: $.id
  sessionDate: $.date
  turns: $.said
  turnId: $.id
  speaker: $.who
  text: $.words
  questions: $.questions
  questionId: $.id
  question: $.question
  questionType: $.type
  answer: $.answer
  evidenceTurns: $.evidence
# Your types: to fact_recall, multi_hop, temporal, inference, preference, knowledge_update, abstention.
questionTypes:
  lookup: fact_recall
  unknown: abstention
ingestion: session-based    # or bulk, incremental
# Your own judge, a function in the file beside this one; without it, name one: judge: {{name: f1}} (or llm, exact, contains, …)
customEvaluator: ./{module}.py:judge
# Models that a run takes when no flag names others (--answering-model none: retrieval only):
# models:
#   answering: openai/gpt-4.1-mini
#   judge: openai/gpt-4o
metrics: [accuracy, recall_any, recall_all, mrr]
retrieval:
  k: [1, 5]
licence: MIT
citation: Our own notes.
"""
_BENCHMARK_CODE = '''\
"""The judge of the benchmark."""


def judge(question, answer):
    """True if a gold answer is in the answer. None is not scored; several numbers: {{"accuracy": 1, "short": 0}}."""
    if question.is_abstention:
        return any(words in answer.lower() for words in ("not ", "no information", "unknown"))
    return any(gold.lower() in answer.lower() for gold in question.answers)
'''
_BENCHMARK_DATA: Mapping[str, Any] = {
    "team": "blue",
    "meetings": [
        {
            "id": "m1",
            "date": "2026-03-02",
            "said": [
                {"id": "a", "who": "Ines", "words": "The export breaks on leap days."},
                {"id": "b", "who": "Jon", "words": "I will look at the login page."},
            ],
        },
        {
            "id": "m2",
            "date": "2026-03-09",
            "said": [{"id": "c", "who": "Ines", "words": "The export works again; it was the calendar library."}],
        },
    ],
    "questions": [
        {
            "id": "blue-1",
            "question": "What broke the export?",
            "type": "lookup",
            "answer": "the calendar library",
            "evidence": ["c"],
        },
        {"id": "blue-2", "question": "Who looks at the login page?", "type": "lookup", "answer": "Jon", "evidence": ["b"]},
        {"id": "blue-3", "question": "Where did Ines move?", "type": "unknown", "answer": "not mentioned", "evidence": []},
    ],
}


@click.command("init")
@click.argument("kind", type=click.Choice(["provider", "benchmark"]))
@click.argument("name")
@click.option("--type", "type_", type=click.Choice(TYPES), default="python", show_default=True, help="What a provider is.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("memeval.d"),
    show_default=True,
    help="Folder for your own files; memeval.d in the current folder is found automatically.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def init(kind: str, name: str, type_: str, folder: Path, force: bool) -> None:
    """Create a template for your own provider or benchmark: a commented YAML file with the files it needs.

    A benchmark, or a provider of type python or program, works without changes. The types http and mcp show where your API goes.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,60}", name):
        raise ConfigError(f"{name!r} is not a valid name.", fix="Use lower-case letters, digits and hyphens.")
    place = folder / f"{kind}s"
    files = _provider(name, type_, place) if kind == "provider" else _benchmark(name)
    if (there := [place / file for file in files if (place / file).exists()]) and not force:
        raise ConfigError(f"{there[0]} already exists.", fix="Choose another name, or give --force.")
    place.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        write_atomic(place / file, text.encode(), private=False)
        click.echo(str(place / file))
    first = next(iter(files.values())).splitlines()
    click.echo("Next:")
    for line in first[1:4]:
        if line.startswith("#   "):
            click.echo(f"  {line.removeprefix('#   ')}")


def _names(name: str) -> dict[str, str]:
    module = name.replace("-", "_")
    title = name.replace("-", " ").capitalize()
    return {"name": name, "title": title, "module": module, "variable": re.sub(r"^(?=[0-9])", "M", module).upper()}


def _provider(name: str, type_: str, place: Path) -> dict[str, str]:
    names = _names(name)
    if type_ == "python":
        return {f"{name}.yaml": _PYTHON_YAML.format(**names), f"{names['module']}.py": _PYTHON_CODE.format()}
    if type_ == "program":
        path = (place / f"{names['module']}.py").as_posix()
        return {f"{name}.yaml": _PROGRAM_YAML.format(**names, path=path), f"{names['module']}.py": _PROGRAM_CODE.format()}
    return {f"{name}.yaml": (_MCP_YAML if type_ == "mcp" else _HTTP_YAML).format(**names)}


def _benchmark(name: str) -> dict[str, str]:
    names = _names(name)
    return {
        f"{name}.yaml": _BENCHMARK_YAML.format(**names),
        f"{name}.jsonl": json.dumps(_BENCHMARK_DATA) + "\n",
        f"{names['module']}.py": _BENCHMARK_CODE.format(),
    }


COMMANDS = (init,)
