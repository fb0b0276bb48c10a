"""Fit the weights for memories with keys in memoryd/retrieval/relevance.json, on prompts worded differently from the facts.

    python -m benchmarks.fit_keys --data CORPUS PROMPTS KEYS SPLIT [--data …] [--silence 0.87] [--write]

CORPUS contains gold.json (sessions with facts). PROMPTS is a list of {project, fact_ids, form, lang, text}. Fact ids
have the form `session/fact`; the list is empty for an unanswerable prompt on a known subject. KEYS maps fact ids to
questions. Each prompt is run against the facts of its own project. SPLIT lists the projects of the first half. The
weights are fitted on the first halves of all data. The floor of the prompt hook is also chosen there, so that the
hook stays silent on a share `--silence` of the unanswerable prompts (with weights fitted without their project). Both
halves are reported. `--write` saves these weights, so the second halves remain held out.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit_relevance import fit
from memoryd.core.config import Settings
from memoryd.embed import make_embedder
from memoryd.language.gloss import gloss, in_english, is_readable
from memoryd.language.stems import is_foreign, stem
from memoryd.recall.injection import PROMPT_CHARACTERS, PROMPT_MARGIN
from memoryd.retrieval.relevance import (
    FORMAT,
    KEY_FEATURES,
    WEIGHTS_FILE,
    KeyMatcher,
    features_of,
    item_terms,
    load_model,
    overlap_of,
    sense_weights,
    term_weights,
)

Array = NDArray[np.float64]
SETS = ("keys", "key_words", "key_other", "key_pieces")
OTHERS = ("key_other", "key_pieces")
# Only the facts that fit each prompt best are used: any feature separates the many that share nothing with the prompt.
HARDEST = 4
FORMS = ("question", "task", "long", "other_language")
FOLDS, SHUFFLES = 6, 6


@dataclass(frozen=True)
class Asked:
    """A prompt with its project's facts: features by name, and the facts that answer it."""

    project: str
    form: str
    features: dict[str, Array]
    right: Array
    plain: Array
    foreign: bool
    other: bool

    def facts_of(self, name: str) -> NDArray[np.bool_]:
        """Return the mask of the facts that the given weights judge for the prompt."""
        by_pieces: NDArray[np.bool_] = self.features["by_pieces"].astype(bool)
        if name == "key_pieces":
            return by_pieces
        if name == "key_other":
            return np.full(len(self.right), self.other) & ~by_pieces
        return np.full(len(self.right), not self.foreign and (name == "key_words" or not self.other))

    @property
    def answerable(self) -> bool:
        return bool(self.right.any())


def ask(facts: dict[str, dict[str, str]], keys: dict[str, list[str]], prompts: Sequence[dict[str, Any]]) -> list[Asked]:
    """Compute the features of all prompts with all facts of their projects."""
    ids = sorted(facts)
    owned = [(id, key) for id in ids for key in keys.get(id, ())]
    with tempfile.TemporaryDirectory() as home:
        embedder = make_embedder(Settings(Path(home)))
        queries = embedder.embed_queries([prompt["text"][:PROMPT_CHARACTERS] for prompt in prompts])
        english = embedder.embed_queries([gloss(prompt["text"][:PROMPT_CHARACTERS]) for prompt in prompts])
        of_keys = embedder.embed_queries([in_english(key) for _, key in owned])
        to_keys = queries @ of_keys.T
        english_to_keys = english @ of_keys.T
        to_facts = queries @ embedder.embed([facts[id]["text"] for id in ids]).T
    terms = {id: item_terms(facts[id]["text"]) for id in ids}
    everything = {id: terms[id].union(*(item_terms(in_english(key)) for key in keys.get(id, ()))) for id in ids}
    frequency: Callable[[str], int] = cache(lambda word: sum(stem(word) in of for of in everything.values()))
    model = load_model()
    out = []
    for row, prompt in enumerate(prompts):
        text = prompt["text"][:PROMPT_CHARACTERS]
        weights = term_weights(text, frequency, len(ids))
        own = [id for id in ids if facts[id]["project"] == prompt["project"]]
        if not own:
            continue
        read = sense_weights(text, frequency, len(ids))
        matcher, other = KeyMatcher(text, weights, read), bool(read)
        places = [[place for place, (owner, key) in enumerate(owned) if owner == id and is_readable(key)] for id in own]
        cosines = [() if matcher.foreign else to_keys[row, of].tolist() for of in places]
        translated = [english_to_keys[row, of].tolist() if other else () for of in places]
        by_words = [matcher.match(terms[id], keys.get(id, ()), ()) for id in own]
        by_meaning = [matcher.match(terms[id], keys.get(id, ()), *of) for id, *of in zip(own, cosines, translated, strict=True)]
        plain = [
            model.estimate(overlap_of(weights, terms[id]), float(to_facts[row, ids.index(id)]), foreign=is_foreign(text))
            for id in own
        ]
        # Word pieces are only compared without a cosine, but the weights without an embedder need them too.
        both = [
            replace(words, cosine=meaning.cosine, translated=meaning.translated)
            for words, meaning in zip(by_words, by_meaning, strict=True)
        ]
        features = {
            name: np.array([value(match) for match in both], dtype=float) for name, (value, _) in KEY_FEATURES.items()
        } | {"by_pieces": np.array([matcher.foreign and match.translated is None for match in by_meaning], dtype=float)}
        right = np.array([id in prompt["fact_ids"] for id in own], dtype=bool)
        out.append(Asked(prompt["project"], prompt["form"], features, right, np.array(plain), matcher.foreign, other))
    return out


