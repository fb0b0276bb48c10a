"""Compile rules to checks: find the command, path or piece of code that a user's sentence forbids or requires.

Supports English and German. A sentence that can't be decided from tool calls yields no check. Nothing is inferred from words
that are not commands, paths or code, because a false alarm costs more than a missing check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from memoryd.core.checks import MAX_ENTRIES, Access, Check, CheckKind, Form, New
from memoryd.guard import vocabulary as v
from memoryd.guard.gloss import in_english

MAX_RULE = 600  # characters; a longer text is a document rather than a rule
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "´": "'", "–": "—"})
_TOKEN = re.compile(
    r"`([^`\n]{1,120})`|\"([^\"\n]{1,120})\"|(?<!\w)'([^'\n]{1,120})'(?!\w)|((?:[^\s`\"(),;:!?—]|(?<=\w):(?=[\w/]))+(?:\(\))?[^\s`\"(),;:!?—]*|[,;:!?—()])"
)
_SENTENCE_END = re.compile(r"[.!?]+$")


class _Sense(Enum):
    FORBID = "forbid"
    WANT = "want"


class _What(Enum):
    COMMAND = "command"
    PATH = "path"
    CODE = "code"
    CALL = "call"
    LIBRARY = "library"
    FLAG = "flag"
    UNKNOWN = "unknown"  # in code quotes, but of unknown kind


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    at: int
    quoted: bool = False
    boundary: bool = False

    @property
    def low(self) -> str:
        return self.text.lower()


@dataclass(slots=True)
class _Named:
    """An object named in the rule: its text, its position, and whether the rule forbids or wants it."""

    what: _What
    text: str
    at: int
    clause: int
    sense: _Sense | None = None
    within: bool = False  # follows "in" or "under", so it is a location and not the object itself


@dataclass(frozen=True, slots=True)
class _Cue:
    sense: _Sense
    at: int
    clause: int


def compile_rule(text: str) -> Check | None:
    """Return the check of a rule, or None if the rule can't be decided from tool calls."""
    text = text.strip()
    if len(text) > MAX_RULE or text.rstrip().endswith("?"):
        return None
    rule = in_english(text.translate(_QUOTES))
    if check := _at_end(rule):
        return check
    if _NOT_A_RULE.search(rule) or (_ALLOWED.search(rule) and not _NEGATED.search(rule)):
        return None
    exception = _EXCEPTION.search(rule)
    granted = " ".join(match[0] for match in _GRANTED.finditer(rule[: exception.start()] if exception else rule))
    if exception and re.match(r"[\s,(]{1,3}(?:except|other than|apart from|außer|ausgenommen)", exception[0], re.IGNORECASE):
        granted += " " + exception[0]
    whole, rule = rule, _GRANTED.sub("", _EXCEPTION.sub("", rule))
    if check := _existing_only(whole):
        return check
    for attempt in (_message, _branch_names, _placement, _companion, _flag_required, _general):
        check = attempt(rule)
        if check is not None:
            return _with_exceptions(check, rule, granted)
    return None


def _with_exceptions(check: Check, rule: str, granted: str) -> Check:
    """Add what the rule grants: other places, longer names, commands and flags, as in "no unittest (unittest.mock is ok)"."""
    if check.kind is CheckKind.CONTENT and (only := [path for path in check.paths if _is_only_place(rule, path)]):
        check = replace(check, paths=tuple(path for path in check.paths if path not in only), unless=_few([*check.unless, *only]))
    if check.kind is CheckKind.CONTENT and (outside := re.search(r"\b(?:outside|außerhalb)\b.{1,60}", rule, re.IGNORECASE)):
        granted += f" in {outside[0].split(maxsplit=1)[-1].removeprefix('of ').removeprefix('von ')}"
    if not granted:
        return check
    named = _named(granted, _tokens(granted))
    found: list[str] = []
    if check.kind in (CheckKind.CONTENT, CheckKind.PATH):
        found = [thing.text for thing in named if thing.what is _What.PATH and ("/" in thing.text or thing.text.startswith("*."))]
        if re.search(r"\b(?:in|for|inside|für) (?:the |den )?(?:unit )?tests?\b", granted, re.IGNORECASE):
            found += ["tests/", "test/", *_TEST_FILES]
    if check.kind is CheckKind.CONTENT:
        names = re.findall(r"[\w.]{3,60}", granted)
        found += [name for name in names if any(name.startswith(f"{word}.") for word in check.words)]
    if check.kind is CheckKind.COMMAND:
        found = [
            thing.text
            for thing in named
            if thing.what in (_What.COMMAND, _What.FLAG) and thing.text not in check.words and thing.text != check.instead
        ]
    found = [text for text in found if text not in check.paths]
    return replace(check, unless=_few([*check.unless, *found])) if found else check


def _is_only_place(rule: str, path: str) -> bool:
    return (
        re.search(
            rf"\b(?:only|nur)\s(?:allowed\s|erlaubt\s)?(?:in|under|inside|unter)\s[`'\"]?{re.escape(path)}", rule, re.IGNORECASE
        )
        is not None
    )


