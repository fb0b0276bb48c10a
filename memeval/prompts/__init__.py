"""Prompts for answers, notes and judgements: files with their source, or inline text.

A file is `<benchmark>/<kind>[.<question type>].md`. It starts with `source:` and `licence:` lines (and `order: time`
if memories are listed by time instead of best first) and a line `---`. The rest is the text, in which `## system` and
`## user` lines separate the messages. Without these lines, the whole text is the `user` message.
"""

from memeval.prompts.files import Prompt, builtin_names, find_prompt, load_prompt
from memeval.prompts.memories import MEMORIES, QUESTION, format_memories, shown_date, tagged

__all__ = [
    "MEMORIES",
    "QUESTION",
    "Prompt",
    "builtin_names",
    "find_prompt",
    "format_memories",
    "load_prompt",
    "shown_date",
    "tagged",
]
