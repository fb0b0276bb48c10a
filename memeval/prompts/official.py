"""Judge prompts from official code, read from the user's copy. None of their text is part of this project.

A benchmark's file specifies the code by commit and SHA-256 (`judge.options.official`). It is fetched into the cache
like data. A result has the benchmark's name only with that code, and with the judge model of the paper or the code.
Each reader converts the files of one protocol to prompts by key. The judge chooses the key for a question.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memeval.core.errors import DataError
from memeval.core.types import QuestionType
from memeval.prompts.files import Prompt

Prompts = Mapping[str, Prompt]
_AGAIN = "Remove it to fetch it again."


@dataclass(frozen=True, slots=True)
class Official:
    """The prompts of official code by key, its judge model, and its token limit for a reply (None for no limit)."""

    prompts: Prompts
    model: str = ""
    max_tokens: int | None = None

    def hashes(self) -> dict[str, str]:
        """Return the hash of each prompt."""
        return {key: prompt.hash for key, prompt in self.prompts.items()}

    def is_model(self, answered: str) -> bool:
        """Return whether the answering model is the pinned one or a dated snapshot of it."""
        name = answered.rpartition("/")[2]
        return bool(self.model) and (name == self.model or bool(re.fullmatch(re.escape(self.model) + r"-\d{4}-\d\d-\d\d", name)))


def official_prompts(protocol: str, files: Sequence[Path]) -> Prompts:
    """Read the prompts from the official code of a protocol.

    Raises DataError for a file with unexpected content, and KeyError for an unknown protocol.
    """
    return READERS[protocol](files)


def longmemeval_prompts(script: Path) -> Prompts:
    """Read the five prompts of evaluate_qa.py by question type. Other types get the general prompt. Raises DataError."""
    order = ("general", "temporal", "knowledge_update", "preference", "abstention")
    assigned = [node.value for node in ast.walk(_parsed(script)) if isinstance(node, ast.Assign)]
    constants = [node for node in assigned if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    texts = [str(node.value) for node in sorted(constants, key=lambda node: node.lineno) if str(node.value).count("{}") == 3]
    ordered = dict(zip(order, _expected(script, texts, len(order)), strict=True))
    filled = {key: _in_order(text, ("{question}", "{answer}", "{response}")) for key, text in ordered.items()}
    made = {
        kind: _prompt("longmemeval", kind, filled.get(kind, filled["general"]), script, "MIT")
        for kind in (one.value for one in QuestionType)
    }
    return {QuestionType(kind): prompt for kind, prompt in made.items()}


def _locomo(files: Sequence[Path]) -> Prompts:
    """Read the vendors' judge from mem0's llm_judge.py."""
    (script,) = files
    text = _assigned(script, "ACCURACY_PROMPT")
    names = {"gold_answer": "answer", "generated_answer": "response"}
    return {"accuracy": _prompt("locomo", "accuracy", _formatted(text, names), script, "Apache 2.0")}


def _locomo_plus(files: Sequence[Path]) -> Prompts:
    """Read the table PROMPT_TEMPLATES of prompt.py by category."""
    (script,) = files
    table = _value(script, "PROMPT_TEMPLATES")
    if not isinstance(table, dict) or "Cognitive" not in table:
        raise DataError(f"{script} has no prompt Cognitive.", fix=_AGAIN)
    names = {"gold": "answer", "pred": "response"}
    return {str(key): _prompt("locomo-plus", str(key), _formatted(str(text), names), script) for key, text in table.items()}


def _beam(files: Sequence[Path]) -> Prompts:
    """Read the judge of prompts.py, and the event comparison prompt of compute_metrics.py.

    The official code never fills in the judge's `<question>`.
    """
    texts, metrics = files
    judge = _assigned(texts, "unified_llm_judge_base_prompt")
    judge = judge.replace("<rubric_item>", "{answer}").replace("<llm_response>", "{response}")
    system, user = _same_event(metrics)
    same = Prompt("beam/official.same", "same", user, system, source="compute_metrics.py of BEAM")
    return {"rubric": _prompt("beam", "rubric", judge, texts), "same": same}


def _same_event(script: Path) -> tuple[str, str]:
    """Read the system and user texts of `llm_equivalence`."""
    found = next(
        (node for node in ast.walk(_parsed(script)) if isinstance(node, ast.FunctionDef) and node.name == "llm_equivalence"), None
    )
    tables = [node for node in ast.walk(found) if isinstance(node, ast.Dict)] if found else []
    texts = [
        _template(value) for table in tables for key, value in zip(table.keys, table.values, strict=True) if _is_content(key)
    ]
    system, user = _expected(script, texts, 2)
    return system, user.replace("{first_paragraph}", "{answer}").replace("{second_paragraph}", "{response}")


def _is_content(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and key.value == "content"


def _template(node: ast.expr) -> str:
    """Return the text of a string literal. Names in an f-string are kept as placeholders."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_template(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return str(node.value) if isinstance(node, ast.Constant) else ""


_SCALA = re.compile(r'\bs"""(.*?)"""|"""(.*?)"""', re.DOTALL)
_CONVOMEM = ("default", "rubric", "temporal", "user_1", "user_n", "abstention")