_NOT_A_RULE = re.compile(
    r"\b(?:don't|do not|never) (?:worry|hesitate|mind|need|have to|be afraid)\b"
    r"|\b(?:doesn't matter|does not matter|feel free|no problem|not a problem|no need)\b"
    r"|\b(?:kein problem|keine sorge|muss(?:t|en)? nicht|darfst du|brauchst (?:du )?nicht|ist erlaubt|ist okay)\b"
    r"|^\s{0,5}(?:if|wenn|falls|when|whenever|sobald|on (?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b(?!.{0,20}\bcommit)"
    r"|\b(?:don't|do not|never|stop|no need to)\s(?:ask|tell|explain|explaining|teach|lecture|remind|rely|assume|guess|talk|apologi[sz]e)\b"
    r"|\b(?:erklär\w{0,2} mir|frag\w{0,2} mich|sag\w{0,2} mir|erzähl\w{0,2} mir)\b"
    r"|\b(?:never|nie) (?:had|saw|seen|heard|worked|gesehen|gehabt|gehört)\b",
    re.IGNORECASE,
)
_ALLOWED = re.compile(r"\b(?:is fine|are fine|is ok|is okay|is allowed|you may|you can use)\b", re.IGNORECASE)
# Match a sentence or parenthesis that grants an exception to the rule.
_GRANTED = re.compile(
    r"\([^()]{0,120}\b(?:ok|okay|fine|allowed|erlaubt)\b[^()]{0,40}\)|(?:(?<=[.;!])\s|,\s)[^.;!,]{0,120}\b(?:is|are) (?:ok|okay|fine|allowed)\b",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(
    r"[\s,(]{1,3}(?:except|unless|other than|apart from|außer|es sei denn|ausgenommen|because|since|weil|denn|damit|so that|otherwise|sonst)\b.{0,400}$",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip


# Words

_FORBID = frozenset(
    "isn't aren't neither nor weder off never don't dont no not mustn't shouldn't can't cannot won't avoid stop without forbidden banned prohibited disallowed"
    " off-limits read-only readonly taboo tabu nie niemals kein keine keinen keinem keiner keinerlei nicht nichts nirgends verboten"
    " untersagt vermeide vermeiden ohne finger hände unangetastet unberührt schreibgeschützt unverändert untouched alone nobody"
    " niemand nothing generated jamais nunca nada não nao pas sin sans jamás aucun ninguna ninguno statt anstatt anstelle nope ruhe deprecated lass obsolete".split()
)
_FORBID_PHRASES = re.compile(
    r"instead of|rather than|hands off|keep (?:out|away|off)|stay (?:out|away|off)|leave (?=.{1,60}\b(?:alone|untouched|as)\b)|off limits|in place of"
    r"|finger weg|hände weg|auf keinen fall|unter keinen umständen|in ruhe|out of bounds|do not|must not|should not|may not|(?:is|are) not|nicht mehr"
    r"|anstelle von|get rid of|moved? (?:away )?from|refrain from|get(?:ting)? near|off the table|out of (?:it|this|here)|ban(?:ned)? on",
    re.IGNORECASE,
)
_WANT = frozenset(
    "usa usar utilise utiliser toujours siempre sempre só solo solamente seulement "
    "use always only prefer instead must should immer nur stattdessen sondern nimm nehmen nehme nutze nutzen benutze benutzen verwende"
    " verwenden using ausschließlich stick rely run install via with mit bitte lieber but through aber go goes sign".split()
)
_NEGATED_VERBS = frozenset(
    "use using run install with via mit nutzen nutze benutzen benutze verwenden verwende nehmen nehme nimm only must should rely go through sign but always".split()
)
_WITHIN = frozenset("in under inside within below into unter innerhalb from".split())
_NEW_CLAUSE = frozenset({"but", "sondern", "aber", "and", "und"})


def _tokens(rule: str) -> list[_Token]:
    out: list[_Token] = []
    for match in _TOKEN.finditer(rule):
        quoted = next((group for group in match.groups()[:3] if group), None)
        if quoted is not None:
            out.append(_Token(quoted.strip(), match.start(), quoted=True))
            continue
        text = match[4]
        if text in ",;:!?—()":
            out.append(_Token(text, match.start(), boundary=True))
            continue
        parts = _SENTENCE_END.sub("", text).lower().split("/")
        if len(parts) > 1 and all(part in v.PROGRAMS or part in v.LIBRARIES for part in parts):  # "npm/yarn"
            out += [_Token(part, match.start() + at * 2) for at, part in enumerate(parts)]
            continue
        bare = _SENTENCE_END.sub("", text).strip("'*_") if text.strip("'*_") else text
        if text.startswith("*.") or "/**" in text or "/*" in text:
            bare = _SENTENCE_END.sub("", text)
        out.append(_Token(bare or text, match.start()))
        if len(bare) < len(text) and text.endswith((".", "!", "?")):
            out.append(_Token(".", match.end(), boundary=True))
    return out


_FILE = re.compile(
    r"(?:[\w@.*~-]{0,60}/)+[\w@.*-]{0,60}|\.[a-zA-Z][\w.-]{1,40}"
    r"|[\w*-]{1,60}(?:\.[\w-]{1,20}){0,3}\.(?:lock|json|ya?ml|toml|md|txt|ts|tsx|js|jsx|mjs|py|go|rs|java|sql|env|cfg|ini|csv|xml|html|css|scss|sh|proto|pb|snap|key|pem|php|rb|kt|swift|tf|graphql|gql|prisma|ipynb|dart|vue|svelte|cs|cpp|lockb|svg|png|pdf|tfvars|tfstate|gradle|mod|sum|conf)"
    r"|(?:Dockerfile|Makefile|Jenkinsfile|Gemfile|Procfile|LICENSE|CHANGELOG|Cargo\.lock|go\.sum|Pipfile)\b"
)
_NOT_A_FILE = re.compile(
    r"(?:and|or|und|oder|with|w|his|he|either|input|output|read|I|A|CI|TCP|client|km|n|yes|on)/\w{1,12}$|https?:|^/$|^\d+/\d+$|^node\.js$|^next\.js$|^vue\.js$",
    re.IGNORECASE,
)
_CALL = re.compile(r"([A-Za-z_$][\w.$!]{0,60})\((?:[^()]{0,30})\)$")
_IDENTIFIER = re.compile(r"[A-Za-z_$@#!][\w.$:!@<>*-]{0,60}")
_ENV = re.compile(r"[A-Z][A-Z\d_]{1,40}=[\w./:-]{1,60}")
# A name with two dots, or one dot and a port. A package such as `a.b.c` has no hyphen and no domain at its end.
_HOST = re.compile(
    r"(?:[a-z\d](?:[a-z\d-]{0,40})\.){1,5}(?:internal|local|com|net|org|io|dev|cloud|lan|corp|de|eu|uk|fr|co|app|example|test|localdomain)(?::\d{2,5})?|\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?"
)
_FLAG = re.compile(r"--?[A-Za-z][\w-]{0,40}(?:=\S{1,40})?")
_FOLDER_WORD = re.compile(r"(?:folder|directory|dir|ordner|verzeichnis|tree|package|module)s?$", re.IGNORECASE)
_STOP_WORDS = frozenset(
    "before after in for here ever to at on without when unless and or again vor nach hier ever anywhere anymore please directly on"
    " instead of vor bei im beim mit für und oder nie nicht niemals lassen laufen ausführen the a an any every each die der das den by is"
    " always only immer nur stets are as commands command must never not only".split()
)


# Libraries whose names are ordinary words. After an article they are no library, as in "at the moment".
_ORDINARY = frozenset(
    "moment request requests arrow express mock emotion got chalk threading bootstrap celery flask uuid".split()
)
_ARTICLES = frozenset("the a an this that each every any one my your our last at few some der die das den dem jeder jede".split())


_ABOUT_LIBRARY = re.compile(
    r"\b(?:import\w*|librar\w{1,3}|packages?|modules?|depend\w*|install\w*|us(?:e|es|ing)|instead|add|pull|bibliothek\w*|paket\w*|nutze\w?|benutz\w*|verwend\w*|banned)\b|\.js\b",
    re.IGNORECASE,
)


def _is_library(rule: str, tokens: Sequence[_Token], at: int) -> bool:
    """Return whether a library's name that is also an ordinary word means the library here."""
    if at and tokens[at - 1].low in _ARTICLES or at + 1 < len(tokens) and tokens[at + 1].low in _ARTICLES:
        return False
    contrast = any(token.boundary and token.text == "," for token in tokens)  # "zod, not joi"
    return contrast or _ABOUT_LIBRARY.search(rule) is not None


def _named(rule: str, tokens: Sequence[_Token]) -> list[_Named]:
    """Return the objects named in the rule, in order. The words of a command form one object."""
    out: list[_Named] = []
    clause, at = 0, 0
    while at < len(tokens):
        token = tokens[at]
        if token.boundary or token.low in _NEW_CLAUSE:
            clause += 1 if token.text not in "()" else 0
            at += 1
            continue
        what, text, used = _classify(tokens, at)
        if what is not None:
            start = next((back + 1 for back in range(at - 1, max(at - 4, -1), -1) if tokens[back].boundary), max(at - 3, 0))
            within = any(before.low in _WITHIN for before in tokens[start:at])
            if what is not _What.LIBRARY or token.quoted or token.low not in _ORDINARY or _is_library(rule, tokens, at):
                out.append(_Named(what, text, token.at, clause, within=within))
        at += used
    return out


def _classify(tokens: Sequence[_Token], at: int) -> tuple[_What | None, str, int]:
    token = tokens[at]
    text, low = token.text, token.low
    if text.startswith(("$ ", "> ")):
        text = text[2:]
    if token.quoted:
        return _quoted_kind(text), text, 1
    if at + 1 < len(tokens) and _names_folder(token, tokens[at + 1]):
        return _What.PATH, text.rstrip("/") + "/", 2
    if _FLAG.fullmatch(text):
        return _What.FLAG, text, 1
    if (match := _CALL.match(text)) and not text.startswith("("):
        return _What.CALL, match[1], 1
    if low in _AMBIGUOUS:
        words, used = _command_words(tokens, at)
        if len(words) > 1 and words[1] not in _NO_TARGETS and words[1] not in v.PROGRAMS or _is_replaced(tokens, at):
            return _What.COMMAND, " ".join(words), used
    elif _is_program(low):
        words, used = _command_words(tokens, at)
        if len(words) == 1 and at + used < len(tokens) and tokens[at + used].low in _ABOUT_PROGRAM:
            return None, "", used
        return _What.COMMAND, " ".join(words), used
    what, name = _plain_kind(text)
    return what, name, 1


# Nouns that make a program's name an adjective: "npm scripts" are no call of npm.
_ABOUT_PROGRAM = frozenset(
    "rules checks warnings errors scripts images containers config configs configuration files history version versions modules workspaces logs cluster output"
    " fixtures syntax docs documentation plugins blame repo repository hooks account users skripte dateien".split()
)
_TOOLS_AND_WORDS = frozenset("find cat make less ava task python node java ruby black".split())


def _is_replaced(tokens: Sequence[_Token], at: int) -> bool:
    """Return whether an ambiguous name is a program because another takes its place, as in `fd instead of find`."""
    before = [token.low for token in tokens[max(at - 2, 0) : at]]
    follows = before[-1:] in (["statt"], ["anstatt"]) or before in (["instead", "of"], ["rather", "than"])
    follows = follows or before[-1:] == ["not"] and at > 2 and tokens[at - 3].low in ("use", "prefer")
    return tokens[at].low in _TOOLS_AND_WORDS and follows and (at < 3 or not tokens[at - len(before) - 1].boundary)


_NO_FOLDERS = frozenset("this that same whole diesem diesen own root new home".split())


def _names_folder(token: _Token, following: _Token) -> bool:
    """Return whether the two words name a folder, as in `legacy folder`."""
    if following.boundary or not _FOLDER_WORD.match(following.text) or not re.fullmatch(r"[\w.-]{2,40}/?", token.text):
        return False
    return not any(token.low in words for words in (_STOP_WORDS, _FORBID, _WITHIN, _WANT, _NO_FOLDERS))


def _plain_kind(text: str) -> tuple[_What | None, str]:
    low = text.lower()
    if low in v.WORDS and low not in v.NOT_ALONE:
        return _What.CODE, text
    if _ENV.fullmatch(text) or _HOST.fullmatch(text) and not _FILE.fullmatch(text):
        return _What.COMMAND, text if "=" in text else f"* {text}"
    library = low.removesuffix(".js") if low.removesuffix(".js") in v.LIBRARIES else low
    if library in v.LIBRARIES:
        return _What.LIBRARY, library
    if _FILE.fullmatch(text) and not _NOT_A_FILE.match(text) and low not in v.LANGUAGES and low not in v.WORDS:
        return _What.PATH, text
    return (_What.UNKNOWN, text) if low in v.WORDS else (None, "")


def _is_program(low: str) -> bool:
    return low in v.PROGRAMS and low not in _AMBIGUOUS or low.startswith("./") and low[2:] in v.FREE_TARGET


_NO_TARGETS = frozenset(
    "up sure it them this that no your my our their changes edits use commits something anything everything new sense do one files test".split()
)
# Programs whose names are also ordinary words. They count only in code quotes or before one of their subcommands.
_AMBIGUOUS = frozenset(
    "go make find cat less eval task just service port history export stack act mix screen hub dart swift snap tee su export"
    " python java node ruby perl php black turbo flask fly playwright storybook parcel nose task uv ava tox nc zig hg".split()
) - {"uv", "tox"}


def _command_words(tokens: Sequence[_Token], at: int) -> tuple[list[str], int]:
    words = [tokens[at].text.lower()]
    used = 1
    subcommands = v.SUBCOMMANDS.get(words[0], frozenset())
    free = words[0] in v.FREE_TARGET
    while at + used < len(tokens):
        token = tokens[at + used]
        text = token.text
        if token.boundary or token.quoted:
            break
        is_script = (
            len(words) > 1
            and words[-1] in SCRIPT_WORDS
            and text.lower() not in _STOP_WORDS
            and re.fullmatch(r"[\w:./-]{2,40}", text) is not None
        )
        if _FLAG.fullmatch(text) or text.lower() in subcommands or is_script or (words[0] == "chmod" and text.isdigit()):
            words.append(text if text.startswith("-") else text.lower())
        elif (
            free
            and len(words) == 1
            and text.lower() not in _STOP_WORDS
            and re.fullmatch(r"[\w:.-]{2,40}", text)
            or words[0] in ("python", "python3")
            and words[-1] == "-m"
        ):
            words.append(text)
        else:
            break
        used += 1
    return words, used


SCRIPT_WORDS = frozenset({"run", "exec", "dlx"})


def _quoted_kind(text: str) -> _What:
    first = text.split()[0].lower() if text.split() else ""
    low = text.lower()
    if _FLAG.fullmatch(text):
        return _What.FLAG
    if _CALL.match(text) and " " not in text:
        return _What.CALL
    if low in v.WORDS and low not in ("exec", "eval", "sleep"):
        return _What.CODE
    if first in v.PROGRAMS or first.startswith("./") and " " in text:
        return _What.COMMAND
    if low in v.LIBRARIES:
        return _What.LIBRARY
    if " " not in text and _FILE.fullmatch(text) and not _NOT_A_FILE.match(text):
        return _What.PATH
    return _What.UNKNOWN


def _cues(rule: str, tokens: Sequence[_Token]) -> list[_Cue]:
    starts: dict[int, int] = {}
    clause = 0
    out: list[_Cue] = []
    forbidden_in: set[int] = set()
    phrases = [match.start() for match in _FORBID_PHRASES.finditer(rule)]
    for index, token in enumerate(tokens):
        if token.boundary or token.low in _NEW_CLAUSE:
            clause += 1 if token.text not in "()" else 0
            if token.boundary:
                continue
        starts[token.at] = clause
        if token.quoted:
            continue
        low = token.low
        if (
            token.at in phrases
            or low in _FORBID
            and not (low == "not" and index and tokens[index - 1].low in ("why", "if", "or"))
        ):
            out.append(_Cue(_Sense.FORBID, token.at, clause))
            forbidden_in.add(clause)
        elif (low in _WANT or low == "just" and index + 1 < len(tokens) and tokens[index + 1].low in v.PROGRAMS) and not (
            clause in forbidden_in and low in _NEGATED_VERBS
        ):
            out.append(_Cue(_Sense.WANT, token.at, clause))
            if low == "over":
                forbidden_in.add(clause)
        elif low in ("over", "vor") and any(
            before.low in ("prefer", "use", "bevorzuge") for before in tokens[max(index - 5, 0) : index]
        ):
            out.append(_Cue(_Sense.FORBID, token.at, clause))
            forbidden_in.add(clause)
    return out


_POINTS_BACK = re.compile(r"\b(?:it|them|that|these|those|there|es|sie|das|davon|dort|daran|darin|ihn)\b", re.IGNORECASE)


_BY_HAND = re.compile(r"\b(?:edit|touch|modif|chang|hand|manual|bearbeit|änder|anfass)\w*", re.IGNORECASE)
_IS_GENERATED = re.compile(
    r"\b(?:generated|regenerated|generiert\w?|codegen|written by|auto[- ]?gen\w*|comes? from|built by|erzeugt)\b", re.IGNORECASE
)


_IN_LIST = re.compile(r"[`'\"]?\s{0,3}(?:(?:,|/|&|and|or|und|oder|nor|noch)\s{0,3}){1,2}[`'\"]?", re.IGNORECASE)


def _listed_before(rule: str, named: Sequence[_Named], before: Sequence[_Named]) -> list[_Named]:
    """Return the objects that are listed right before these, as in "npm, yarn and bun are forbidden"."""
    found: list[_Named] = []
    first = min((thing.at for thing in before), default=0)
    for thing in reversed(named):
        if thing.at < first:
            if not _IN_LIST.fullmatch(rule[thing.at : first].lstrip("`'\"").removeprefix(thing.text)):
                break
            found.append(thing)
            first = thing.at
    return found


def _forbid_before(rule: str, named: Sequence[_Named], earlier: Sequence[_Cue], cue: _Cue, reached: Sequence[_Named]) -> None:
    """Forbid objects before the cue, as in "npm is forbidden", "legacy/ nicht anfassen" and "dist/ is generated, don't edit it"."""
    last = max((other.at for other in earlier if other.clause == cue.clause and other.sense is _Sense.FORBID), default=-1)
    before = [thing for thing in named if thing.at < cue.at and thing.clause == cue.clause]
    if not before and _POINTS_BACK.search(rule[cue.at :]):
        before = [thing for thing in named if thing.at < cue.at and thing.sense is None and thing.clause == cue.clause - 1]
    if not before and not reached and _BY_HAND.search(rule[cue.at :]) and _IS_GENERATED.search(rule[: cue.at]):
        before = [thing for thing in named if thing.at < cue.at and thing.what is _What.PATH and thing.clause >= cue.clause - 1]
    before = [*_listed_before(rule, named, before), *before]
    contrast = re.match(
        r"(?:not|never|rather than|instead of)\s(?!allowed|permitted|ok\b|okay|acceptable|an option|wanted|welcome|to be|be\b)\w",
        rule[cue.at :],
        re.IGNORECASE,
    )
    for thing in before:
        if contrast and thing.sense is _Sense.WANT:
            continue  # "use ruff, not the other one"
        if thing.at > last:
            thing.sense = _Sense.FORBID
    if before and not any(thing.clause == cue.clause for thing in reached):
        for thing in reached:
            thing.sense = None


def _assign(rule: str, named: Sequence[_Named], cues: Sequence[_Cue]) -> None:
    """Decide for each named object whether it is forbidden or wanted."""
    for index, cue in enumerate(cues):
        end = cues[index + 1].at if index + 1 < len(cues) else 10_000
        reached = [thing for thing in named if cue.at < thing.at < end]
        for thing in reached:
            thing.sense = cue.sense
        same = [thing for thing in reached if thing.clause == cue.clause and not thing.within]
        if cue.sense is _Sense.FORBID and not same:
            _forbid_before(rule, named, cues[:index], cue, reached)
    only = [cue for cue in cues if cue.sense is _Sense.WANT]
    for thing in named:
        if thing.sense is None and (only or any(other.sense is _Sense.FORBID for other in named)):
            thing.sense = _Sense.WANT


# Rules of all forms


def _general(rule: str) -> Check | None:
    tokens = _tokens(rule)
    named, cues = _named(rule, tokens), _cues(rule, tokens)
    forbids = any(cue.sense is _Sense.FORBID for cue in cues)
    if forbids and (check := _branch(rule)):
        return check
    if forbids and (check := _phrase(rule, named)):
        return check
    _assign(rule, named, cues)
    bad = [thing for thing in named if thing.sense is _Sense.FORBID]
    wanted = [thing for thing in named if thing.sense is _Sense.WANT]
    forbidden = {thing.text for thing in bad}
    instead = next((thing.text for thing in wanted if thing.what is _What.COMMAND and thing.text not in forbidden), "")
    where = [thing for thing in named if thing.what is _What.PATH]
    for attempt in (_code, _commands, _paths):
        check = attempt(rule, bad, where, instead)
        if check is not None:
            return check
    return _only_one_of_family(rule, wanted) if not bad else None


_RUN = re.compile(
    r"\b(?:run|running|execute|executing|call|start|launch|invoke|ausführen|aufrufen|starten|laufen|install|type)\b",
    re.IGNORECASE,
)
_IN_CODE = re.compile(
    r"\b(?:code|type|types|typ|import\w*|importieren|comment|comments|kommentare?|logging|logger|loggen|cast|casts)\b",
    re.IGNORECASE,
)


def _languages(rule: str) -> tuple[str, ...]:
    found: list[str] = []
    for match in re.finditer(r"[\w.#+]{1,20}", rule.lower()):
        word = match[0].rstrip(".") or match[0]
        if (
            word in v.LANGUAGES
            and word not in ("go", "ts", "swift", "react")
            or re.search(rf"\bin (?:\w+ )?{re.escape(word)}\b", rule.lower())
            and word in v.LANGUAGES
        ):
            found += v.LANGUAGES[word]
    return tuple(dict.fromkeys(found))[:MAX_ENTRIES]


def _folders(where: Sequence[_Named]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(thing.text for thing in where))


def _code(rule: str, bad: Sequence[_Named], where: Sequence[_Named], instead: str) -> Check | None:
    languages = _languages(rule)
    calls = [thing.text for thing in bad if thing.what is _What.CALL]
    libraries = [thing.text for thing in bad if thing.what is _What.LIBRARY]
    words = [thing.text for thing in bad if thing.what is _What.CODE]
    place = [thing for thing in where if thing.within]
    in_code = bool(languages or place or _IN_CODE.search(rule))
    for thing in bad:
        if (
            thing.what is _What.UNKNOWN
            and (in_code or thing.text.lower() in v.WORDS and _mentions_quoted(rule, thing))
            and _IDENTIFIER.fullmatch(thing.text)
        ):
            words.append(thing.text)
    if any(thing.what is _What.COMMAND for thing in bad) and not (calls or words):
        imported = [thing.text for thing in bad if thing.what is _What.COMMAND and re.search(r"\bimport", rule, re.IGNORECASE)]
        libraries += [name for name in imported if " " not in name]
        if not libraries:
            return None
    if libraries and not (calls or words):
        return Check(CheckKind.CONTENT, words=_few(libraries), imports=True, files=languages, paths=_folders(place))
    if not (calls or words):
        return None
    files = languages
    if not files:
        known = [pattern for word in (*calls, *words) for pattern in v.WORDS.get(word.lower(), ())]
        files = tuple(dict.fromkeys(known))[:MAX_ENTRIES]
    if not files:
        files = () if any(word.lower() in v.WORDS or place for word in (*calls, *words)) else ()
    if calls and not words:
        return Check(CheckKind.CONTENT, words=_few(calls), call=True, files=files, paths=_folders(place))
    return Check(CheckKind.CONTENT, words=_few([*words, *(f"{name}(" for name in calls)]), files=files, paths=_folders(place))


def _mentions_quoted(rule: str, thing: _Named) -> bool:
    return rule[thing.at : thing.at + 1] in "`\"'"


def _few(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[:MAX_ENTRIES]


def _commands(rule: str, bad: Sequence[_Named], where: Sequence[_Named], instead: str) -> Check | None:
    words = [thing.text for thing in bad if thing.what is _What.COMMAND]
    flags = [thing.text for thing in bad if thing.what is _What.FLAG]
    if not words and not flags and _RUN.search(rule):
        words = [
            thing.text
            for thing in bad
            if thing.what is _What.UNKNOWN and re.fullmatch(r"[a-z][\w.:/-]*(?: [\w.:/=-]+)*", thing.text)
        ]
    if flags:
        base = words[:1] or [base for base in [_action(rule)] if base]
        if not base and (owners := [owner for flag in flags for owner in v.FLAG_OWNERS.get(flag, ())]):
            return Check(CheckKind.COMMAND, words=_few(owners))
        if not base:
            base = [thing.text for thing in _named(rule, _tokens(rule)) if thing.what is _What.COMMAND][:1]
        words = [f"{base[0]} {flag}" for flag in flags] if base else []
    if words:
        words += [command for pattern, commands in v.MORE for command in commands if re.search(pattern, rule, re.IGNORECASE)]
    if not words:
        return None
    if any(thing.what is _What.PATH and not thing.within for thing in bad) and all(
        word in ("rm", "sed", "mv", "cat") for word in words
    ):
        return None
    cleaned = [" ".join(word.split()) for word in words]
    alternatives = [word for word in cleaned if word != instead]
    return Check(CheckKind.COMMAND, words=_few(alternatives), instead=instead) if alternatives else None


_READS = re.compile(
    r"\b(?:read|reading|open|opening|look|looking|peek|view|print|cat|show|display|access|see|inspect|lesen|öffnen|ansehen|anschauen|reinschauen"
    r"|hineinschauen|reinsehen|ausgeben|anzeigen|auslesen|schau|schauen|lies|öffne|expose|leak)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:touch\w*|edit\w*|chang\w+|modif\w+|writ\w+|delet\w+|remov\w+|mov\w+|overwrit\w+|updat\w+|creat\w+|add|adding|put|alter\w*|generated|read-only|readonly"
    r"|off[- ]limits|hands off|alone|untouched|keep (?:out|away|off)|stay (?:out|away|off)|frozen|vendored|mess|anfassen|anrühren|ändern|geändert|bearbeiten"
    r"|bearbeitet|löschen|gelöscht|finger|hände|schreib\w*|verändern|verändert|unangetastet|unberührt|tabu|ruhe|generiert|anlegen|ändere|rühr\w*|fass\w*|ablegen|commit\w*|fix\w*|refactor\w*|reformat\w*|lass)\b",
    re.IGNORECASE,
)


_ONLY_NEW = re.compile(
    r"\b(?:new|neue\w?|creat\w{1,4}|add|adding|put|place|anlegen|ablegen|erstellen|hinzufügen)\b(?!\s(?:it|them)\b)",
    re.IGNORECASE,
)
_EXISTING = re.compile(
    r"\b(?:touch\w*|edit\w*|chang\w+|modif\w+|delet\w+|remov\w+|overwrit\w+|updat\w+|alter\w*|generated|read-only|off[- ]limits|hands off|frozen|alone|anything"
    r"|untouched|keep|stay|finger|hände|anfassen|ändern|bearbeiten|löschen|tabu|generiert|schreib\w*|writ\w+|append)\b",
    re.IGNORECASE,
)


def _paths(rule: str, bad: Sequence[_Named], where: Sequence[_Named], instead: str) -> Check | None:
    paths = [thing.text for thing in bad if thing.what is _What.PATH]
    if not paths:
        return None
    reads, changes = _READS.search(rule) is not None, _CHANGES.search(rule) is not None
    if not (reads or changes):
        return None
    if re.search(r"\bcommit\w*\b", rule, re.IGNORECASE) and not re.search(
        r"\b(?:touch|edit|chang|modif|anfassen|ändern)", rule, re.IGNORECASE
    ):
        return Check(CheckKind.COMMAND, words=_few([f"git add {path}" for path in paths]))
    if re.search(r"\b(?:outside|außerhalb)\b", rule, re.IGNORECASE):  # "nothing outside src/"; scratch files stay possible
        return Check(CheckKind.PATH, paths=("*",), unless=_few([*paths, "/tmp/"]))  # noqa: S108
    if _ONLY_NEW.search(rule) and not _EXISTING.search(rule):
        return Check(CheckKind.PATH, paths=_few(paths), new=New.ONLY)
    only_reads = re.search(r"\bread[- ]only\b", rule, re.IGNORECASE)
    return Check(CheckKind.PATH, paths=_few(paths), access=Access.READ if reads and not only_reads else Access.WRITE)


_CHOOSES = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|only|always|stick|switched|prefer|nur|immer|nutz\w{1,3}|benutz\w{1,3}|verwend\w{1,3}|nimm|nehm\w{1,2}|ausschließlich|via|with|mit|through|über|manage\w{0,3}|install\w{0,3})\b",
    re.IGNORECASE,
)


def _only_one_of_family(rule: str, wanted: Sequence[_Named]) -> Check | None:
    """Compile "we use pnpm here" to a check that forbids the other programs of the same family."""
    names = [thing.text.split()[0] for thing in wanted if thing.what is _What.COMMAND]
    for name in names:
        family = next((family for family in v.FAMILIES if name in family), None)
        if family is not None and not re.search(r"\b(?:before|after|vor|nach|run|when|wenn)\b", rule, re.IGNORECASE):
            if len(family.intersection(names)) > 1 or not _CHOOSES.search(rule):
                continue
            others = sorted(family - {thing.text.split()[0] for thing in wanted})
            if not others:
                continue
            return Check(CheckKind.COMMAND, words=tuple(others), instead=name)
    return None


_PARTIAL = re.compile(
    r"\b(?:shared|pushed|published|public|other people's|others'?|someone|merged|released|existing|old|veröffentlicht\w*|gepusht\w{1,2}|fremde\w?|geteilte\w?)\b",
    re.IGNORECASE,
)


def _phrase(rule: str, named: Sequence[_Named]) -> Check | None:
    """Compile phrases that mean a command or code, such as "no force-pushing" or "no star imports"."""
    low = rule.lower()
    for pattern, words, files, near in v.CONTENT_PHRASES:
        if re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", low):
            place = _folders([thing for thing in named if thing.what is _What.PATH and thing.within])
            languages = _languages(rule)
            calls = [word[:-2] for word in words if word.endswith("()")]
            if not calls and not near:
                more = [
                    other for other in v.CONTENT_PHRASES if not other[3] and re.search(rf"(?<![\w-])(?:{other[0]})(?![\w-])", low)
                ]
                words = tuple(word for other in more for word in other[1] if not word.endswith("()"))
                files = tuple(dict.fromkeys(name for other in more for name in other[2]))
            return Check(
                CheckKind.CONTENT,
                words=(tuple(calls) or words)[:MAX_ENTRIES],
                call=bool(calls),
                files=(languages or files)[:MAX_ENTRIES],
                paths=place,
                near=near,
            )
    if any(thing.what in (_What.COMMAND, _What.FLAG) and thing.text.startswith(("git ", "-")) for thing in named):
        return None
    if _PARTIAL.search(rule):
        return None  # "never amend pushed commits": a call doesn't show which ones it concerns
    for pattern, commands in v.PHRASES:
        if re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", low):
            return Check(CheckKind.COMMAND, words=commands)
    return None


_BRANCHES = r"main|master|develop|development|trunk|production|prod|staging|stable|live|release|dev|deploy|mainline"
_BRANCH_NAME = rf"(?:(?:{_BRANCHES})(?:/\*?)?|(?:release|hotfix|feature)s?/[\w*.-]{{1,40}})(?![\w/.-]*\w)"
_TO_BRANCH = (
    r"\b(?:to|on|onto|into|in|against|at|auf|nach|auf dem|en|a|na|no|sur|vers|em|su|naar|op)\s(?:(?:the|den|dem|la|el|le|our|your|protected)\s){0,2}"
    r"(?:origin[/ ])?[`'\"]?(?:origin/)?"
)
_BRANCH = re.compile(
    rf"(?:{_TO_BRANCH}|\bprotected(?: branch(?:es)?)?(?: is| are)?:?\s|\b(?:push\w{{0,3}}|commit\w{{0,4}})\s(?:origin\s)?|\bbranch(?:es)?\s[`'\"]?)"
    rf"(?P<name>{_BRANCH_NAME})(?P<more>(?:[`'\"]?\s?(?:,|/|\bor\b|\band\b|\boder\b|\bund\b|\bnoch\b|\bnor\b|\bto\b|\bauf\b)\s?(?:(?:or|and|to|auf|oder|und)\s)?[`'\"]?(?:{_BRANCH_NAME})){{0,6}})",
    re.IGNORECASE,
)
_BRANCH_BEFORE = re.compile(
    rf"(?<![\w/.-])[`'\"]?(?P<name>{_BRANCH_NAME})(?P<more>(?:[`'\"]?\s?(?:,|/|\bor\b|\band\b|\boder\b|\bund\b)\s?[`'\"]?(?:{_BRANCH_NAME})){{0,6}})[`'\"]?"
    r"(?:[ -]branch\b|\s(?:to\s)?(?:is|are|ist|sind)\s(?:protected|off[- ]limits|tabu|taboo|geschützt|gesperrt)|\s(?:to\s)?(?:directly\s|direct\s)?(?:or\s)?(?:commit|push|gepusht|pushen|committen))",
    re.IGNORECASE,
)
_BRANCH_VERBS: tuple[tuple[str, str], ...] = (
    (r"commit(?!ted config)(?:s|ted|ting|ten|te|tet|ear)?|commite\w{0,2}|eincheck\w{0,3}|eingecheckt", "git commit"),
    (r"(?:force[- ]?)?push(?:es|ed|ing|en|e|t)?|gepush[te]{1,2}", "git push"),
    (r"merg(?:e|es|ed|ing|en)|gemergt|gemerged", "git merge"),
    (r"rebas(?:e|es|ed|ing|en)", "git rebase"),
)


def _branch(rule: str) -> Check | None:
    """Compile "never commit on main" and "don't push to release/*": what must not change these branches."""
    named = _BRANCH.search(rule) or _BRANCH_BEFORE.search(rule)
    if named is None:
        return None
    sentence = _sentence_around(rule, named.start(), named.end())
    verbs = [
        command for pattern, command in _BRANCH_VERBS if re.search(rf"(?<![\w-])(?:{pattern})(?!\w|-?m)", sentence, re.IGNORECASE)
    ]
    if not verbs:
        if not re.search(r"\b(?:directly|protected|work|direkt|arbeiten)\b", sentence, re.IGNORECASE) or not re.search(
            r"\bbranch|\bmain\b|\bmaster\b", sentence, re.IGNORECASE
        ):
            return None
        verbs = ["git commit", "git push"]
    if len(verbs) > 1 and "git merge" in verbs and re.search(r"\bpull request|\bprs?\b", sentence, re.IGNORECASE):
        verbs.remove("git merge")  # "never push, merge a PR"
    if re.search(r"\bforce|--force|(?<!\w)-f\b", sentence, re.IGNORECASE) and "git push" in verbs:
        verbs = ["git push --force"]
    names = [name.lower() for name in re.findall(_BRANCH_NAME, named["name"] + " " + named["more"], re.IGNORECASE)]
    return Check(
        CheckKind.COMMAND, words=_few(verbs), branch=_few([f"{name}*" if name.endswith("/") else name for name in names])
    )


def _sentence_around(rule: str, start: int, end: int) -> str:
    """Return the sentence, and the one after it if it refers to the same branch with "there" or "it"."""
    ends = [match.end() for match in re.finditer(r"(?<!e\.g)(?<!i\.e)(?<!z\.B)[.;!](?=\s|$)|\s—\s", rule)] + [len(rule)]
    last = next(position for position in ends if position >= end)
    first = max((position for position in ends if position <= start), default=0)
    following = next((position for position in ends if position > last), last)
    if re.match(r"[^.;]{0,60}\b(?:there|it|them|dort|darauf)\b", rule[last:]):
        last = following
    return rule[first:last]


_BRANCH_RULE = re.compile(
    r"^branches:|\bbranch(?:es)?[- ]?(?:names?|namen|prefix(?:es)?)\b|\bnam(?:e|ing) (?:of )?(?:\w{1,10} ){0,2}branch(?:es)?\b|\bbranchnamen\b"
    r"|\b(?:new |all |every |each |neue |alle )?branch(?:es)?\s(?:must |should |have to |always |names? )?(?:be(?:gin)?s?|start\w{0,3}|follow\w{0,3}|are (?:called|named)|heißen|beginnen|müssen|named|called|prefixed)\b",
    re.IGNORECASE,
)
_BRANCH_PREFIX = re.compile(r"(?<![\w/.*<{-])([A-Za-z][A-Za-z\d_-]{1,20}/)(?!\w+/\w+\.\w)")
_ONE_BRANCH = re.compile(
    r"\b(?:only|stay|nur|always|ausschließlich)\b[^.;]{0,30}\b(?:on|auf|in)\s(?:(?:the|this|dem|der)\s){0,1}(?:branch\s)?[`'\"]?(?P<name>[A-Za-z][\w.-]{0,30}/[\w./-]{1,50}|(?<=branch )[\w.-]{2,50})",
    re.IGNORECASE,
)


def _branch_names(rule: str) -> Check | None:
    """Compile "branches are named feature/…" and "work only on branch feature/x"."""
    if (found := _ONE_BRANCH.search(rule)) and re.search(r"\bbranch", rule, re.IGNORECASE):
        return Check(CheckKind.BRANCH, words=(found["name"].rstrip("."),), access=Access.READ)
    if not (found := _BRANCH_RULE.search(rule)) or re.search(r"\b(?:commit|push|merg)\w*", rule, re.IGNORECASE):
        return None
    sentence = _sentence_around(rule, found.start(), found.end())
    before_not = re.split(r"\b(?:not|never|no|nicht|kein\w{0,2}|instead of|rather than|statt)\b", sentence, flags=re.IGNORECASE)
    prefixes = [match[1] for match in _BRANCH_PREFIX.finditer(before_not[0]) if not _NOT_A_FILE.match(match[1] + "x")]
    if not prefixes and (ticket := re.search(r"\b[A-Z]{2,8}-(?=\d|[NXn#<{])", before_not[0])):
        starts = re.search(r"\b(?:start|begin|prefix|lead|anfang|beginn)", sentence, re.IGNORECASE)
        return Check(CheckKind.BRANCH, words=(f"{ticket[0]}*" if starts else f"*{ticket[0]}*",))
    return Check(CheckKind.BRANCH, words=_few([f"{prefix}*" for prefix in prefixes])) if prefixes else None


# Places of new files

_NEW_FILES = re.compile(
    r"\b(?:creat\w{1,4}|add(?:ing)?|put|place|new|anlegen|ablegen|lege|leg|neue\w{0,2}|write|drop|dump|generate|save|go|goes|belong\w{0,2}|gehör\w{1,3}|kommen|live|only in|only under|nur in|nur unter|anlegt|erstell\w{1,3}|store)\b",
    re.IGNORECASE,
)
_ROOT_WORDS = re.compile(
    r"\b(?:project|repo|repository|repo's|top|workspace|projekt)[- ]?(?:root|top level|wurzel)\b|\b(?:in|to|into|at|im|ins) (?:the |den |dem )?(?:root|top level|projektroot|wurzelverzeichnis|hauptverzeichnis|project root|repo root)\b",
    re.IGNORECASE,
)
_TEST_FILES = ("*.test.*", "*.spec.*", "test_*.py", "*_test.py", "*_test.go", "*Test.java", "*_spec.rb", "*Test.kt", "*Test.php")
_FILE_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?:unit )?tests?(?: files?)?|testdateien|specs?", _TEST_FILES),
    (r"(?:markdown|md)(?: files?|dateien)?|\*?\.md(?: files?)?|docs?|documentation|dokumentation", ("*.md",)),
    (r"(?:shell )?scripts?|skripte?|\*?\.sh(?: files?)?", ("*.sh",)),
    (r"migrations?", ("[0-9]*_*.sql", "V[0-9]*__*.sql", "*migration*")),
    (r"sql migrations?|\*?\.sql(?: files?)?", ("*.sql",)),
    (r"stories|\*?\.stories\.\*", ("*.stories.*",)),
    (r"stylesheets?|css(?: files?)?|\*?\.css", ("*.css", "*.scss")),
    (r"images?|bilder|pngs?", ("*.png", "*.jpg", "*.jpeg", "*.gif", "*.webp")),
)


