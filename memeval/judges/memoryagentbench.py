"""`memoryagentbench`: the scores of a question's sub-dataset (see `memeval.core.overlap`).

The main one, `memoryagentbench_score`, is the metric that the benchmark reports for the sub-dataset. Option `entities`: the
file `entity2id.json` of Recsys_Redial; without it recommendations are unscored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from memeval import registry
from memeval.core import overlap as official
from memeval.core.errors import ConfigError
from memeval.core.types import Answer, Question, Score
from memeval.judges.base import NO_GOLD, TextJudge

MAIN = "memoryagentbench_score"
NO_TITLES = "skipped: needs entity2id.json (benchmark option entities)"
BY_MODEL = "skipped: this sub-dataset is judged by a model"


@registry.judge("memoryagentbench")
class MemoryAgentBenchJudge(TextJudge):
    """A score for each metric of the sub-dataset, the reported one first."""

    name = "memoryagentbench"
    options = frozenset({"entities"})

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """The main score, then all."""
        if not question.answers:
            return [Score(MAIN, None, NO_GOLD, self.name)]
        kind = str(question.metadata.get("sub_dataset") or "")
        if "recsys" in kind and not self._titles:
            return [Score(MAIN, None, NO_TITLES, self.name)]
        found = official.scores(kind, answer.text, question.answers, self._titles)
        main = official.primary(kind)
        first = Score(MAIN, found[main], main, self.name) if main else Score(MAIN, None, BY_MODEL, self.name)
        return [first, *(Score(name, value, "", self.name) for name, value in found.items())]

    @cached_property
    def _titles(self) -> Mapping[str, str]:
        """Title by id of everything that can be recommended."""
        named = str(self._options.get("entities") or "")
        if not named:
            return {}
        try:
            table = json.loads(Path(named).expanduser().read_text("utf-8"))
            return {str(number): official.title_of(name) for name, number in table.items()}
        except (OSError, ValueError, AttributeError) as error:
            raise ConfigError(f"{named} is no table of entities: {error}", fix="Give entity2id.json of the data set.") from error
