"""A scripted model for coding tasks that can do anything, but knows only what its request contains.

It recognises the task from the request. If the request contains everything that the task needs, it applies the gold
patch with a shell command. Otherwise, it applies the guess, like a model without that knowledge. Therefore, the
resolve rate of an arm depends only on its memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memeval.claudecode.coding.sample import SampleRepository, SampleTask

Body = dict[str, Any]
Block = dict[str, Any]
MEMORY_FOLDER = re.compile(r"[^\s`'\"]+/memory/(?=[\s`'\".,]|MEMORY\.md)")


def strings(value: Any) -> list[str]:
    """Yield all strings of a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in strings(item)]


def request_text(body: Body) -> str:
    """Return the model's input as text: system and messages, without the tools' descriptions."""
    return "\n".join(strings([body.get("system"), body.get("messages")]))


@dataclass
class Solver:
    """`brain(body)` returns the blocks of the answer. `decided` contains (task, known) for each first request of a session."""

    repositories: Sequence[SampleRepository]
    keeps_notes: bool = True
    decided: list[tuple[str, bool]] = field(default_factory=list)

    def __call__(self, body: Body) -> list[Block]:
        text = request_text(body)
        found = self.task_of(text)
        if found is None or not body.get("tools"):
            return [{"type": "text", "text": "done"}]
        repository, task = found
        if _has_tool_result(body):
            return [{"type": "text", "text": f"The change is made. {_result(repository, text)}"}]
        known = knows(repository, text)
        self.decided.append((task.id, known))
        return [_bash(self._command(repository, task, known, text))]

    def task_of(self, text: str) -> tuple[SampleRepository, SampleTask] | None:
        """Return the task whose prompt comes last in the text."""
        places = [(text.rfind(task.prompt), one, task) for one in self.repositories for task in one.tasks]
        place, repository, task = max(places, key=lambda entry: entry[0])
        return None if place < 0 else (repository, task)

    def _command(self, repository: SampleRepository, task: SampleTask, known: bool, text: str) -> str:
        patch = task.gold if known else task.gold.replace(*repository.guess)
        command = f"git apply - <<'PATCH'\n{patch}PATCH"
        folder = MEMORY_FOLDER.search(text)
        if self.keeps_notes and folder and task is repository.tasks[0]:
            note = f"mkdir -p '{folder[0]}' && cat >> '{folder[0]}MEMORY.md' <<'NOTE'\n- {repository.fact}\nNOTE"
            command = f"{note}\n{command}"
        return command


def knows(repository: SampleRepository, text: str) -> bool:
    """Return whether a text contains everything that later tasks need."""
    return all(need.lower() in text.lower() for need in repository.needs)


def _result(repository: SampleRepository, text: str) -> str:
    return repository.fact if knows(repository, text) else ""


def _has_tool_result(body: Body) -> bool:
    contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    return any(block.get("type") == "tool_result" for content in contents for block in content)


def _bash(command: str) -> Block:
    name = f"toolu_{abs(hash(command)):022d}"[:28]
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command, "description": "Make the change"}}


def play(solver: Solver, prompt: str, run: Callable[[str], str], memory: str = "") -> str:
    """Play one session without a client: ask the brain, run its commands with `run`, and return its final answer."""
    messages: list[Body] = [{"role": "user", "content": [{"type": "text", "text": f"{memory}\n{prompt}"}]}]
    for _ in range(5):
        blocks = solver(json.loads(json.dumps({"system": "", "messages": messages, "tools": [{"name": "Bash"}]})))
        uses = [block for block in blocks if block["type"] == "tool_use"]
        if not uses:
            return str(blocks[0]["text"])
        results = [{"type": "tool_result", "tool_use_id": use["id"], "content": run(use["input"]["command"])} for use in uses]
        messages += [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
    raise AssertionError("the session did not end")