def _placement(rule: str) -> Check | None:
    """Compile rules about where new files go. The kind of the files and their place must both be named."""
    if not _NEW_FILES.search(rule) or re.search(r"\b(?:commit|push|import|before|after|run)\b", rule, re.IGNORECASE):
        return None
    negated = _NEGATED.search(rule)
    if _ROOT_WORDS.search(rule):
        files = next(
            (
                files
                for pattern, files in _FILE_KINDS
                if re.search(
                    rf"\b(?:no|put|create|add|any|keine?|place) (?:new |loose |any |neuen? )?(?:{pattern})(?!\w)",
                    rule,
                    re.IGNORECASE,
                )
            ),
            (),
        )
        named = files or re.search(
            r"\b(?:files?|dateien|datei|anything|nothing|stuff|things?|nichts|scratch|clutter)\b", rule, re.IGNORECASE
        )
        return Check(CheckKind.PATH, paths=(".",), files=files, new=New.ONLY) if negated and named else None
    tokens = _tokens(rule)
    subject = next(
        (
            (files, match)
            for pattern, files in _FILE_KINDS
            if (
                match := re.match(
                    rf"(?:\W|\b(?:please|always|all|any|new|every|put|place|create|add|save|store|write|bitte|alle|neue|immer|lege|unit|integration|the|only|keep)\b){{0,8}}(?:{pattern})(?![\w/])",
                    rule,
                    re.IGNORECASE,
                )
            )
        ),
        None,
    )
    if subject is None:
        return _no_new_files(rule, tokens) if negated else None
    folders = [
        thing.text
        for thing in _named(rule, tokens)
        if thing.what is _What.PATH and "/" in thing.text and not re.search(r"[*]|\.\w{1,5}$", thing.text) and thing.at >= subject[1].end()
        and re.search(r"\b(?:in|into|under|to|unter|nach|inside|below)\s(?:the\s|den\s|dem\s)?[`'\"]?$", rule[: thing.at + (rule[thing.at] in "`'\"")], re.IGNORECASE)
    ]  # fmt: skip
    until = negated.start() if negated else len(rule)
    allowed = [folder for folder in folders if rule.index(folder) < until]
    if allowed:
        if subject[0] == ("*.md",):
            allowed += ["README.md", "CHANGELOG.md", "CLAUDE.md", "CONTRIBUTING.md"]  # belong where they are
        return Check(CheckKind.PATH, files=subject[0], unless=_few(allowed), new=New.ONLY)
    return Check(CheckKind.PATH, paths=_few(folders), files=subject[0], new=New.ONLY) if folders else None