def _convomem(files: Sequence[Path]) -> Prompts:
    """Read the judges of AnsweringEvaluation.scala with their guidelines, in file order."""
    (script,) = files
    texts: list[str] = []
    guidelines = ""
    for match in _SCALA.finditer(_text(script)):
        if match[1] is None:
            guidelines = match[2]
        else:
            texts.append(match[1].replace("$guidelines", guidelines))
    names = {
        "$question": "{question}", "$correctAnswer": "{answer}", "$modelAnswer": "{response}",
        "$evidenceMessagesText": "{evidence}", "$evidenceMessageText": "{evidence}",
    }  # fmt: skip
    made = {}
    for key, text in zip(_CONVOMEM, _expected(script, texts, len(_CONVOMEM)), strict=True):
        for old, new in names.items():
            text = text.replace(old, new)
        made[key] = _prompt("convomem", key, text, script, "Apache 2.0")
    return made


_SUMMARY = {"fluency": "fluency_prompt_book", "recall": "recall_prompt_book", "precision": "precision_prompt_book"}


def _memoryagentbench(files: Sequence[Path]) -> Prompts:
    """Read the prompts of MemoryAgentBench's official code.

    Three are for summaries of novels (summarization_evaluate.py). Five are by question type (longmem_qa_evaluate.py).
    """
    summaries, answers = files
    names = {"text": "response", "summary": "response", "keypoints": "evidence", "expert_summary": "answer"}
    made = {
        key: _prompt("memoryagentbench", key, _formatted(_assigned(summaries, name), names), summaries, "MIT")
        for key, name in _SUMMARY.items()
    }
    return {**made, **{f"answer.{kind}": prompt for kind, prompt in longmemeval_prompts(answers).items()}}


def _longmemeval_v2(files: Sequence[Path]) -> Prompts:
    """Read the two judges of qa_eval_metrics.py. Their system text is a constant, and a function builds the user text."""
    (script,) = files
    names = {
        "question_text": "question", "reference_answer": "answer",
        "model_full_response": "response", "model_final_answer": "final",
    }  # fmt: skip
    made = {}
    for key in ("abstention", "gotchas"):
        functions = [node for node in _parsed(script).body if isinstance(node, ast.FunctionDef)]
        found = next((node for node in functions if node.name == f"_build_{key}_judge_messages"), None)
        texts = [_template(node.value) for node in ast.walk(found) if isinstance(node, ast.Assign)] if found else []
        (user,) = _expected(script, texts, 1)
        for old, new in names.items():
            user = user.replace(f"{{{old}}}", f"{{{new}}}")
        system = _assigned(script, f"_{key.upper()}_JUDGE_SYSTEM_PROMPT")
        made[key] = Prompt(f"longmemeval-v2/official.{key}", "judge", user, system, source=f"{script.name} (official)")
    return made


READERS: Mapping[str, Callable[[Sequence[Path]], Prompts]] = {
    "longmemeval": lambda files: longmemeval_prompts(files[0]),
    "locomo": _locomo,
    "locomo-plus": _locomo_plus,
    "beam": _beam,
    "convomem": _convomem,
    "memoryagentbench": _memoryagentbench,
    "longmemeval-v2": _longmemeval_v2,
}


def _text(script: Path) -> str:
    try:
        return script.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise DataError(f"{script} can't be read: {error}", fix=_AGAIN) from error


def _parsed(script: Path) -> ast.Module:
    try:
        return ast.parse(_text(script))
    except (SyntaxError, ValueError) as error:
        raise DataError(f"{script} can't be read: {error}", fix=_AGAIN) from error


def _value(script: Path, name: str) -> object:
    """Return the literal assigned to a name in the module. The last assignment wins, as at run time."""
    found = None
    for node in _parsed(script).body:
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == name for target in node.targets):
            found = node.value
    try:
        return ast.literal_eval(found) if found is not None else None
    except ValueError as error:
        raise DataError(f"{script}: {name} is not plain text.", fix=_AGAIN) from error


def _assigned(script: Path, name: str) -> str:
    found = _value(script, name)
    if not isinstance(found, str):
        raise DataError(f"{script} has no text {name}.", fix=_AGAIN)
    return found


def _expected(script: Path, texts: Sequence[str], count: int) -> Sequence[str]:
    if len(texts) != count:
        raise DataError(f"{script} contains {len(texts)} prompts instead of {count}.", fix=_AGAIN)
    return texts


def _in_order(text: str, values: Sequence[str]) -> str:
    for value in values:
        text = text.replace("{}", value, 1)
    return text


def _formatted(text: str, names: Mapping[str, str]) -> str:
    """Convert a `str.format` template to our placeholder names, unescaping doubled braces."""

    def one(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        return f"{{{names.get(match[1], match[1])}}}"

    return re.sub(r"\{\{|\}\}|\{(\w+)\}", one, text)


def _prompt(protocol: str, key: str, text: str, script: Path, licence: str = "") -> Prompt:
    return Prompt(f"{protocol}/official.{key}", "judge", text, source=f"{script.name} (official)", licence=licence)