def train(asked: Sequence[Asked], name: str, silence: float, floor: float) -> Array:
    """Fit the bias and the weights, with a share `silence` of the unanswerable prompts below the floor of the prompt hook.

    The floor is chosen by the scores of weights fitted without the prompt's project. With few prompts and only one or
    two features, the scale varies between folds more than the weights overfit. In this case, the floor is chosen by
    the scores of the weights themselves.
    """
    used = [one for one in asked if _fitted_on(one, name).any()]
    model = _fitted(used, name)
    if name in OTHERS:
        highest = [scores(one, name, model)[_fitted_on(one, name)].max() for one in used if not one.answerable]
    else:
        highest = [scores(one, name, apart).max() for one, apart in _apart(used, name) if not one.answerable]
    model[0] += math.log(floor / (1 - floor)) - float(np.quantile(highest, silence))
    return model


def _fitted_on(one: Asked, name: str) -> NDArray[Any]:
    """Return the mask of the facts to fit for the prompt.

    Weights without an embedder are also fitted on facts that have a cosine.
    """
    return np.full(len(one.right), one.foreign) if name == "key_pieces" else one.facts_of(name)


def _apart(asked: Sequence[Asked], name: str) -> Iterator[tuple[Asked, Array]]:
    """Yield each prompt with weights fitted without its project, for several random splits."""
    for seed in range(SHUFFLES):
        projects = sorted({one.project for one in asked})
        np.random.default_rng(seed).shuffle(projects)
        fold_of = {project: place % FOLDS for place, project in enumerate(projects)}
        for fold in range(FOLDS):
            test = [one for one in asked if fold_of[one.project] == fold]
            if test:
                model = _fitted([one for one in asked if fold_of[one.project] != fold], name)
                yield from ((one, model) for one in test)


def _fitted(asked: Sequence[Asked], name: str) -> Array:
    columns = features_of(name)
    x, y = [], []
    for one in asked:
        table = np.array([one.features[column] for column in columns]).T
        closeness = 2 * one.features["key"] + one.features["key_coverage"]
        hardest = set(np.argsort(-closeness)[: None if name in OTHERS else HARDEST].tolist())
        judged = set(np.flatnonzero(_fitted_on(one, name)).tolist())
        chosen = sorted(judged & (hardest | set(np.flatnonzero(one.right).tolist())))
        x.append(table[chosen])
        y.append(one.right[chosen].astype(float))
    return fit(np.concatenate(x), np.concatenate(y))


def scores(asked: Asked, name: str, model: Array) -> Array:
    """Return the log-odds of each fact."""
    return np.asarray(model[0] + np.array([asked.features[column] for column in features_of(name)]).T @ model[1:])