_FORBIDDEN_FILES = re.compile(
    r"\b(?:no|never|don't|do not|not|avoid|kein\w{0,2}|nie|niemals)\b[^.;]{0,20}?\b(?:(?:creat|add|generat|writ|put|plac|anleg|erstell)\w{0,4}|new|neue\w?)\s(?:any |a |new |additional |extra |neue )*"
    r"(?:(?P<kind>markdown|\*?\.?md|readme|documentation|doc|summary \.md)\s?-?)?(?:files?|dateien|datei|readmes?)\b",
    re.IGNORECASE,
)


def _no_new_files(rule: str, tokens: Sequence[_Token]) -> Check | None:
    """Compile "no new files in src/old/" and "never create markdown files"."""
    if not (found := _FORBIDDEN_FILES.search(rule)):
        return None
    folders = [
        thing.text for thing in _named(rule, tokens) if thing.what is _What.PATH and thing.within and thing.at > found.start()
    ]
    kind = (found["kind"] or "").lower()
    files = ("README*",) if kind == "readme" or "readme" in found[0].lower() else ("*.md",) if kind else ()
    if not folders and not files:
        return None
    return Check(CheckKind.PATH, paths=_few(folders) or ("*",), files=files, new=New.ONLY)


_APPEND_ONLY = re.compile(
    r"\bappend[- ]only\b|\b(?:existing|bestehende\w?|old|merged|applied|committed|already[- ]\w{3,10}|alte\w?|vorhandene\w?)\s(?:[\w/.-]{1,40}\s){0,2}?(?:files?|migrations?|dateien|migrationen|ones?|entries)\b",
    re.IGNORECASE,
)


