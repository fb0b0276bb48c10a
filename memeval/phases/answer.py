"""Phase 3: the answering model reads what was found and answers.

Reader `direct` gives the pieces as text and takes the reply as it is. Reader `con` (chain of note, LongMemEval) gives
them as JSON and has the model write notes first; the answer is what follows the last line that begins with `Answer:`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from memeval.errors import ModelError
from memeval.prompts import Prompt, format_memories
from memeval.prompts.memories import shown_date
from memeval.protocols import Model
from memeval.types import Answer, Question, Retrieved

PromptFor = Callable[[Question], Prompt]
_FINAL = re.compile(r"^\W*answer\W*:\s*", re.IGNORECASE | re.MULTILINE)


def answer(model: Model, prompt_for: PromptFor, question: Question, pieces: Sequence[Retrieved], reader: str) -> Answer:
    """The hypothesis. Raises ModelError, also for an empty reply."""
    prompt = prompt_for(question)
    values = {
        "question": asked(question),
        "memories": format_memories(pieces, as_json=reader == "con", by_time=prompt.by_time),
        "date": shown_date(question.at) or "not known",
        "speakers": str(question.metadata.get("speakers", "")),
    }
    made = model.complete(prompt.render(values))
    text = final_answer(made.text) if reader == "con" else made.text.strip()
    if not text:
        raise ModelError(f"{made.model} gave an empty answer.", fix="Try again, or another model.")
    return Answer(text, made.model, prompt.hash, made.usage, made.seconds)


def asked(question: Question) -> str:
    """The question as the model reads it: with the replies to choose from, where the benchmark has some (`options`)."""
    options = question.metadata.get("options") or ()
    return "\n".join([question.text, "", *map(str, options)]) if options else question.text


def final_answer(text: str) -> str:
    """What follows the last `Answer:` line; the whole reply when there is none."""
    return _FINAL.split(text)[-1].strip()