def report(label: str, asked: Sequence[Asked], judge: Callable[[Asked], Array], floors: Sequence[float]) -> None:
    """Print the found and silent shares at each floor, how often the right fact is among the top three, and details by form."""
    yes, no = [one for one in asked if one.answerable], [one for one in asked if not one.answerable]
    cells = []
    for floor in floors:
        z = math.log(floor / (1 - floor))
        found = np.mean([bool((judge(one)[one.right] >= z).any()) for one in yes])
        silent = np.mean([bool((judge(one) < z).all()) for one in no])
        cells.append(f"floor {floor:g}: found {found:.2f}, silent {silent:.2f}")
    if not yes or not no:
        return
    first = np.mean([bool(one.right[np.argsort(-judge(one), kind="stable")[:3]].any()) for one in yes])
    print(
        f"{label:28} {len(yes)} answerable, {len(no)} unanswerable   "
        + "   ".join(cells)
        + f"   first three without a floor {first:.2f}"
    )
    z = math.log(floors[-1] / (1 - floors[-1]))
    by_form = []
    for form in FORMS:
        hits = [bool((judge(one)[one.right] >= z).any()) for one in yes if one.form == form]
        quiet = [bool((judge(one) < z).all()) for one in no if one.form == form]
        by_form.append(f"{form} {np.mean(hits):.2f} of {len(hits)}, silent {np.mean(quiet):.2f} of {len(quiet)}")
    print(" " * 28, "  ".join(by_form))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", nargs=4, type=Path, action="append", required=True, metavar=("CORPUS", "PROMPTS", "KEYS", "SPLIT")
    )
    parser.add_argument("--silence", type=float, default=0.87)
    parser.add_argument("--silence-other", type=float, default=0.86)
    parser.add_argument("--write", action="store_true", help="replace these weights in the file")
    options = parser.parse_args()
    floor = Settings(Path()).floor
    floors = (floor, floor + PROMPT_MARGIN)
    parts: dict[str, list[Asked]] = {}
    for corpus, prompts, keys, split in options.data:
        asked, first = ask(load_facts(corpus), *map(read, (keys, prompts))), set(read(split))
        parts[f"{corpus.name}, first half"] = [one for one in asked if one.project in first]
        parts[f"{corpus.name}, second half"] = [one for one in asked if one.project not in first]
    training = [one for label, part in parts.items() if label.endswith("first half") for one in part]
    models = {
        name: train(training, name, options.silence_other if name in OTHERS else options.silence, floors[-1]) for name in SETS
    }

    def judge(one: Asked, embedded: bool = True) -> Array:
        z = scores(one, "keys" if embedded else "key_words", models["keys" if embedded else "key_words"])
        for name in OTHERS if embedded else ():
            z = np.where(one.facts_of(name), scores(one, name, models[name]), z)
        return scores(one, "key_pieces", models["key_pieces"]) if one.foreign and not embedded else z

    for label, part in parts.items():
        report(f"{label}, without keys", part, lambda one: np.log(one.plain / (1 - one.plain) + 1e-12), floors)
        report(f"{label}, with keys", part, judge, floors)
        report(f"{label}, no embedder", part, lambda one: judge(one, embedded=False), floors)
        report(f"{label}, other scripts", [one for one in part if one.foreign], judge, floors)
        report(f"{label}, not English", [one for one in part if one.other], judge, floors)
    raw = read(WEIGHTS_FILE) | {"format": FORMAT}
    for name, model in models.items():
        raw[name] = {"bias": round(float(model[0]), 4)}
        raw[name] |= {column: round(value, 4) for column, value in zip(features_of(name), model[1:].tolist(), strict=True)}
    print(json.dumps({name: raw[name] for name in SETS}, indent=2))
    if options.write:
        WEIGHTS_FILE.write_text(json.dumps(raw, indent=2) + "\n", "utf-8")


def read(path: Path) -> Any:
    """Return the content of a JSON file."""
    return json.loads(path.read_text("utf-8"))


def load_facts(corpus: Path) -> dict[str, dict[str, str]]:
    """Return the facts of a corpus with their projects, keyed by `session/fact`."""
    sessions = read(corpus / "gold.json")
    return {f"{s['session']}/{f['id']}": {"project": s["project"], "text": f["text"]} for s in sessions for f in s["facts"]}


if __name__ == "__main__":
    main()