def _existing_only(rule: str) -> Check | None:
    """Compile "db/migrations is append-only": existing files are not changed, new ones may be added."""
    if not _APPEND_ONLY.search(rule) or not _CHANGES.search(rule) or not _NEGATED.search(rule):
        return None
    paths = [
        thing.text for thing in _named(rule, _tokens(rule)) if thing.what is _What.PATH and "/" in thing.text.rstrip("/") + "/"
    ]
    folders = [path for path in paths if "/" in path and not re.search(r"\.\w{1,5}$", path)]
    return Check(CheckKind.PATH, paths=_few(folders[:1]), new=New.EXCEPT) if folders else None


# Required steps before a command

_ACTIONS: tuple[tuple[str, str], ...] = (
    (r"commit\w*|eincheck\w*|check(?:ing)? in", "git commit"),
    (r"push\w*|gepusht", "git push"),
    (r"publish\w*|veröffentlich\w*", "npm publish"),
    (r"merg\w+", "git merge"),
    (r"(?:open|creat)\w*\s(?:a\s|each\s|every\s|the\s)?(?:pr|pull request)s?|pull requests?|prs?", "gh pr create"),
    (r"rebas\w+", "git rebase"),
    (r"tag(?:s|ging|ged)?", "git tag"),
)


def _action(text: str) -> str:
    for pattern, command in _ACTIONS:
        if re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", text, re.IGNORECASE):
            return command
    return ""


