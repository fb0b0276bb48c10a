"""Words that rules share: negations, names of languages and styles, and verbs that mean a command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memoryd.core.checks import MAX_ENTRIES, Form
from memoryd.guard import vocabulary as v

FORBID = frozenset(
    "forbid forbids prohibit prohibits disallow disallows ban verbiete frozen immutable eingefroren unantastbar untouchable sacred isn't aren't neither nor weder off never don't dont no not mustn't shouldn't can't cannot won't avoid stop without forbidden banned prohibited disallowed"
    " off-limits read-only readonly taboo tabu nie niemals kein keine keinen keinem keiner keinerlei nicht nichts nirgends verboten"
    " untersagt vermeide vermeiden ohne finger hände unangetastet unberührt schreibgeschützt unverändert untouched alone nobody"
    " niemand nothing generated jamais nunca nada não nao pas sin sans jamás aucun ninguna ninguno statt anstatt anstelle nope ruhe deprecated lass obsolete".split()
)
WANT = frozenset(
    "usa usar utilise utiliser toujours siempre sempre só solo solamente seulement "
    "über everywhere use always only prefer instead must should immer nur stattdessen sondern nimm nehmen nehme nutze nutzen benutze benutzen verwende"
    " verwenden using ausschließlich stick rely run install via with mit bitte lieber but through aber go goes sign".split()
)
WITHIN = frozenset("in under inside within below into unter innerhalb from".split())
NEW_CLAUSE = frozenset({"but", "sondern", "aber", "and", "und"})
STOP_WORDS = frozenset(
    "before after in for here ever to at on without when unless and or again vor nach hier ever anywhere anymore please directly on"
    " instead of vor bei im beim mit für und oder nie nicht niemals lassen laufen ausführen the a an any every each die der das den by is"
    " always only immer nur stets are as commands command must never not only".split()
)
NEGATED = re.compile(
    r"(?<![\w-])(?:never|don't|do not|no|nie|niemals|kein\w*|nicht|not|stop|avoid|forbidden|mustn't|must not|can't|isn't|aren't|nobody|nothing)(?![\w-])",
    re.IGNORECASE,
)
REFUSED_BEFORE = re.compile(
    r"\b(?:not|never|no|kein\w{0,2}|nicht|nie|don't|do not|instead of|rather than|avoid|forbidden)\b[^,;.]{0,40}$", re.IGNORECASE
)
FOR_EXAMPLE = re.compile(
    r"\b(?:like|such as|e\.g\.?|for example|for instance|wie|z\.\s?b\.?|etc|example)\b|…|\.\.\.", re.IGNORECASE
)


def entries(words: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct words, at most as many as a check may have."""
    return tuple(dict.fromkeys(words))[:MAX_ENTRIES]


# Names that are also ordinary words. They count only after "in", and at the start of a rule.
_ORDINARY_LANGUAGES = frozenset(
    "header headers cmake go ts swift react c less compose manifests notebook notebooks templates".split()
)


def code_languages(rule: str) -> tuple[str, ...]:
    """Return the patterns of files of the programming languages that a rule names."""
    found: list[str] = []
    low = rule.lower()
    for word in dict.fromkeys(match[0].rstrip(".") or match[0] for match in re.finditer(r"[\w.#+]{1,20}", low)):
        if word not in v.LANGUAGES:
            continue
        stated = word not in _ORDINARY_LANGUAGES
        if stated or re.search(rf"(?:\bin (?:\w{{1,20}} )?|^(?:in )?){re.escape(word)}(?:\b|(?<=[+#])(?!\w))", low):
            found += v.LANGUAGES[word]
    return entries(found)


_NAMES_LANGUAGE = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(v.NATURAL_LANGUAGES, key=len, reverse=True))})(?!\w)", re.IGNORECASE)


def natural_languages(rule: str) -> Iterator[tuple[Form, str]]:
    """Yield the language that a rule asks for, or else those that it refuses."""
    refused: list[str] = []
    for match in _NAMES_LANGUAGE.finditer(rule):
        name = v.NATURAL_LANGUAGES[match[0].lower()]
        if not REFUSED_BEFORE.search(rule[: match.start()]):
            yield Form.LANGUAGE, name
            return
        refused.append(name)
    yield from ((Form.NOT_LANGUAGE, name) for name in refused)


_NAME_STYLES: tuple[tuple[str, str], ...] = (
    (r"kebab[- ]?case|hyphens?,? (?:not|no) underscores|dash-case|bindestrich\w{0,3}", "<kebab-case>"),
    (r"snake[- _]?case|underscores?,? (?:not|no) (?:hyphens|dashes)|unterstrich\w{0,3}", "<snake_case>"),
    (r"pascal[- ]?case|upper camel ?case", "<PascalCase>"),
    (r"(?:lower )?camel[- ]?case", "<camelCase>"),
    (r"lower[- ]?case|kleingeschrieben|klein(?:buchstaben)?|minuscul\w{1,3}|minúscul\w{1,3}", "<lower-case>"),
    (r"(?:no|without|kein\w{0,2}|ohne|never) (?:spaces?|blanks|leerzeichen)", "<no spaces>"),
    (r"(?:no|without|kein\w{0,2}|ohne|never) underscores?", "<no underscores>"),
    (r"(?:no|without|kein\w{0,2}|ohne|never) (?:slash(?:es)?|schrägstrich\w{0,2})", "<no slash>"),
)


def style_of_names(text: str) -> str:
    """Return the style of names that a text asks for, or "" if there is none or it is refused."""
    if longest := re.search(
        r"\b(?:max(?:imum|imal)?\.?|at most|under|no longer than|höchstens|up to)\s(\d{1,3})\s(?:chars?|characters|zeichen)\b|\b(\d{1,3}) (?:chars?|characters|zeichen) (?:max|or (?:less|fewer))",
        text,
        re.IGNORECASE,
    ):
        return f"<max {longest[1] or longest[2]}>"
    for pattern, style in _NAME_STYLES:
        found = re.search(rf"(?<![\w-])(?:{pattern})(?![\w])", text, re.IGNORECASE)
        if found and not REFUSED_BEFORE.search(text[: found.start()]):
            return style
    return ""


_ACTIONS: tuple[tuple[str, str], ...] = (
    (r"commit\w*|eincheck\w*|check(?:ing)? in", "git commit"),
    (r"push\w*|gepusht", "git push"),
    (r"publish\w*|veröffentlich\w*", "npm publish"),
    (r"merg\w+", "git merge"),
    (r"(?:open|creat)\w*\s(?:a\s|each\s|every\s|the\s)?(?:pr|pull request)s?|pull requests?|prs?", "gh pr create"),
    (r"rebas\w+", "git rebase"),
    (r"tag(?:s|ging|ged)?", "git tag"),
    (r"delet\w{1,3}\s(?:a\s|the\s|any\s|local\s){0,2}branch(?:es)?", "git branch"),
)


def find_actions(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each command that ordinary words of a text mean, such as `git commit` for "commits", with those words."""
    for pattern, command in _ACTIONS:
        if found := re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", text, re.IGNORECASE):
            yield found, command


def action_meant(text: str) -> str:
    """Return the first command that ordinary words of a text mean, or ""."""
    return next((command for _, command in find_actions(text)), "")