def actions_named(text: str) -> frozenset[str]:
    """Return the commands that ordinary words of a rule mean, such as `git commit` for "commits"."""
    return frozenset(
        command for pattern, command in _ACTIONS if re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", text, re.IGNORECASE)
    )


def patterns_of_languages(text: str) -> tuple[str, ...]:
    """Return the patterns of files of the programming languages that a rule names."""
    return _languages(text)


_BEFORE = re.compile(
    r"\b(?:before|prior to|ahead of|bevor|vor|ehe|vorher|first|preced\w+|until|erst|without|ohne)\b", re.IGNORECASE
)
_WITHOUT = re.compile(
    r"\b(?:never|don't|do not|no|nobody|not|nie|niemals|kein\w*|nicht|darf|won't|must not)\b[^.;]{0,60}\b(?:without|ohne|until|bis|before|bevor|unless)\b",
    re.IGNORECASE,
)
_BEFORE_PART = re.compile(r"\b(?:before|prior to|ahead of|bevor|vor|ehe|precedes?)\s(?P<rest>[^.;]{1,80})", re.IGNORECASE)


def _companion(rule: str) -> Check | None:
    if not _BEFORE.search(rule) or re.search(r"\bmessages?\b|\bnachrichten?\b", rule, re.IGNORECASE):
        return None
    target, step = _parts(rule)
    if not target:
        return None
    action = _command_in(target)
    action = action if " " in action else _action(target) or action
    if not action:
        return None
    first = _steps(step, action)
    if not first or action in first:
        return None
    return Check(CheckKind.COMPANION, words=(action,), first=first)


_END = re.compile(
    r"\b(?:when(?:ever)?|once|if|as soon as) (?:you(?:'re| are)|you have|everything is|the (?:work|task) is)\s(?:done|finished|ready|complete)\b"
    r"|\b(?:before|until)\s(?:you(?:'re| are)?\s)?(?:done|finish\w{0,3}|stop\w{0,4}|the end\b|(?:end|conclud|report|hand)\w{0,3}\b(?! (?:of|to) ))"
    r"|\b(?:before|until)\s(?:you\s)?(?:say\w{0,3}|claim\w{0,3}|declar\w{1,3}|call\w{0,3})\s(?:[\w']+\s){0,4}?(?:done|finished|ready|complete)\b"
    r"|\bafter\s(?:every|each|any|all|your|the last)\s(?:code\s|file\s)?(?:change|edit|modification)s?\b"
    r"|\bafter\s(?:editing|changing|modifying|touching)\s(?P<what>[^,;:]{1,60})|\bat the (?:very )?end(?: of (?:a|an|each|every|the|your) (?:task|session|answer|turn|change)\b|\b(?! of\b))"
    r"|\bam (?:ende|schluss)\b|\b(?:wenn|sobald|bevor|bis) du (?:\w+ )?(?:fertig bist|aufhörst|fertig meldest)\b|\bnach (?:jeder|allen|der letzten) änderung(?:en)?\b",
    re.IGNORECASE,
)  # fmt: skip
_CLAIMS = re.compile(r"\b(?:don't|do not|never|nie|nicht)\s(?:[\w']+\s){0,4}?(?:done|finished|finish|stop|end|complete)\b.{0,60}?\b(?:until|before|without|unless)\b", re.IGNORECASE)  # fmt: skip

_ANY_CODE = re.compile(r"\b(?:code|files?|sources?|anything|something|things|it|dateien?)\b", re.IGNORECASE)


def _at_end(rule: str) -> Check | None:
    """Compile "run make lint when you are done" and "run prettier after each change": a step that the last edit requires."""
    found = _CLAIMS.search(rule) or _END.search(rule)
    if found is None or (
        _NEGATED.search(rule) and not re.search(r"\b(?:until|before|without|unless|bevor|bis)\b", rule, re.IGNORECASE)
    ):
        return None
    rest = f"{rule[: found.start()]} {rule[found.end() :]}"
    if _action(rest):  # a step before a commit or push, which is checked then
        return None
    what = found.groupdict().get("what") or ""
    paths = _few([thing.text for thing in _named(what, _tokens(what)) if thing.what is _What.PATH])
    if what and not paths and not _languages(what) and not _ANY_CODE.search(what):
        return None  # such as "after changing a migration"
    first = _steps(rest, "")
    return (
        Check(CheckKind.COMPANION, words=("end",), first=first, files=_languages(f"{rest} {what}"), paths=paths)
        if first
        else None
    )


def _parts(rule: str) -> tuple[str, str]:
    """Return the part of the rule that names the command, and the part that names the required earlier step."""
    text = _spoken(rule)
    without = re.search(
        r"(?P<target>.{0,120}?)\b(?:without|ohne|until|bis|unless|before you have|before having|before running|bevor)\b(?P<step>.{1,200})",
        text,
        re.IGNORECASE | re.DOTALL,
    )
    if without and _WITHOUT.search(text) and not re.search(r"forget|vergiss|vergessen", text, re.IGNORECASE):
        return without["target"], without["step"]
    found = _BEFORE_PART.search(text)
    if found is None:
        first = re.search(
            r"(?P<step>.{1,120})\bfirst\b[,;]?(?P<target>.{1,80})|\b(?:erst|zuerst)\b(?P<step2>.{1,100}),?\s?\bdann\b(?P<target2>.{1,60})",
            text,
            re.IGNORECASE | re.DOTALL,
        )
        if first is None:
            return "", ""
        return first["target"] or first["target2"] or "", first["step"] or first["step2"] or ""
    rest = found["rest"]
    cut = re.search(r",|—|:|\b(?:run|always|must|make sure|execute|immer|muss|erst)\b|`", rest)
    target, after = (rest[: cut.start()], rest[cut.start() :]) if cut else (rest, "")
    if not _action(target) and not _command_in(target):
        target, after = rest, ""
    words = re.match(r"(?:\s*\S+){1,4}", target)
    if found.start() < 3 and not after and words:  # "Vor jedem Commit make typecheck laufen lassen."
        action = next(
            (
                match
                for pattern, _ in _ACTIONS
                if (match := re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", target, re.IGNORECASE))
            ),
            None,
        )
        if action:
            target, after = target[: action.end()], target[action.end() :] + text[found.end() :]
    return target, text[: found.start()] + " " + after + " " + text[found.end() :]


def _spoken(rule: str) -> str:
    return rule.replace("(", " (")


def _command_in(text: str) -> str:
    found = [thing.text for thing in _named(text, _tokens(text)) if thing.what is _What.COMMAND]
    return found[0] if found else ""


def _steps(text: str, action: str) -> tuple[str, ...]:
    tokens = _tokens(text)
    named = _named(text, tokens)
    commands = [thing.text for thing in named if thing.what is _What.COMMAND and thing.text != action]
    quoted = [
        token.text
        for token in tokens
        if token.quoted and token.text not in commands and re.fullmatch(r"[\w./-]+(?: [\w./:=-]+){0,5}", token.text)
    ]
    found = commands or [text for text in quoted if text != action]
    if found:
        return _few(found[:1])
    for pattern, known in v.STEPS:
        if re.search(rf"(?<![\w-])(?:{pattern})", text, re.IGNORECASE):
            return known[:MAX_ENTRIES]
    return ()


# Required flags of a command

_SIGN = re.compile(r"\b(?:sign(?:ed|ing)?\b(?![- ]?off)|signier\w*|gpg)", re.IGNORECASE)
_SIGN_OFF = re.compile(r"\bsign(?:ed|ing)?[- ]?off\b|\bdco\b", re.IGNORECASE)
_ALWAYS = re.compile(
    r"\b(?:always|every|each|all|must|immer|jede\w*|alle|only|nur|needs?|require[sd]?|have to|stets|muss|müssen)\b", re.IGNORECASE
)
_NEGATED = re.compile(r"\b(?:never|don't|do not|no|nie|niemals|kein\w*|nicht|not|stop|avoid|forbidden)\b", re.IGNORECASE)


def _flag_required(rule: str) -> Check | None:
    commit = re.search(r"\bcommits?\b|\bcommitt?e[nt]\b|\bcommitting\b", rule, re.IGNORECASE)
    double = re.search(
        r"\b(?:unsigned|unsigniert\w*|without (?:a )?sign\w*|ohne signatur|without (?:the )?-S\b|without (?:the )?-s\b)",
        rule,
        re.IGNORECASE,
    )
    if (
        commit
        and (_SIGN_OFF.search(rule) or re.search(r"(?<![\w-])(?:-s|--signoff)\b", rule))
        and (not _NEGATED.search(rule) or re.search(r"without|ohne", rule, re.IGNORECASE))
    ):
        return Check(CheckKind.COMMAND, words=("git commit",), unless=("-s",))
    if commit and (double or _SIGN.search(rule) or re.search(r"(?<![\w-])-S\b", rule)) and (double or not _NEGATED.search(rule)):
        return Check(CheckKind.COMMAND, words=("git commit",), unless=("-S",))
    named = _named(rule, _tokens(rule))
    flags = [_with_value(rule, thing) for thing in named if thing.what is _What.FLAG]
    flags += [thing.text for thing in named if "=" in thing.text and _ENV.fullmatch(thing.text)]
    without = re.search(r"\b(?:without|ohne)\b", rule, re.IGNORECASE)
    if (
        not flags
        or (_NEGATED.search(rule) and not without)
        or not (_ALWAYS.search(rule) or without or re.search(r"\buse\b|\bwith\b|\bmit\b|\bpass\b", rule, re.IGNORECASE))
    ):
        return None
    commands = [thing.text for thing in named if thing.what is _What.COMMAND and "=" not in thing.text]
    base = next(iter(commands), "") or _action(rule)
    words = [word for word in base.split() if not word.startswith("-")]
    return Check(CheckKind.COMMAND, words=(" ".join(words),), unless=_few(flags)) if words else None


def _with_value(rule: str, flag: _Named) -> str:
    """Return the flag with the value that the rule gives it, as in `--namespace shop-dev`. A plain word may be no value."""
    after = re.match(
        rf"[`'\"]?{re.escape(flag.text)}\s([a-z\d]{{1,20}}(?:[-_.\d][a-z\d]{{1,20}}){{1,4}}|\d{{1,8}}|[a-z]{{2,20}}(?=[`'\"]?\s*(?:$|[.,;)]|or\b)))(?![\w-])",
        rule[flag.at :],
    )
    return f"{flag.text} {after[1]}" if after and after[1].lower() not in _STOP_WORDS else flag.text


# Commit messages

_MESSAGE = re.compile(
    r"\bcommit[- ]?(?:messages?|msgs?|subjects?|titles?|nachrichten?|botschaften?|texte?|betreffs?)\b|\bmessages? of (?:a |each |every )?commits?\b|\bcommits?\b(?=.{0,60}\b(?:conventional|prefix\w*|ticket|begin|start)\b)"
    r"|\bconventional commits?\b|\b(?:messages?|nachrichten?)\b(?=.{0,60}\bcommits?\b)|\bcommits?\b(?=.{0,80}\b(?:co-?authored|attribution|trailer|mention|emoji))|\bmention\w{0,3}\b.{0,60}\bcommits?\b"
    r"|(?:co-?authored-?by|attribution|trailers?|emojis?)\b.{0,80}\bcommits?\b|\bsubject lines?\b",
    re.IGNORECASE,
)  # fmt: skip
_TICKET = re.compile(r"\b([A-Z][A-Z0-9]{1,9})-(?:\d{1,7}|[NXn#]{1,4})\b|(?<!\w)(#\d{1,6})\b")
_TICKET_WORD = re.compile(r"\b(?:ticket|issue|jira|linear|task|story|vorgang\w*|ticket-?nummer)\b", re.IGNORECASE)
_PREFIX = re.compile(
    r"\b(?:start|starts|begin|begins|prefix\w*|beginnen|beginnt|anfangen|fangen|lead|open)\b[^\"'`\[]{0,40}(?:\"([^\"]{1,40})\"|'([^']{1,40})'|`([^`]{1,40})`|(\[[\w-]{1,20}\]))",
    re.IGNORECASE,
)  # fmt: skip
_LENGTH = re.compile(
    r"\b(?:at most|max(?:imum|imal)?\.?(?: of)?|no (?:more|longer) than|under|below|up to|höchstens|unter|nicht länger als|stay within|within|longer than|over|exceed)\s(\d{2,3})\b",
    re.IGNORECASE,
)


_CONTAINED = re.compile(
    r"\b(?:trailers?|contain\w{0,2}|includ\w{1,3}|ends?|footer|enthalten|enden)\b[^`\"]{0,60}(?:`([^`]{3,100})`|\"([^\"]{3,100})\")",
    re.IGNORECASE,
)


def _message(rule: str) -> Check | None:
    if not _MESSAGE.search(rule):
        return None
    if _NEGATED.search(rule) and (check := _forbidden_in_message(rule)):
        return check
    if not _NEGATED.search(rule) and (found := _CONTAINED.search(rule)):
        return Check(CheckKind.MESSAGE, form=Form.CONTAINS, example=(found[1] or found[2]).strip())
    form = _form_of_message(rule)
    return Check(CheckKind.MESSAGE, form=form[0], example=form[1]) if form else None


def _forbidden_in_message(rule: str) -> Check | None:
    low = rule.lower()
    if "co-author" in low or "coauthor" in low:
        return Check(CheckKind.MESSAGE, words=("co-authored-by",))
    if re.search(r"\bemojis?\b", low):
        return Check(CheckKind.MESSAGE, form=Form.NO_EMOJI)
    if found := re.search(r"\b(claude|anthropic|ai|chatgpt|copilot)\b", low):
        own = found[1] in ("ai", "claude", "anthropic")
        return Check(CheckKind.MESSAGE, words=("co-authored-by: claude", "generated with", "anthropic") if own else (found[1],))
    if _form_of_message(rule):
        return None
    words = [thing.lower() for thing in _quoted(rule) if 1 < len(thing) <= 40]
    return Check(CheckKind.MESSAGE, words=_few(words)) if words else None


_INSIDE = re.compile(
    r"\b(?:referenc\w{1,3}|contain\w{0,3}|includ\w{1,3}|mention\w{0,3}|enthalten|enthält|erwähn\w{0,3}|somewhere|end\w{0,3}|carry|have)\b"
)


def _form_of_message(rule: str) -> tuple[Form, str] | None:
    low = rule.lower()
    if "conventional" in low or re.search(r"\bfeat\b|\bfix\b.{0,4}[:/,].{0,20}\b(?:feat|chore|docs)\b", low):
        return Form.CONVENTIONAL, "scope" if "scope" in low and re.search(r"mandatory|must|require|always|pflicht", low) else ""
    if found := _LENGTH.search(rule):
        return Form.LENGTH, found[1]
    if found := _TICKET.search(rule):
        first = re.search(r"start|begin|prefix|lead|first|front|anfang|vorn|präfix|voran", low) or not _INSIDE.search(low)
        return Form.TICKET if first else Form.TICKET_IN, f"{found[1]}-1" if re.search(r"-[NXn#]+$", found[0]) else found[0]
    if found := _PREFIX.search(rule):
        return Form.PREFIX, next(group for group in found.groups() if group).strip()
    if _TICKET_WORD.search(rule) and re.search(r"start|begin|prefix|lead|first|anfang|vorn", low):
        return Form.TICKET, "ABC-1"
    return None


def _quoted(rule: str) -> Iterator[str]:
    return (token.text for token in _tokens(rule) if token.quoted)
