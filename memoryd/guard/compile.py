"""Compile rules to checks: find the command, path or piece of code that a user's sentence forbids or requires.

Supports English and German. A sentence that can't be decided from tool calls yields no check. Nothing is inferred
from words other than commands, paths or code, because a false alarm is worse than a missing check.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from memoryd.core.checks import MAX_ALSO, MAX_ENTRIES, MAX_ENTRY_CHARS, Access, Check, CheckKind, Form, New
from memoryd.guard import vocabulary as v
from memoryd.guard.gloss import in_english
from memoryd.guard.messages import ALTERNATIVES

MAX_RULE = 600  # Characters. A longer text is a document rather than a rule.
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
    STATEMENT = "statement"  # of a database
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
    """An object mentioned in the rule: its text, its position, and whether the rule forbids or wants it."""

    what: _What
    text: str
    at: int
    clause: int
    sense: _Sense | None = None
    within: bool = False  # Follows "in" or "under", so it is a location rather than the object.


@dataclass(frozen=True, slots=True)
class _Cue:
    sense: _Sense
    at: int
    clause: int


_COMPOUND = re.compile(r"(?<=\w)-(?=(?:dateien?|files?|ordner\w?|folders?|verzeichnis\w{0,2}|branch(?:es)?)\b)", re.IGNORECASE)
_CONTRACTED = re.compile(r"\b(do|does|did|is|are|was|ca|wo|should|must|would)nt\b", re.IGNORECASE)


def compile_rule(text: str) -> Check | None:
    """Return the check for a rule, or None if the rule can't be decided from tool calls."""
    text = text.strip()
    if len(text) > MAX_RULE or text.rstrip().endswith("?"):
        return None
    rule = in_english(_COMPOUND.sub(" ", _CONTRACTED.sub(r"\1n't", text.translate(_QUOTES))))
    if check := _at_end(rule):
        return check
    sentences = [sentence for sentence in _sentences(rule) if not _says_nothing(sentence)]
    if not sentences:
        return None
    if check := _compiled(" ".join(sentences)):
        return check
    if len(sentences) == 1:
        return None
    found = [check for sentence in sentences if (check := _compiled(sentence))]
    return replace(found[0], also=tuple(found[1 : MAX_ALSO + 1])) if found else None


def _sentences(rule: str) -> list[str]:
    """Return the sentences of a rule. A dot within a name, and one after a common abbreviation, ends none."""
    ends = [match.end() for match in _SENTENCE_ENDS.finditer(rule)]
    parts = [rule[start:end].strip() for start, end in zip([0, *ends], [*ends, len(rule)], strict=True)]
    return [part for part in parts if part.strip(" .;!")]


_SENTENCE_ENDS = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bz\.B)(?<!\betc)(?<!\bvs)[.!]{1,3}(?=\s)|\n")


def _says_nothing(sentence: str) -> bool:
    """Return whether a sentence only explains, allows or sets a condition, so that no check follows from it."""
    if _NOT_A_RULE.search(sentence):
        return True
    return (
        bool(_ALLOWED.search(sentence)) and not _NEGATED.search(sentence) and not re.search(r"\bonly\b", sentence, re.IGNORECASE)
    )


def _compiled(rule: str) -> Check | None:
    exception = _EXCEPTION.search(rule)
    granted = " ".join(match[0] for match in _GRANTED.finditer(rule[: exception.start()] if exception else rule))
    if exception and re.match(r"[\s,(]{1,3}(?:except|other than|apart from|außer|ausgenommen)", exception[0], re.IGNORECASE):
        granted += " " + exception[0]
    whole, rule = rule, _GRANTED.sub("", _EXCEPTION.sub("", rule))
    if check := _existing_only(whole):
        return check
    if (
        exception
        and re.search(r"\b(?:unless|es sei denn)\b", exception[0])
        and _NEGATED.search(whole)
        and (check := _companion(whole))
    ):
        return check
    for attempt in (_message, _branch_names, _placement, _companion, _flag_required, _general):
        check = attempt(rule)
        if check is not None:
            return _with_exceptions(check, rule, granted)
    return None


def _with_exceptions(check: Check, rule: str, granted: str) -> Check:
    """Add the exceptions granted by the rule: other places, longer names, commands and flags.

    An example is "no unittest (unittest.mock is ok)".
    """
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
# A sentence or parenthesis that grants an exception to the rule.
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
    "forbid forbids prohibit prohibits disallow disallows ban verbiete frozen immutable eingefroren unantastbar untouchable sacred isn't aren't neither nor weder off never don't dont no not mustn't shouldn't can't cannot won't avoid stop without forbidden banned prohibited disallowed"
    " off-limits read-only readonly taboo tabu nie niemals kein keine keinen keinem keiner keinerlei nicht nichts nirgends verboten"
    " untersagt vermeide vermeiden ohne finger hände unangetastet unberührt schreibgeschützt unverändert untouched alone nobody"
    " niemand nothing generated jamais nunca nada não nao pas sin sans jamás aucun ninguna ninguno statt anstatt anstelle nope ruhe deprecated lass obsolete".split()
)
_FORBID_PHRASES = re.compile(
    r"instead of|rather than|hands off|keep (?:out|away|off)|stay (?:out|away|off)|leave (?=.{1,60}\b(?:alone|untouched|as)\b)|off limits|in place of"
    r"|finger weg|hände weg|auf keinen fall|unter keinen umständen|in ruhe|out of bounds|do not|must not|should not|may not|(?:is|are) not|nicht mehr"
    r"|anstelle von|get rid of|(?:moved?|migrated?|switch(?:ed)?|steer|stay) (?:away |clear )?(?:from|off|of)\b|refrain from|get(?:ting)? near|off the table|out of (?:it|this|here)"
    r"|(?:is|are|gets?) (?:only )?(?:managed|maintained|written|produced|exported|created|owned) by (?:the )?(?:[\w.-]{1,20} ){0,2}(?:codegen|tools?|bot|generator|script|pipeline|ci|release)\b"
    r"|no[- ]touch\w{0,4}|ask (?:me )?(?:before|first before) (?:chang|edit|touch|modif)\w{1,5}|(?<=keep )your (?:fingers|hands) out of|(?:must|should|has to|have to|needs? to) (?:stay|remain|be left|be kept)\b(?! (?:in|under|on|within|below)\b)"
    r"|keep (?:it|them) (?:as is|as it is|pristine|intact|unchanged|untouched)|none of your business|not yours|nichts (?:zu suchen|verloren)|(?:bleibt|bleiben) (?:wie|so|unverändert|unangetastet)"
    r"|(?:nobody|no one|no-one) (?:but|except)|only i\b|nur ich\b|read access only|only read access|ignore the (?=.{1,30}\b(?:folder|directory))"
    r"|ban(?:ned)? on|no[- ]go\b|(?:is|are) (?:out|dead|gone|history|over)\b(?! of)|(?:we(?:'ve| have)? )?(?:dropped|ditched|retired|abandoned)\b|no longer|not (?:allowed|permitted|ok|okay|wanted|welcome)"
    r"|isn't allowed|aren't allowed|don't (?:even )?think about|forget about|got rid of|without asking|(?:sind|ist) (?:raus|tabu|verboten|passé)|off[- ]bounds|hands? away|nothing (?:gets|goes|is)",
    re.IGNORECASE,
)
_WANT = frozenset(
    "usa usar utilise utiliser toujours siempre sempre só solo solamente seulement "
    "über everywhere use always only prefer instead must should immer nur stattdessen sondern nimm nehmen nehme nutze nutzen benutze benutzen verwende"
    " verwenden using ausschließlich stick rely run install via with mit bitte lieber but through aber go goes sign".split()
)
_NEGATED_VERBS = frozenset(
    "use using run install with via mit nutzen nutze benutzen benutze verwenden verwende nehmen nehme nimm only must should rely go through sign but always".split()
)
_WITHIN = frozenset("in under inside within below into unter innerhalb from".split())
_NEW_CLAUSE = frozenset({"but", "sondern", "aber", "and", "und"})


def _unmarked(text: str) -> str:
    """Return a word without the signs of emphasis around it. The underscores of `__tests__` belong to the name."""
    if re.fullmatch(r"__\w{2,40}__/?", text):
        return text
    if "." in text and text.startswith(("*", "_")) and text[-1] not in "*_":
        return text.strip("'")
    return text.strip("'*_") or text


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
        if len(parts) > 1 and (
            all(part in v.PROGRAMS or part in v.LIBRARIES for part in parts) or all(part in v.LANGUAGES for part in parts)
        ):  # "npm/yarn"
            out += [_Token(part, match.start() + at * 2) for at, part in enumerate(parts)]
            continue
        bare = _unmarked(_SENTENCE_END.sub("", text))
        if text.startswith("*.") or "/**" in text or "/*" in text:
            bare = _SENTENCE_END.sub("", text)
        out.append(_Token(bare or text, match.start()))
        if bare and len(bare) < len(text) and text.endswith((".", "!", "?")):
            out.append(_Token(".", match.end(), boundary=True))
    return out


_FILE = re.compile(
    r"(?:[\w@.*~-]{0,60}/)+[\w@.*-]{0,60}|\.[a-zA-Z][\w.-]{1,40}"
    r"|[\w*-]{1,60}(?:\.[\w-]{1,20}){0,3}\.(?:lock|json|ya?ml|toml|md|txt|ts|tsx|js|jsx|mjs|py|go|rs|java|sql|env|cfg|ini|csv|xml|html|css|scss|sh|proto|pb|snap|key|pem|php|rb|kt|swift|tf|graphql|gql|prisma|ipynb|dart|vue|svelte|cs|cpp|lockb|svg|png|pdf|tfvars|tfstate|gradle|mod|sum|conf)"
    r"|(?:CODEOWNERS|Vagrantfile|Brewfile|Justfile|Rakefile|Podfile|Fastfile|Caddyfile|Tiltfile|NOTICE|Dockerfile|Makefile|Jenkinsfile|Gemfile|Procfile|LICENSE|CHANGELOG|Cargo\.lock|go\.sum|Pipfile)\b"
)
_NOT_A_FILE = re.compile(
    r"(?:and|or|und|oder|with|w|his|he|either|input|output|read|I|A|CI|TCP|client|km|n|yes|on)/\w{1,12}$|https?:|^/$|^\d+/\d+$|^node\.js$|^next\.js$|^vue\.js$",
    re.IGNORECASE,
)
_CALL = re.compile(r"([A-Za-z_$][\w.$!]{0,60})\((?:[^()]{0,30})\)$")
_IDENTIFIER = re.compile(r"[A-Za-z_$@#!][\w.$:!@<>*-]{0,60}")
_ENV = re.compile(r"[A-Z][A-Z\d_]{1,40}=[\w./:-]{1,60}")
# A name with two dots, or one dot and a port. A package such as `a.b.c` has neither a hyphen nor a domain at its end.
_HOST = re.compile(
    r"(?:[a-z\d](?:[a-z\d-]{0,40})\.){1,5}(?:internal|local|com|net|org|io|dev|cloud|lan|corp|de|eu|uk|fr|co|app|example|test|localdomain)(?::\d{2,5})?|\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?"
)
_FLAG = re.compile(r"--?[A-Za-z][\w-]{0,40}(?:=\S{1,40})?")


def _written_in_capitals(tokens: Sequence[_Token], at: int) -> tuple[_What, str, int] | None:
    """Return the statement of a database or the variable that is written here in capitals."""
    if statement := _statement(tokens, at):
        return _What.STATEMENT, statement, len(statement.split())
    if at and tokens[at - 1].low in _SETS and _VARIABLE.fullmatch(tokens[at].text):
        return _What.COMMAND, f"{tokens[at].text}=", 1
    return None


_VARIABLE = re.compile(r"[A-Z][A-Z\d]{0,30}(?:_[A-Z\d]{1,30}){1,6}|PATH|PYTHONPATH|TZ|LANG|DEBUG|HOME")
_SETS = frozenset("set export setting exporting unset override overriding setze setzen exportiere define".split())


def _statement(tokens: Sequence[_Token], at: int) -> str:
    """Return the statement of a database that is written here in capitals, or ""."""
    words = [token.text for token in tokens[at : at + 2]]
    return next((found for found in (" ".join(words), words[0]) if found in v.STATEMENTS), "")


_FOLDER_WORD = re.compile(r"(?:(?:folder|dir|tree)s?|director(?:y|ies)|ordner|verzeichnis(?:se)?|package|module)$", re.IGNORECASE)
_STOP_WORDS = frozenset(
    "before after in for here ever to at on without when unless and or again vor nach hier ever anywhere anymore please directly on"
    " instead of vor bei im beim mit für und oder nie nicht niemals lassen laufen ausführen the a an any every each die der das den by is"
    " always only immer nur stets are as commands command must never not only".split()
)


# Libraries whose names are ordinary words. After an article, they are not libraries, as in "at the moment".
_ORDINARY = frozenset(
    "moment request requests arrow express mock emotion got chalk threading bootstrap celery flask uuid async colors faker glob cors sharp three commander"
    " immutable ws pg angular ember backbone passport helmet bottle tornado pyramid pony attrs click fire responses rich six future invoke fabric mechanize"
    " dask motor pillow torch mako twisted toml log cli wire fx gin echo fiber chi mux ent combine quick nimble provider bloc hive poison tesla finch jason"
    " rocket warp hyper failure smol nom rust boost slim shrine pest pry sequel play cats circe exposed volley feign coil koin glide guice hilt dagger2 needle"
    " recoil carbon doctrine twig guzzle realm realms glog fmt slf4j stitches subprocess multiprocessing future imp argparse clap log4j joda polly moq devise"
    " draper resque webclient resttemplate faraday numeral accounting ky swr fabrication spring-data pinia jose".split()
) - {
    "subprocess",
    "multiprocessing",
    "argparse",
    "log4j",
    "slf4j",
    "joda",
    "glog",
    "swr",
    "guzzle",
    "resttemplate",
    "moq",
    "clap",
}
_ARTICLES = frozenset("the a an this that each every any one my your our last at few some der die das den dem jeder jede".split())


_ABOUT_LIBRARY = re.compile(
    r"\b(?:import\w*|librar\w{1,3}|packages?|modules?|depend\w*|install\w*|us(?:e|es|ing)|replac\w{1,3}|migrat\w{1,3}|standard|deprecated|allowed|forbidden|instead|add|pull|bibliothek\w*|paket\w*|nutze\w?|benutz\w*|verwend\w*|banned)\b|\.js\b",
    re.IGNORECASE,
)


def _is_library(rule: str, tokens: Sequence[_Token], at: int) -> bool:
    """Return whether an ordinary word that is also a library's name refers to the library here."""
    if at and tokens[at - 1].low in _ARTICLES or at + 1 < len(tokens) and tokens[at + 1].low in _ARTICLES:
        return False
    contrast = any(token.boundary and token.text == "," for token in tokens)  # "zod, not joi"
    return contrast or _ABOUT_LIBRARY.search(rule) is not None


def _named(rule: str, tokens: Sequence[_Token]) -> list[_Named]:
    """Return the objects mentioned in the rule, in order. The words of a command form one object."""
    out: list[_Named] = []
    clause, at = 0, 0
    while at < len(tokens):
        token = tokens[at]
        if token.boundary or token.low in _NEW_CLAUSE:
            clause += 1 if token.text not in "()" else 0
            at += 1
            continue
        what, text, used = _classify(tokens, at)
        if what is None and token.low in v.QUOTED_ONLY and not set(v.WORDS[token.low]).isdisjoint(_languages(rule)):
            what, text = _What.CODE, token.text
        if what is _What.PATH and text.startswith(".") and _is_ending(tokens, at):
            text = f"*{text}"
        if what in (None, _What.UNKNOWN, _What.PATH) and _is_imported(tokens, at):
            what, text, used = _What.LIBRARY, token.text.removesuffix("/"), 1
        if what is not None:
            start = next((back + 1 for back in range(at - 1, max(at - 4, -1), -1) if tokens[back].boundary), max(at - 3, 0))
            within = any(before.low in _WITHIN for before in tokens[start:at])
            if what is not _What.LIBRARY or token.quoted or token.low not in _ORDINARY or _is_library(rule, tokens, at):
                out.append(_Named(what, text, token.at, clause, within=within))
        at += used
    return out


_ENDINGS = frozenset(
    "lock json yaml yml toml txt ts tsx js jsx mjs py go rs java sql csv xml html css scss sh proto pb snap key pem crt php rb kt swift tf po pot gql graphql prisma ipynb"
    " bak orig tmp swp rej log dart vue svelte cs cpp hpp svg png pdf tfvars tfstate gradle ini cfg bat ps1 xlsx docx md mdx rst ex exs erl hs scala lua jl r".split()
)


def _is_ending(tokens: Sequence[_Token], at: int) -> bool:
    """Return whether a name that begins with a dot is the end of file names, as in `.po files` and `files ending in .g.dart`."""
    before = [token.low for token in tokens[max(at - 2, 0) : at]]
    if any(word in ("ending", "end", "extension", "suffix", "endung", "enden", "endend") for word in before):
        return True
    return "/" not in tokens[at].text and tokens[at].low.rpartition(".")[2] in _ENDINGS


_IMPORTS = frozenset("import imports importing importiere importieren importiert require requiring".split())
_IMPORT_NOUNS = re.compile(
    r"(?:librar(?:y|ies)|packages?|dependenc(?:y|ies)|gems?|crates?|npm|modules?|bibliothek|paket|libs?|sdk)$", re.IGNORECASE
)
_PACKAGE = re.compile(r"@?[A-Za-z][\w.-]{1,40}(?:/[\w.-]{1,40}){0,4}/?")
_OF_IMPORTS = frozenset(
    "order sorting statements style from only always never cycles paths lines block blocks anything something everything things other new any all more it them this"
    " that everything private internal types type code files modules packages libraries".split()
)


def _is_imported(tokens: Sequence[_Token], at: int) -> bool:
    """Return whether a word is the name of a library because the rule is about importing or depending on it."""
    token = tokens[at]
    if not _PACKAGE.fullmatch(token.text) or token.low in _STOP_WORDS | _OF_IMPORTS | _FORBID | _WANT | _WITHIN:
        return False
    before = tokens[at - 1] if at else None
    while before is not None and before.low in ("or", "and", "nor", "oder", "und", ",", "/", "the", "from") and at > 1:
        at -= 1
        before = tokens[at - 1]
        if before.low not in _IMPORTS and tokens[at].low in ("or", "and", "nor", "oder", "und", ",", "/"):
            at -= 1  # the library before in the list
            before = tokens[at - 1] if at else None
    if before is not None and before.low in _IMPORTS:
        return True
    following = tokens[tokens.index(token) + 1] if tokens.index(token) + 1 < len(tokens) else None
    return following is not None and (token.quoted or "-" in token.text) and _IMPORT_NOUNS.match(following.text) is not None


def _classify(tokens: Sequence[_Token], at: int) -> tuple[_What | None, str, int]:
    token = tokens[at]
    text, low = token.text, token.low
    if text.startswith(("$ ", "> ")):
        text = text[2:]
    if token.quoted:
        folder = at and _FOLDER_WORD.match(tokens[at - 1].text) and re.fullmatch(r"[\w.-]{2,40}", text)
        return (_What.PATH, f"{text}/", 1) if folder else (_quoted_kind(text), text, 1)
    if special := _written_in_capitals(tokens, at) or _folder(tokens, at):
        return special
    if _FLAG.fullmatch(text):
        return _What.FLAG, text, 1
    if (match := _CALL.match(text)) and not text.startswith("("):
        return _What.CALL, match[1], 1
    if low in _AMBIGUOUS:
        words, used = _command_words(tokens, at)
        if (
            len(words) > 1
            and (words[1] not in _NO_TARGETS or words[1] in v.SUBCOMMANDS.get(words[0], ()))
            and words[1] not in v.PROGRAMS
            or _is_replaced(tokens, at)
            or _is_used_alone(tokens, at)
        ):
            return _What.COMMAND, " ".join(words), used
    elif _is_program(low):
        words, used = _command_words(tokens, at)
        if len(words) == 1 and (
            at + used < len(tokens) and tokens[at + used].low in _ABOUT_PROGRAM or _only_mentioned(tokens, at)
        ):
            return None, "", used
        return _What.COMMAND, " ".join(words), used
    what, name = _plain_kind(text)
    return what, name, 1


# Nouns that turn a program's name into an adjective: "npm scripts" is not a call of npm.
_ABOUT_PROGRAM = frozenset(
    "clones installs urls remotes commits branches tags rules checks warnings errors scripts images containers config configs configuration files history version versions modules workspaces logs cluster output"
    " fixtures syntax docs documentation plugins blame repo repository hooks account users skripte dateien".split()
)
_TO_SERVICES = frozenset("publish publishing push pushing upload uploading release deploy deploying veröffentliche".split())


def _only_mentioned(tokens: Sequence[_Token], at: int) -> bool:
    """Return whether a program alone is no command here, as in "publish to npm" and "interactive git commands"."""
    before = [token.low for token in tokens[max(at - 3, 0) : at]]
    if tokens[at].low == "ssh" and any(token.low == "https" for token in tokens):
        return True  # the protocols
    if before[-1:] in (["to"], ["on"]) and not _TO_SERVICES.isdisjoint(before):
        return True
    follows = tokens[at + 1].low if at + 1 < len(tokens) else ""
    known = _STOP_WORDS | _FORBID | _WANT | _USING | {"run", "running", "the", "all"}
    return follows in ("commands", "befehle") and bool(before) and not tokens[at - 1].boundary and before[-1] not in known


_TOOLS_AND_WORDS = frozenset("find cat make less ava task python node java ruby black".split())


def _is_replaced(tokens: Sequence[_Token], at: int) -> bool:
    """Return whether an ambiguous name refers to a program because another one replaces it, as in `fd instead of find`."""
    before = [token.low for token in tokens[max(at - 2, 0) : at]]
    follows = before[-1:] in (["statt"], ["anstatt"]) or before in (["instead", "of"], ["rather", "than"])
    follows = follows or before[-1:] == ["not"] and at > 2 and tokens[at - 3].low in ("use", "prefer")
    if before == [",", "not"] and at > 2 and (tokens[at - 3].low in v.PROGRAMS | v.LIBRARIES):
        return tokens[at].low in _TOOLS_AND_WORDS | _AMBIGUOUS
    return tokens[at].low in _TOOLS_AND_WORDS and follows and (at < 3 or not tokens[at - len(before) - 1].boundary)


_USING = frozenset("use using run running call calling nutze nutzen benutze verwende verwenden aufrufen via with mit".split())


def _is_used_alone(tokens: Sequence[_Token], at: int) -> bool:
    """Return whether an ambiguous name is a program because it alone is used, as in `don't use make, use just`."""
    if not at or tokens[at - 1].low not in _USING:
        return False
    return (
        at + 1 == len(tokens)
        or tokens[at + 1].boundary
        or tokens[at + 1].low
        in ("directly", "locally", "anymore", "please", "direkt", "with", "mit", "instead", "for", "not", "or", "and", "here")
    )


_NO_FOLDERS = frozenset(
    "this that same whole diesem diesen own root new home top-level toplevel nested empty separate single extra additional parent child sub working".split()
)


def _folder(tokens: Sequence[_Token], at: int) -> tuple[_What, str, int] | None:
    """Return the folder that is named here by an ordinary word, and how many words name it."""
    name = tokens[at].text.removeprefix("$ ").rstrip("/") + "/"
    if at + 1 < len(tokens) and _names_folder(tokens[at], tokens[at + 1]):
        return _What.PATH, name, 2
    return (_What.PATH, name, 1) if at and _is_folder(tokens, at) else None


def _is_folder(tokens: Sequence[_Token], at: int) -> bool:
    """Return whether a word is a folder because of the word before, as in `the folder legacy` and `nothing in node_modules`."""
    before, low = tokens[at - 1], tokens[at].low
    if before.boundary or not re.fullmatch(r"[\w.-]{2,40}/?", tokens[at].text) or low in _STOP_WORDS | _WITHIN | _WANT:
        return False
    if _FOLDER_WORD.match(before.text) and not before.low.startswith(("package", "module", "tree")):
        return (
            low in v.FOLDERS
            or tokens[at].quoted
            or "_" in low
            or low not in _FORBID
            and at + 1 < len(tokens)
            and tokens[at + 1].boundary
        )
    if before.low in ("the", "den", "dem", "die", "das", "el", "la", "le") and at > 1:
        before = tokens[at - 2]
    closes = at + 1 == len(tokens) or tokens[at + 1].boundary or tokens[at + 1].low in _FORBID | _STOP_WORDS | _CHANGE_VERBS
    located = before.low in _WITHIN - {"from", "into"} or before.low in _CHANGE_VERBS and low in v.KEPT_FOLDERS
    return low in v.FOLDERS and located and closes


_CHANGE_VERBS = frozenset(
    "touch edit change modify delete write anything ändern anfassen bearbeiten löschen verändern touching editing edits changes to".split()
)


def _names_folder(token: _Token, following: _Token) -> bool:
    """Return whether the two words refer to a folder, as in `legacy folder`."""
    if following.boundary or not _FOLDER_WORD.match(following.text) or not re.fullmatch(r"[\w.-]{2,40}/?", token.text):
        return False
    if token.low in v.FOLDERS:
        return True
    if len(token.text) < 4 and token.low not in ("db", "bin", "tmp", "etc", "var", "sql", "ops", "old"):
        return False  # an article, as in "la carpeta legacy"
    return not any(token.low in words for words in (_CHANGE_VERBS, _STOP_WORDS, _FORBID, _WITHIN, _WANT, _NO_FOLDERS))


def _plain_kind(text: str) -> tuple[_What | None, str]:
    low = text.lower()
    if text in v.SQL_WORDS or low in v.WORDS and low not in v.NOT_ALONE and low not in v.QUOTED_ONLY:
        return _What.CODE, text
    if _ENV.fullmatch(text) or _HOST.fullmatch(text) and not _FILE.fullmatch(text):
        return _What.COMMAND, text if "=" in text else f"* {text}"
    if (
        "." in low
        and low.partition(".")[0] in v.LIBRARIES
        and low not in v.LIBRARIES
        and re.fullmatch(r"[a-z_]+(?:\.[a-z_]{3,20}){1,3}", text)
    ):
        return _What.LIBRARY, text
    library = low.removesuffix(".js") if low.removesuffix(".js") in v.LIBRARIES else low
    if library in v.LIBRARIES:
        return _What.LIBRARY, library
    if _FILE.fullmatch(text) and not _NOT_A_FILE.match(text) and low not in v.LANGUAGES and low not in v.WORDS:
        return _What.PATH, text
    return (_What.UNKNOWN, text) if low in v.WORDS and low not in v.QUOTED_ONLY else (None, "")


def _is_program(low: str) -> bool:
    return (
        (low in v.PROGRAMS or low in v.PROGRAM_NAMES)
        and low not in _AMBIGUOUS
        or low.startswith("./")
        and low[2:] in v.FREE_TARGET
    )


_NO_TARGETS = frozenset(
    "assumptions mistakes noise progress room decisions guesses promises up sure it them this that no your my our their changes edits use commits something anything everything new sense do one files test".split()
)
# Programs whose names are also ordinary words. They count only in code quotes or before one of their subcommands.
_AMBIGUOUS = frozenset(
    "go make find cat less eval task just service port history export stack act mix screen hub dart swift snap tee su export"
    " python java node ruby perl php black turbo flask fly playwright storybook parcel nose task ava nc zig hg kind scoop ninja meson conan hatch rye"
    " dub pod mise buf dagger tilt expo eas flux consul nomad forever bats cucumber artillery serverless railway amplify gatsby astro next nuxt source"
    " trash unlink halt reboot shutdown lima credo nimble shards opam snap cypress eject kubernetes maven scala julia swiftc sorbet rector".split()
) - {"maven"}


def _command_words(tokens: Sequence[_Token], at: int) -> tuple[list[str], int]:
    words = [v.PROGRAM_NAMES.get(tokens[at].low, tokens[at].low)]
    used = 1
    subcommands = v.SUBCOMMANDS.get(words[0], frozenset()) | (v.VERBS if words[0] not in v.PLAIN_PROGRAMS else frozenset())
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
        if words[0] in ("sudo", "doas") and len(words) == 1 and _is_program(text.lower()):
            subcommands |= v.SUBCOMMANDS.get(text.lower(), frozenset()) | v.VERBS | {text.lower()}
        if (
            words[0] in ("kill", "pkill", "killall")
            and re.fullmatch(r"-(?:\d{1,2}|[A-Z]{3,7})", text)
            or words in (["git", "add"], ["git", "rm"])
            and _names_path(text)
            or _is_argument(words, text)
        ):
            words.append(text)
        elif text.lower() == "run" and len(words) > 1 and words[1] not in ("compose", "tool", "exec"):
            break  # a verb of the sentence, which other languages have at its end
        elif _FLAG.fullmatch(text) or text.lower() in subcommands or is_script or (words[0] == "chmod" and text.isdigit()):
            words.append(text if text.startswith("-") else text.lower())
        elif (
            free
            and len(words) == 1
            and text.lower() not in _STOP_WORDS
            and re.fullmatch(r"[\w:.-]{2,40}", text)
            or words[0] in ("python", "python3")
            and words[-1] == "-m"
            or len(words) == 1
            and words[0] not in v.PLAIN_PROGRAMS
            and re.fullmatch(r"[a-z]{1,20}:[a-z][\w:-]{1,30}", text) is not None
        ):
            words.append(text)
        else:
            break
        used += 1
    return words, used


_ARGUMENT = re.compile(r"(?=\S{0,60}[\d_/.])[\w@./:*-]{2,60}")
_CHANGE_PROGRAMS = frozenset(
    "rm mv cp sed cat touch vim nano vi chmod chown ls head tail less tee grep rg find awk perl git sudo".split()
)


def _is_argument(words: Sequence[str], text: str) -> bool:
    """Return whether a word is an argument that makes a command a more special one, as in `docker compose -f prod.yml`."""
    if words[0] in _CHANGE_PROGRAMS or not _ARGUMENT.fullmatch(text) or _HOST.fullmatch(text) and not _FILE.fullmatch(text):
        return False
    return not text.startswith(("-", "./", "@")) and text.lower() not in v.PROGRAMS and text.lower() not in v.LIBRARIES


def _names_path(text: str) -> bool:
    return (
        text == "." or text.lower() in v.FOLDERS or "/" in text or re.fullmatch(r"[\w*.-]{0,40}\.[\w*-]{1,10}", text) is not None
    )


SCRIPT_WORDS = frozenset({"run", "exec", "dlx"})


def _quoted_kind(text: str) -> _What:
    first = text.split()[0].lower() if text.split() else ""
    low = text.lower()
    if _FLAG.fullmatch(text) or re.fullmatch(r"--?[A-Za-z][\w-]{0,40} [\w./:=-]{1,40}", text):
        return _What.FLAG
    if _CALL.match(text) and " " not in text:
        return _What.CALL
    if low in v.WORDS and low not in ("exec", "eval", "sleep"):
        return _What.CODE
    if (first in v.PROGRAMS and not text.startswith("export default")) or first.startswith("./") and " " in text:
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
    spans = [match.span() for match in _FORBID_PHRASES.finditer(rule)]
    phrases = [start for start, _ in spans]
    for index, token in enumerate(tokens):
        if token.boundary or token.low in _NEW_CLAUSE:
            clause += 1 if token.text not in "()" else 0
            if token.boundary:
                continue
        starts[token.at] = clause
        if token.quoted or any(start < token.at < end for start, end in spans):
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
        elif (
            low == "to"
            and index + 1 < len(tokens)
            and (tokens[index + 1].quoted or tokens[index + 1].low in v.PROGRAMS)
            and any(before.low in ("prefer", "bevorzuge") for before in tokens[max(index - 8, 0) : index])
        ):
            out.append(_Cue(_Sense.FORBID, token.at, clause))
        elif low in ("over", "vor") and any(
            before.low in ("prefer", "use", "bevorzuge") for before in tokens[max(index - 5, 0) : index]
        ):
            out.append(_Cue(_Sense.FORBID, token.at, clause))
            forbidden_in.add(clause)
    return out


_POINTS_BACK = re.compile(r"\b(?:it|them|that|these|those|there|es|sie|das|davon|dort|daran|darin|ihn)\b", re.IGNORECASE)


_BY_HAND = re.compile(r"\b(?:edit|touch|modif|chang|hand|manual|bearbeit|änder|anfass)\w*", re.IGNORECASE)
_IS_GENERATED = re.compile(
    r"\b(?:generated|regenerated|generiert\w?|codegen|written by|auto[- ]?gen\w*|comes? from|built by|erzeugt|(?:managed|maintained|produced|exported|created|synced|updated) (?:by|from))\b",
    re.IGNORECASE,
)


_IN_LIST = re.compile(r"[`'\"]?\s{0,3}(?:(?:,|/|&|and|or|und|oder|nor|noch)\s{0,3}){1,2}[`'\"]?", re.IGNORECASE)


def _after(rule: str, thing: _Named) -> str:
    """Return the rest of a rule after an object, as it is written there: `.g.dart` for `*.g.dart`, and `legacy` for `legacy/`."""
    rest = rule[thing.at :].lstrip("`'\"*_")
    low = rest.lower()
    names = (thing.text.lower(), thing.text.lower().removeprefix("*"), thing.text.lower().rstrip("/"))
    return rest[max((len(name) for name in names if low.startswith(name)), default=0) :]


def _listed_before(rule: str, named: Sequence[_Named], before: Sequence[_Named]) -> list[_Named]:
    """Return the objects listed directly before these, as in "npm, yarn and bun are forbidden"."""
    found: list[_Named] = []
    first = min((thing.at for thing in before), default=0)
    for thing in reversed(named):
        if thing.at < first:
            if thing.sense is _Sense.WANT:  # "use httpx, requests is forbidden"
                break
            if not _IN_LIST.fullmatch(_after(rule[:first], thing)):
                break
            found.append(thing)
            first = thing.at
    return found


_EDITS = re.compile(
    r"[^,;:.—()]{0,30}\b(?:edit|touch|chang|modif|alter|rewrit|reformat|fix|updat|bearbeit|änder|anfass|anrühr|anpass)\w{0,4}\b(?!\s(?:via|with|using|mit|through)\b)",
    re.IGNORECASE,
)
_VERB_ONLY = re.compile(
    r"[^,;:.—()]{0,60}\b(?:hands?|alter|overwrite|delete|rename|write|anything there|pristine|intact|unchanged|untouched|this file|these files|them|fix|reformat|rewrite|update|manual\w{0,4}|manuell\w{0,2}|edit\w{0,3}|touch\w{0,3}|chang\w{1,4}|modif\w{1,4}|alone|off|out|away|anfassen|ändern|bearbeiten|as it is|as they are|as is|you)\b",
    re.IGNORECASE,
)


def _topic(rule: str, named: Sequence[_Named], cue: _Cue) -> list[_Named]:
    """Return what a clause before names, if the prohibition itself names nothing, as in "go.sum: never by hand"."""
    paths = [thing for thing in named if thing.what is _What.PATH and thing.at < cue.at and thing.sense is not _Sense.FORBID]
    if not paths or not _VERB_ONLY.match(rule[cue.at :]):
        return []
    return [thing for thing in paths if thing.clause == paths[-1].clause]


def _forbid_before(rule: str, named: Sequence[_Named], earlier: Sequence[_Cue], cue: _Cue, reached: Sequence[_Named]) -> None:
    """Forbid objects before the cue, as in "npm is forbidden", "legacy/ nicht anfassen" and "dist/ is generated, don't edit it"."""
    last = max((other.at for other in earlier if other.clause == cue.clause and other.sense is _Sense.FORBID), default=-1)
    before = [thing for thing in named if thing.at < cue.at and thing.clause == cue.clause]
    if not before and _POINTS_BACK.search(rule[cue.at :]):
        before = [thing for thing in named if thing.at < cue.at and thing.sense is None and thing.clause == cue.clause - 1]
    if not before and not reached and _BY_HAND.search(rule[cue.at :]) and _IS_GENERATED.search(rule[: cue.at]):
        before = [thing for thing in named if thing.at < cue.at and thing.what is _What.PATH and thing.clause >= cue.clause - 1]
    topic = _topic(rule, named, cue) if not before and not reached else []
    before = before or topic
    if _EDITS.match(rule[cue.at :]):  # "the lockfile is pnpm's, don't edit it" forbids no command
        before = [thing for thing in before if thing.what not in (_What.COMMAND, _What.LIBRARY, _What.FLAG)] or topic
        before = before or _topic(rule, named, cue)
    before = [*_listed_before(rule, named, before), *before]
    contrast = re.match(
        r"(?:not|never|rather than|instead of)\s(?!allowed|permitted|ok\b|okay|acceptable|an option|wanted|welcome|to be|be\b)\w",
        rule[cue.at :],
        re.IGNORECASE,
    )
    for thing in before:
        if contrast and thing.sense is _Sense.WANT and thing not in topic:
            continue  # "use ruff, not the other one"
        if thing.at > last:
            thing.sense = _Sense.FORBID
    if before and not any(thing.clause == cue.clause for thing in reached):
        for thing in reached:
            thing.sense = None


_POSTPOSED = re.compile(r"(?:only|instead|nur|stattdessen|please|everywhere|it is)\b", re.IGNORECASE)
_BY_MEANS = re.compile(r"\b(?:with|using|via|by|through|mit|per)\s[`'\"]?$", re.IGNORECASE)
_ASIDE = re.compile(r"\([^()]{0,80}\)")


def _without_afterthoughts(rule: str, reached: Sequence[_Named], cue: _Cue, end: int) -> list[_Named]:
    """Return what a prohibition reaches: all of its clause, and after it only what continues its list, as in "no npm, yarn or bun"."""
    own = [thing for thing in reached if thing.clause == cue.clause]
    if _EDITS.match(rule[cue.at :]) and (
        not own or any(thing.what is _What.PATH for thing in own)
    ):  # "never hand-edit the lockfile, npm install writes it" forbids no command
        reached = [
            thing for thing in reached if thing.what not in (_What.COMMAND, _What.LIBRARY) or _BY_MEANS.search(rule[: thing.at])
        ]
        own = [thing for thing in own if thing in reached]
    if not own:
        stops = re.search(r"[,;.!]", rule[cue.at : reached[0].at]) if reached else None
        return [] if stops and len(rule[cue.at : cue.at + stops.start()].split()) > 1 else list(reached)
    last = own[-1]
    for thing in reached:
        if thing.at <= last.at:
            continue
        between = _ASIDE.sub("", _after(rule[: thing.at], last))
        after = _after(rule[:end], thing).lstrip("`'\" ")
        if (
            not _IN_LIST.fullmatch(between)
            or end < 10_000
            and not re.match(r"[,;.:!?()—]|(?:and|or|und|oder|nor)\b", after)
            and len(after) < 3
        ):
            break
        own.append(thing)
        last = thing
    return own


_REPLACES = re.compile(
    r"\b(?:replac(?:e|ed|es|ing)|ersetz\w{1,3}|(?:migrat\w{1,3}|switch\w{0,3}|mov\w{1,3}|wechsel\w{0,3}|umgestellt)\s(?:away\s)?(?:from|off|von))\s(?P<old>.{1,60}?)\s(?:with|by|to|durch|auf|zu)\s",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"(?<=\s)(?:instead of|rather than|in place of|statt|anstatt|anstelle von)\s", re.IGNORECASE)


def _assign(rule: str, named: Sequence[_Named], cues: Sequence[_Cue]) -> None:
    """Decide for each named object whether it is forbidden or wanted."""
    names = {thing.at for thing in named}
    cues = [cue for cue in cues if cue.at not in names]  # the folder `generated` is no prohibition
    for index, cue in enumerate(cues):
        end = cues[index + 1].at if index + 1 < len(cues) else 10_000
        reached = [thing for thing in named if cue.at < thing.at < end]
        if cue.sense is _Sense.FORBID:
            reached = _without_afterthoughts(rule, reached, cue, end)
        elif not reached and _POSTPOSED.match(rule, cue.at):  # "no boto, boto3 only"
            reached = [
                thing for thing in named if thing.clause == cue.clause and thing.at < cue.at and thing.sense is not _Sense.FORBID
            ]
        for thing in reached:
            thing.sense = cue.sense
        same = [thing for thing in reached if thing.clause == cue.clause and not thing.within]
        if cue.sense is _Sense.FORBID and not same:
            _forbid_before(rule, named, cues[:index], cue, reached)
    _assign_contrasts(rule, named)
    only = [cue for cue in cues if cue.sense is _Sense.WANT]
    for thing in named:
        if thing.sense is None and (only or any(other.sense is _Sense.FORBID for other in named)):
            thing.sense = _Sense.WANT


def _assign_contrasts(rule: str, named: Sequence[_Named]) -> None:
    """Decide for both sides of "replace moment with dayjs" and "fd statt find"."""
    for match in _REPLACES.finditer(rule):
        for thing in named:
            if match.start("old") <= thing.at < match.end("old"):
                thing.sense = _Sense.FORBID
            elif match.end() <= thing.at < match.end() + 2:
                thing.sense = _Sense.WANT
    for match in _CONTRAST.finditer(rule):  # "fd statt find"
        for thing in named:
            if rule[thing.at : match.start()].strip("`'\" ") == thing.text:
                thing.sense = _Sense.WANT


# Rules of all forms


def _general(rule: str) -> Check | None:
    tokens = _tokens(rule)
    named, cues = _named(rule, tokens), _cues(rule, tokens)
    forbids = any(cue.sense is _Sense.FORBID for cue in cues) or _REPLACES.search(rule) is not None
    if check := _of_one_subject(rule, named, forbids):
        return check
    _assign(rule, named, cues)
    bad = [thing for thing in named if thing.sense is _Sense.FORBID]
    wanted = [thing for thing in named if thing.sense is _Sense.WANT]
    forbidden = {thing.text for thing in bad}
    instead = next((thing.text for thing in wanted if thing.what is _What.COMMAND and thing.text not in forbidden), "")
    where = [thing for thing in named if thing.what is _What.PATH]
    if statements := [thing.text for thing in bad if thing.what is _What.STATEMENT]:
        return _statements(rule, statements, where)
    for attempt in (_code, _commands, _paths):
        check = attempt(rule, bad, where, instead)
        if check is not None:
            return check
    if bad:
        return None
    for other in (
        _only_by_tool(rule, named),
        _outside_project(rule, forbids),
        _concepts(rule, named, forbids),
        _only_there(rule, wanted),
    ):
        if other is not None:
            return other
    if forbids and not re.search(r"\b(?:other|others|else|but|anderen?|sonst)\b", rule, re.IGNORECASE):
        return None  # What it forbids was not understood.
    return _only_one_of_family(rule, wanted)


_PROTECTED = re.compile(r"\b(?:protected|geschützt|gesperrt|locked|protegid\w|protégée?s?|protett\w)\b", re.IGNORECASE)


def _of_one_subject(rule: str, named: Sequence[_Named], forbids: bool) -> Check | None:
    """Compile a rule on comments, build wrappers, branches, merges or a phrase that means a command or code."""
    if check := _comments(rule) or _wrapper(rule):
        return check
    if (forbids or _PROTECTED.search(rule)) and (check := _branch(rule)):
        return check
    if check := _merging(rule):
        return check
    return _remote(rule) or _dependencies(rule, named) or _phrase(rule, named) if forbids else None


_DEPENDENCIES = re.compile(
    r"\b(?:no|never|don't|do not|avoid|without|kein\w{0,2}|keine|nie|nicht)\b[^.;,]{0,25}\b(?:(?:new|additional|extra|more|further|third-party|neue\w?|weitere\w?|zusätzliche\w?)\s(?:runtime\s|npm\s|python\s|external\s)?(?:dependenc(?:y|ies)|packages|libraries|deps|libs|gems|crates|abhängigkeiten|pakete|bibliotheken)"
    r"|(?:add|install|pull in|introduc)\w{0,4}\s(?:any\s|new\s|more\s|extra\s){0,2}(?:dependenc(?:y|ies)|packages|deps|libs|libraries|anything))\b(?!\s(?:on|from|globally|with|via|using|in|into|to|for)\b)",
    re.IGNORECASE,
)


def _dependencies(rule: str, named: Sequence[_Named]) -> Check | None:
    """Compile "no new dependencies without asking"."""
    if not _DEPENDENCIES.search(rule) or any(thing.what in (_What.LIBRARY, _What.COMMAND, _What.PATH) for thing in named):
        return None
    return Check(CheckKind.COMMAND, words=v.NEW_DEPENDENCIES, unless=("-r", "--requirement", "-e", "--editable"))


def _outside_project(rule: str, forbids: bool) -> Check | None:
    """Compile "don't edit files outside this repository"."""
    changes = re.search(r"\b(?:edit|chang|writ|creat|modif|touch|delet|ändern|schreib)\w{0,4}\b", rule, re.IGNORECASE)
    if not forbids or not changes or not _OUTSIDE_PROJECT.search(rule):
        return None
    return Check(CheckKind.PATH, paths=("/*", "~/*"), unless=("/tmp/", "/dev/", "/var/tmp/"))  # noqa: S108


_BY_TOOL = re.compile(
    r"\b(?:only|nur|must|always|exclusively|ausschließlich|immer)\b.{0,60}\b(?:via|by|through|from|with|using|mit|durch|über|may|darf)\b|\b(?:via|by|through|with|using|mit|durch|über)\b.{0,60}\b(?:only|nur|exclusively|ausschließlich)\b"
    r"|\bonly\s\S{1,20}\s(?:may|can|should|is allowed to|gets to)\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:chang|updat|edit|modif|writ|generat|manag|maintain|touch|regenerat|geschrieben|geändert|aktualisiert|erzeugt|generiert|come)\w{0,4}\b|\block\b",
    re.IGNORECASE,
)


def _only_by_tool(rule: str, named: Sequence[_Named]) -> Check | None:
    """Compile "Gemfile.lock changes only via bundle install": nobody edits the file."""
    paths = [thing for thing in named if thing.what is _What.PATH and not thing.within]
    tools = [thing for thing in named if thing.what is _What.COMMAND and "=" not in thing.text]
    locks = any(thing.text.rpartition("/")[2] in v.LOCK_FILES for thing in paths)
    if not paths or not tools or not _BY_TOOL.search(rule) or not (locks or _CHANGED.search(rule)):
        return None
    if not locks and not re.search(r"\.\w{1,10}$", paths[0].text):
        return None
    return Check(CheckKind.PATH, paths=_few([thing.text for thing in paths]))


_WRAPPERS = (("gradle", "./gradlew"), ("mvn", "./mvnw"))


def _wrapper(rule: str) -> Check | None:
    """Compile "only the Gradle wrapper": the program itself is forbidden."""
    for program, wrapper in _WRAPPERS:
        names = {"mvn": r"(?:mvn|maven)"}.get(program, program)
        if re.search(
            rf"\b{names}\b.{{0,60}}\bwrapper\b|\bwrapper\b.{{0,40}}\b{names}\b|{re.escape(wrapper)}\b.{{0,60}}\b{names}\b|\b{names}\b.{{0,60}}{re.escape(wrapper)}\b",
            rule,
            re.IGNORECASE,
        ):
            return Check(CheckKind.COMMAND, words=(program,), instead=wrapper) if _INSISTS.search(rule) else None
    return None


_INSISTS = re.compile(r"\b(?:only|always|never|not|use|must|immer|nur|nie|nicht|instead|no)\b", re.IGNORECASE)


def _statements(rule: str, statements: Sequence[str], where: Sequence[_Named]) -> Check:
    """Compile a prohibition of statements, which may be run by a client or be written into code."""
    commands = Check(CheckKind.COMMAND, words=_few([command for name in statements for command in v.STATEMENTS[name]]))
    written = [name for name in statements if not v.STATEMENTS[name][0].startswith("redis")]
    place = _folders([thing for thing in where if thing.within])
    if not written or not (
        place or re.search(r"\b(?:migrations?|code|quer(?:y|ies)|sql|scripts?|write|writing|files?)\b", rule, re.IGNORECASE)
    ):
        return commands
    content = Check(CheckKind.CONTENT, words=_few(written), paths=place)
    return content if place else replace(commands, also=(content,))


_COMMENTS_RULE = re.compile(
    r"\b(?:code[- ]?)?(?:comments?|docstrings?|kommentare?|commentaires?|comentarios?|comentários?|commenti)\b", re.IGNORECASE
)


def _comments(rule: str) -> Check | None:
    """Compile "comments in English only"."""
    if not _COMMENTS_RULE.search(rule) or re.search(r"\bcommit|\bpr\b|\breview", rule, re.IGNORECASE):
        return None
    words = [f"<comment {'not ' if form is Form.LANGUAGE else ''}in {name}>" for form, name in _languages_of_message(rule)]
    return Check(CheckKind.CONTENT, words=_few(words), files=_languages(rule)) if words else None


def _concepts(rule: str, named: Sequence[_Named], forbids: bool) -> Check | None:
    """Compile a prohibition of files that are named by their kind, such as "never edit lock files"."""
    if (
        not forbids
        or not (_CHANGES.search(rule) or _READS.search(rule))
        or re.search(r"\b(?:commit|push|run|deploy)\w*\b", rule, re.IGNORECASE)
    ):
        return None
    for pattern, paths in v.PATH_CONCEPTS:
        if re.search(rf"(?<![\w./-])(?:{pattern})(?![\w/-])", rule, re.IGNORECASE):
            old = re.search(
                r"\b(?:applied|existing|old|merged|committed|past|shipped|alte|bestehende)\s(?:migration|file|snapshot)",
                rule,
                re.IGNORECASE,
            )
            if "migration" in pattern and not old:
                return None
            reads = _READS.search(rule) and not re.search(r"\bread[- ]only\b", rule, re.IGNORECASE)
            return Check(
                CheckKind.PATH, paths=paths, access=Access.READ if reads else Access.WRITE, new=New.EXCEPT if old else New.ANY
            )
    return None


_ONLY_THERE = re.compile(
    r"\bonly (?:ever )?(?:edit|touch|change|modify|write|work)\b(?! (?:on|with|after|when|if))|\b(?:edit|touch|change|modify|write|work) only (?:in|under|below|inside|within|files)\b"
    r"|\b(?:stay|keep|limit yourself|limit changes|restrict changes|restrict yourself|keep (?:all )?changes)\b[^.;]{0,20}\b(?:in|inside|within|to)\b"
    r"|\bnur\s(?:\w{1,12}\s){0,2}(?:in|unter|innerhalb)\b[^.;]{0,60}\b(?:arbeiten|ändern|bearbeiten|schreiben)\b",
    re.IGNORECASE,
)


def _only_there(rule: str, wanted: Sequence[_Named]) -> Check | None:
    """Compile "you may only touch src/ and tests/"."""
    if not _ONLY_THERE.search(rule) or re.search(r"\bbranch", rule, re.IGNORECASE):
        return None
    folders = [thing.text for thing in wanted if thing.what is _What.PATH]
    if not folders or any(thing.what is not _What.PATH for thing in wanted):
        return None
    return Check(CheckKind.PATH, paths=("*",), unless=_few([*folders, "/tmp/"]))  # noqa: S108


_RUN = re.compile(
    r"\b(?:run|running|execute|executing|call|start|launch|invoke|ausführen|aufrufen|starten|laufen|install|type)\b",
    re.IGNORECASE,
)
_IN_CODE = re.compile(
    r"\b(?:code|type|types|typ|import\w*|importieren|comment|comments|kommentare?|logging|logger|loggen|cast|casts)\b",
    re.IGNORECASE,
)


# Names that are also ordinary words. They count only after "in", and at the start of a rule.
_ORDINARY_LANGUAGES = frozenset("go ts swift react c less compose manifests notebook notebooks templates".split())


def _languages(rule: str) -> tuple[str, ...]:
    found: list[str] = []
    low = rule.lower()
    for word in dict.fromkeys(match[0].rstrip(".") or match[0] for match in re.finditer(r"[\w.#+]{1,20}", low)):
        if word not in v.LANGUAGES:
            continue
        stated = word not in _ORDINARY_LANGUAGES
        if stated or re.search(rf"(?:\bin (?:\w{{1,20}} )?|^(?:in )?){re.escape(word)}(?:\b|(?<=[+#])(?!\w))", low):
            found += v.LANGUAGES[word]
    return tuple(dict.fromkeys(found))[:MAX_ENTRIES]


_OF_TESTS = ("tests/", "test/", "*/tests/*", "*/test/*", "__tests__/", "*/__tests__/*", "spec/", "e2e/")


def _folders(where: Sequence[_Named]) -> tuple[str, ...]:
    """Return the places of a check on content. "in tests" means all tests, wherever they are."""
    found: list[str] = []
    for thing in where:
        found += (*_OF_TESTS, *_TEST_FILES) if thing.text.lower() in ("tests/", "test/") else (thing.text,)
    return _few(found)


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
        stated = languages if _STATES_LANGUAGE.search(rule) else ()
        return Check(CheckKind.CONTENT, words=_few(libraries), imports=True, files=stated, paths=_folders(place))
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


_STATES_LANGUAGE = re.compile(
    rf"(?:^|\b(?:in|for|im)\s(?:our\s|the\s|new\s|all\s)?|\bfür\s)(?:{'|'.join(re.escape(name) for name in sorted(v.LANGUAGES, key=len, reverse=True) if name[0] != '.' and name != 'c')})(?:\s(?:code|files?|services?|tests?|projects?))?\b[:,]?",
    re.IGNORECASE,
)


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
        words, rest = _with_flags(rule, bad, flags, words)
        if not words:
            return Check(CheckKind.COMMAND, words=_few(rest)) if rest else None
    if words:
        words += [command for pattern, commands in v.MORE for command in commands if re.search(pattern, rule, re.IGNORECASE)]
    if not words:
        return None
    if any(thing.what is _What.PATH and not thing.within for thing in bad) and all(
        word in ("rm", "sed", "mv", "cat") for word in words
    ):
        return None
    if _FAR_TARGET.search(rule) and all(" " not in word and "=" not in word for word in words):
        return None  # "don't ssh into production": a call doesn't show which host that is
    words = [word for word in _for_purpose(rule, words, instead) if not _VERSION.search(word)]
    if not words:
        return None
    cleaned = [" ".join(word.split()) for word in words]
    alternatives = [word for word in cleaned if word != instead]
    return Check(CheckKind.COMMAND, words=_few(alternatives), instead=instead) if alternatives else None


_VERSION = re.compile(
    r"^(?:node|python|python3|ruby|php|java|go|npm|pnpm|yarn|deno|bun|dotnet|terraform|docker) v?\d+(?:\.\d+)*$"
)  # "don't use node 16": a call does not show the version
_INLINE: Mapping[str, str] = {
    "python": "python -c",
    "python3": "python -c",
    "node": "node -e",
    "ruby": "ruby -e",
    "perl": "perl -e",
    "php": "php -r",
}
_PURPOSE = re.compile(r"\b(?:for|to|für|zum|pour|para|per|zur)\s(?P<what>[^,.;:()]{2,60})", re.IGNORECASE)
_EDITING = re.compile(r"\b(?:edit|modify|chang|patch|rewrit|replac|bearbeit|änder)\w{0,4}\b", re.IGNORECASE)
_SERVICES = re.compile(r"\b(?:github|gitlab|jira|slack|aws|docker hub|npm registry|confluence|linear)\b", re.IGNORECASE)


def _for_purpose(rule: str, words: Sequence[str], instead: str) -> list[str]:
    """Limit a general program to the purpose for which the rule forbids it, such as "jq for JSON, not python" and "no sed to edit files"."""
    purpose = _PURPOSE.search(rule)
    if _EDITING.search(rule) and re.search(r"\b(?:with|using|via|by|mit)\s[`'\"]?(?:sed|perl)\b", rule, re.IGNORECASE):
        return [f"{word} -i" if word in ("sed", "perl") else word for word in words]
    if purpose is None:
        return list(words)
    found: list[str] = []
    for word in words:
        if word in _INLINE and instead and instead.split()[0] not in {*_INLINE, "deno", "bun", "uv", "poetry", "tsx"}:
            found.append(_INLINE[word])
        elif word in ("sed", "perl", "awk") and _EDITING.search(purpose["what"]):
            found += [f"{word} -i"] if word != "awk" else ["awk -i"]
        elif word in ("curl", "wget", "xh") and _SERVICES.search(purpose["what"]):
            found += ["* api.github.com"] if "github" in purpose["what"].lower() else []
        else:
            found.append(word)
    return list(dict.fromkeys(found))


_FAR_TARGET = re.compile(
    r"\b(?:in|into|on|onto|to|against|for|gegen|auf)\s(?:the\s|our\s|any\s)?(?:prod|production|live|staging|remote|produktion)\b",
    re.IGNORECASE,
)


def _with_flags(rule: str, bad: Sequence[_Named], flags: Sequence[str], words: list[str]) -> tuple[list[str], list[str]]:
    """Return the commands with each forbidden flag, and if no command is named, the ones to which the flags belong."""
    every = [thing for thing in _named(rule, _tokens(rule)) if thing.what is _What.COMMAND and "=" not in thing.text]
    found: list[str] = []
    bases: set[str] = set()
    for thing in bad:
        if thing.what is not _What.FLAG:
            continue
        owner = next((other.text for other in reversed(every) if other.at < thing.at), every[0].text if every else _action(rule))
        if not owner and thing.text == "--force" and "--force-with-lease" in rule:
            owner = "git push"
        if not owner:
            continue
        plain = " ".join(word for word in owner.split() if not word.startswith("-"))
        bases |= {owner} if plain == owner else set()
        with_value = _with_value(rule, thing)
        found.append(f"{plain} {thing.text if _action(with_value.removeprefix(thing.text)) else with_value}")
    if not found:
        return [], [owner for flag in flags for owner in v.FLAG_OWNERS.get(flag, ())]
    return [*(word for word in words if word not in bases), *found], []


_READS = re.compile(
    r"\b(?:go into|read|reading|open|opening|look|looking|peek|view|print|cat|show|display|access|see|inspect|lesen|öffnen|ansehen|anschauen|reinschauen"
    r"|hineinschauen|reinsehen|ausgeben|anzeigen|auslesen|schau|schauen|lies|öffne|expose|leak)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:touch\w*|edit\w*|chang\w+|modif\w+|writ\w+|delet\w+|remov\w+|mov\w+|overwrit\w+|updat\w+|creat\w+|add|adding|put|alter\w*|generated|read-only|readonly"
    r"|no[- ]touch\w{0,4}|stay\w{0,3}|remain\w{0,3}|business|yours|nichts (?:zu suchen|verloren)|bleib\w{1,2}|read access|ignore|out of|go into|pristine|intact|ändere|off[- ]limits|hands off|by hand|hand-|manual\w{0,4}|manuell\w{0,2}|von hand|renam\w{1,3}|taboo|off-bounds|out of bounds|leave|immutable|sacred|steer clear|anpassen|angepasst|umbenennen|verschieben|anrühr\w{0,2}|alone|untouched|keep (?:out|away|off)|stay (?:out|away|off)|frozen|vendored|mess|anfassen|anrühren|ändern|geändert|bearbeiten"
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


_GENERAL_WORDS = frozenset(
    "anything nothing something everything files file code change changes changing changed edit edits editing edited touch touching modify modifying modification modifications modified stuff any all"
    " ever please write writes writing written delete deleting remove removing rename renaming move moving update updating alter create creating add adding new make making manual manually direct"
    " directly hand your own you our this that these those the from with without asking first files' content contents existing old generated build output other further more mess fix fixes fixing"
    " refactor refactoring reformat reformatting format formatting lint linting improve clean cleanup overwrite overwriting put place leave keep stay away work working should must may can never ever"
    " don't not hands off and or nor also under inside within into folder directory source sources work done permission approval ask asking touch touches commit commits get gets".split()
)
_DIRECT_OBJECT = re.compile(
    r"\b(?:no|never|don't|do not|not|avoid|without)\s(?P<words>[a-z' -]{3,60}?)\s(?:in|into|under|inside|within|below|to)\s(?:the\s)?[`'\"]?$",
    re.IGNORECASE,
)


def _special_things(rule: str, bad: Sequence[_Named]) -> str:
    """Return what a rule forbids in a folder if that is not everything there, as "feature flags" in "no feature flags in src/core"."""
    at = min(thing.at for thing in bad if thing.what is _What.PATH)
    found = _DIRECT_OBJECT.search(rule[: at + (rule[at] in "`'\"")])
    if found is None or _CHANGE_ONLY.search(found["words"]):
        return ""
    return " ".join(word for word in found["words"].lower().split() if word not in _GENERAL_WORDS)


_CHANGE_ONLY = re.compile(
    r"\b(?:edit|touch|chang|modif|alter|delet|remov|renam|mov|overwrit|updat|fix|refactor|reformat|toccare|tocar)\w{0,8}\b",
    re.IGNORECASE,
)


_MAY_READ = re.compile(
    r"\bread[- ]only\b|\bread access\b|\b(?:can|may|ok(?:ay)? to|allowed to|free to|fine to|darfst|kannst|could)\b[^.;,]{0,30}\b(?:read|look|view|open|lesen|ansehen)\b|\bread(?:ing)?\b[^.;]{0,30}\b(?:is|are) (?:ok|okay|fine|allowed)\b"
    r"|\b(?:read|look at|view|open)\w{0,3}(?:,| but) (?:not|never|don't)\b|\blesen\b.{0,20}\b(?:ok|okay|erlaubt|ja)\b",
    re.IGNORECASE,
)
_OUTSIDE_PROJECT = re.compile(
    r"\boutside (?:of )?(?:this|the|our|my) (?:repo(?:sitory)?|project|workspace|working (?:dir|directory|tree)|checkout)\b|\baußerhalb (?:des|dieses) (?:repos?|projekts?|repositor\w{1,3})\b",
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
    if re.search(
        r"\b(?:outside|außerhalb|en dehors|fuera|fora)\b", rule, re.IGNORECASE
    ):  # "nothing outside src/"; scratch files stay possible
        return Check(CheckKind.PATH, paths=("*",), unless=_few([*paths, "/tmp/"]))  # noqa: S108
    if _ONLY_NEW.search(rule) and not _EXISTING.search(rule):
        return Check(CheckKind.PATH, paths=_few(paths), new=New.ONLY)
    if not reads and all(thing.within for thing in bad if thing.what is _What.PATH) and (special := _special_things(rule, bad)):
        files = next((files for pattern, files in _FILE_KINDS if re.fullmatch(pattern, special, re.IGNORECASE)), ())
        return Check(CheckKind.PATH, paths=_few(paths), files=files, new=New.ONLY) if files else None
    only_reads = _MAY_READ.search(rule)
    return Check(CheckKind.PATH, paths=_few(paths), access=Access.READ if reads and not only_reads else Access.WRITE)


_CHOOSES = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|only|always|stick|switched|prefer|nur|immer|nutz\w{1,3}|benutz\w{1,3}|verwend\w{1,3}|nimm|nehm\w{1,2}|ausschließlich|via|with|mit|through|über|manage\w{0,3}|install\w{0,3})\b",
    re.IGNORECASE,
)


def _only_one_of_family(rule: str, wanted: Sequence[_Named]) -> Check | None:
    """Compile "we use pnpm here" to a check that forbids the other programs of the same family."""
    names = [thing.text.split()[0] for thing in wanted if thing.what is _What.COMMAND]
    if any(thing.what is _What.FLAG or "=" in thing.text or " -" in thing.text for thing in wanted):
        return None  # a rule on how the program is called
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
    """Compile phrases for a command or code, such as "no force-pushing" or "no star imports"."""
    low = rule.lower()
    for pattern, words, files, near in v.CONTENT_PHRASES:
        if re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", low):
            place = _folders([thing for thing in named if thing.what is _What.PATH and thing.within])
            languages = _languages(rule)
            if languages and set(languages) <= set(v.LANGUAGES["sql"]):
                languages = _few([*files, *languages])  # statements are in other code, too
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
        return None  # "never amend pushed commits": a call does not show whether the commit was pushed
    managers = {"npm", "pnpm", "yarn", "bun", "pip"}
    others = any(thing.what is _What.COMMAND and thing.text.split()[0] not in managers for thing in named)
    found: list[str] = []
    for pattern, commands in v.PHRASES:
        if re.search(rf"(?<![\w-])(?:{pattern})(?![\w-]| instead\b| only\b| first\b)", low) and not (
            others and "global" in pattern
        ):
            found += commands
    found += [command for command in _bare_actions(rule) if command not in found]
    return Check(CheckKind.COMMAND, words=_few(found)) if found else None


_FAST_FORWARD = re.compile(
    r"\b(?:only|always|nur|immer)\b[^.;]{0,20}\bfast-?forward|\bfast-?forward[- ]only\b|\b(?:no|never|avoid|kein\w{0,2}|keine)\b[^.;]{0,20}\bmerge[- ]?commits?\b|\blinear history\b",
    re.IGNORECASE,
)
_REMOTE = re.compile(
    r"\bpush\w{0,3}\s(?:\w{1,10}\s){0,2}?to\s(?:the\s)?[`'\"]?(?P<name>upstream|heroku|dokku|gitlab|github|backup)\b",
    re.IGNORECASE,
)
_DELETES_BRANCH = re.compile(
    r"\b(?:never|don't|do not|no|nie|nicht)\b[^.;]{0,20}\bdelet\w{1,3}\s(?:the\s)?(?P<name>main|master|develop|dev|staging|release)\b|\b(?:never|don't|do not)\b[^.;]{0,10}\bdelete the [`'\"]?(?P<other>[\w./-]{2,30})[`'\"]? branch\b",
    re.IGNORECASE,
)


def _merging(rule: str) -> Check | None:
    """Compile "no merge commits"."""
    if not _FAST_FORWARD.search(rule):
        return None
    return Check(CheckKind.COMMAND, words=("git merge",), unless=("--ff-only", "--squash", "--abort", "--ff"))


def _remote(rule: str) -> Check | None:
    """Compile "never push to upstream" and "never delete the develop branch"."""
    if found := _REMOTE.search(rule):
        return Check(CheckKind.COMMAND, words=(f"git push {found['name'].lower()}",))
    if found := _DELETES_BRANCH.search(rule):
        name = found["name"] or found["other"]
        return Check(CheckKind.COMMAND, words=(f"git branch -D {name}", f"git branch -d {name}", f"git push --delete {name}"))
    return None


_BARE_ACTION = re.compile(
    r"\b(?:never|don't|do not|no|nicht|nie|niemals|kein\w{0,2}|must not|mustn't|may not|stop|avoid|forbidden to)\s(?:ever\s|please\s|just\s|do\s|make\s|create\s|run\s|any\s|git\s|own\s|selbst\s|selber\s){0,3}"
    r"(?P<verb>push(?:es|ing|en)?|commit(?:s|ting|ten|te)?|merg(?:es?|ing|en)|rebas(?:es?|ing|en)|tag(?:s|ging)?|publish(?:es|ing)?|releases?|deploy(?:s|ments?|ing)?)"
    r"(?=\s{0,2}(?:$|[,;:!?()—]|\.(?=\s|$))|\s(?:anything|please|releases?|versions?|yourself|on your own|for me|by yourself|without (?:asking|permission|approval|my|being asked)|at all|changes(?! (?:to|in|of|on)\b)|(?:any )?code|your (?:own )?(?:work|changes)|to (?:the )?(?:remote|origin|upstream)|selbst|selber|tags?|(?:and|or|und|oder) (?:push|commit|merge|rebase)\w*)\b)"
    r"|\b(?P<german>push(?:en|e|t)?|commit(?:ten|te|tet)|merg(?:en|e)|rebasen)\s(?:ist\s|sind\s)?(?:verboten|tabu|untersagt|nicht erlaubt)|\bnicht\s(?:selbst\s|selber\s)?(?P<late>pushen|committen|mergen|rebasen)\b",
    re.IGNORECASE,
)
_MEANT = {
    "push": "git push",
    "comm": "git commit",
    "merg": "git merge",
    "reba": "git rebase",
    "tag": "git tag",
    "tags": "git tag",
    "tagg": "git tag",
    "publ": "npm publish",
}


def _bare_actions(rule: str) -> list[str]:
    """Return the commands of "never push, I do that myself". With another object, such as in "never push secrets", there is none."""
    found: list[str] = []
    for match in _BARE_ACTION.finditer(rule):
        verb = (match["verb"] or match["german"] or match["late"]).lower()
        command = _MEANT.get(verb[:4], "")
        if command == "git push" and re.match(r"\stags?\b", rule[match.end() :]):
            command = "git push --tags"
        found += [command] if command else []
        if also := re.match(r"\s(?:and|or|und|oder) (push|commit|merge|rebase)", rule[match.end() :], re.IGNORECASE):
            found.append(_MEANT[also[1].lower()[:4]])
    return found


_BRANCHES = r"preprod|pre-prod|preproduction|qa|uat|canary|beta|gh-pages|integration|next|main|master|develop|development|trunk|production|prod|staging|stable|live|release|dev|deploy|mainline"
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
    rule = re.sub(r"(?<=\w)-(?=branch)", " ", rule, flags=re.IGNORECASE)
    named = _BRANCH.search(rule) or _BRANCH_BEFORE.search(rule)
    if named is None:
        return _quoted_branch(rule)
    sentence = _sentence_around(rule, named.start(), named.end())
    verbs = [
        command for pattern, command in _BRANCH_VERBS if re.search(rf"(?<![\w-])(?:{pattern})(?!\w|-?m)", sentence, re.IGNORECASE)
    ]
    if not verbs:
        if not re.search(
            r"\b(?:directly|protected|work|direkt|arbeiten|geschützt|gesperrt|locked)\b", sentence, re.IGNORECASE
        ) or not re.search(r"\bbranch|\bmain\b|\bmaster\b", sentence, re.IGNORECASE):
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


_QUOTED_BRANCH = re.compile(
    rf"{_TO_BRANCH[: _TO_BRANCH.index('(?:origin[/ ]')]}[`'\"](?:origin/)?(?P<name>[\w./*-]{{2,40}})[`'\"]|[`'\"](?P<before>[\w./*-]{{2,40}})[`'\"]\s?branch",
    re.IGNORECASE,
)


def _quoted_branch(rule: str) -> Check | None:
    """Compile "never push to `preview`", where the branch has an unusual name."""
    found = _QUOTED_BRANCH.search(rule)
    if found is None:
        return None
    sentence = _sentence_around(rule, found.start(), found.end())
    verbs = [
        command for pattern, command in _BRANCH_VERBS if re.search(rf"(?<![\w-])(?:{pattern})(?!\w|-?m)", sentence, re.IGNORECASE)
    ]
    name = found["name"] or found["before"]
    if not verbs or re.search(r"\.\w{1,4}$|/$", name) or name.lower() in v.PROGRAMS:
        return None
    return Check(CheckKind.COMMAND, words=_few(verbs), branch=(name,))


def _sentence_around(rule: str, start: int, end: int) -> str:
    """Return the sentence, and the next one if it refers to the same branch with "there" or "it"."""
    ends = [match.end() for match in re.finditer(r"(?<!e\.g)(?<!i\.e)(?<!z\.B)[.;!](?=\s|$)|\s—\s", rule)] + [len(rule)]
    last = next(position for position in ends if position >= end)
    first = max((position for position in ends if position <= start), default=0)
    following = next((position for position in ends if position > last), last)
    if re.match(r"[^.;]{0,60}\b(?:there|it|them|dort|darauf)\b", rule[last:]):
        last = following
    return rule[first:last]


_BRANCH_RULE = re.compile(
    r"^branches:|\bbranch(?:es)?[- ]?(?:names?|namen|prefix(?:es)?)\b|\bnam(?:e|ing) (?:of )?(?:\w{1,10} ){0,2}branch(?:es)?\b|\bbranchnamen\b"
    r"|\b(?:new |all |every |each |neue |alle )?branch(?:es)?\s(?:must |should |have to |always |names? )?(?:be(?:gin)?s?|start\w{0,3}|follow\w{0,3}|are (?:called|named)|heißen|beginnen|müssen|named|called|prefixed|in (?:kebab|snake|lower|camel)\w{0,6}|(?:kebab|lower|snake)[- ]?case|without|contain|carry|include|need|get|use|hat|haben|enthalten)\b"
    r"|\b(?:no|without) (?:slashes|spaces|underscores|uppercase|capitals?) in branch|\bprefix (?:all |your |new |every )*branch(?:es)?\b|\bbranch(?:es)?\s(?:go|live|belong|stay) under\b",
    re.IGNORECASE,
)
_BRANCH_PREFIX = re.compile(r"(?<![\w/.*<{-])([A-Za-z][A-Za-z\d_-]{1,20}/)(?!\w+/\w+\.\w)")
_ONE_BRANCH = re.compile(
    r"\b(?:only|stay|nur|always|ausschließlich)\b[^.;]{0,30}\b(?:on|auf|in)\s(?:(?:the|this|dem|der)\s){0,1}(?:branch\s)?[`'\"]?(?P<name>[A-Za-z][\w.-]{0,30}/[\w./-]{1,50}|(?<=branch )[\w.-]{2,50})",
    re.IGNORECASE,
)


def _branch_names(rule: str) -> Check | None:
    """Compile "branches are named feature/…" and "work only on branch feature/x"."""
    if check := _no_other_branches(rule) or _start_of_branches(rule):
        return check
    if (
        (found := _ONE_BRANCH.search(rule))
        and re.search(r"\bbranch", rule, re.IGNORECASE)
        and found["name"].lower() not in ("you", "the", "this", "same", "current")
    ):
        return Check(CheckKind.BRANCH, words=(found["name"].rstrip("."),), access=Access.READ)
    if not (found := _BRANCH_RULE.search(rule)) or re.search(r"\b(?:commit|push|merg)\w*", rule, re.IGNORECASE):
        return None
    sentence = _sentence_around(rule, found.start(), found.end())
    before_not = re.split(r"\b(?:not|never|no|nicht|kein\w{0,2}|instead of|rather than|statt)\b", sentence, flags=re.IGNORECASE)
    prefixes = [match[1] for match in _BRANCH_PREFIX.finditer(before_not[0]) if not _NOT_A_FILE.match(match[1] + "x")]
    rest = before_not[0]
    if not prefixes and (ticket := re.search(r"\b[A-Z]{2,8}-(?=\d|[NXn#<{])", rest)):
        starts = re.search(r"\b(?:start|begin|prefix|lead|anfang|beginn)", sentence, re.IGNORECASE)
        digit = "[0-9]" if re.match(r"\d|[Nn#<{]", rest[ticket.end() :]) else ""
        return Check(CheckKind.BRANCH, words=(f"{ticket[0]}{digit}*" if starts else f"*{ticket[0]}{digit}*",))
    style = _style_of_names(sentence)
    if not prefixes and not style and re.search(r"\b(?:ticket|jira|issue|story)\b", rest, re.IGNORECASE):
        return Check(CheckKind.BRANCH, words=("*[A-Z]*-[0-9]*",))
    if not prefixes and style:
        return Check(CheckKind.BRANCH, words=(style,))
    if (
        re.search(r"\b(?:hotfix|bugfix|fix|release|spike|experiment\w{0,3})[- ]branch", sentence, re.IGNORECASE)
        and len(prefixes) < 2
    ):
        return None  # a rule on some branches only
    example = _FOR_EXAMPLE.search(rest)
    if prefixes and example and example.start() < rest.index(prefixes[0]) and len(prefixes) < 3:
        return Check(CheckKind.BRANCH, words=("*/*",))  # only an example of a type
    if not prefixes:
        return None
    styled = (Check(CheckKind.BRANCH, words=(style,)),) if style else ()
    return Check(CheckKind.BRANCH, words=_few([_with_ticket(rest, prefix) for prefix in prefixes]), also=styled)


def _with_ticket(text: str, prefix: str) -> str:
    """Return the pattern of names with a prefix, and with the ticket that the text has after it, as in `feature/SHOP-<nr>`."""
    found = re.search(rf"{re.escape(prefix)}([A-Z]{{2,8}}-)(?=\d|[NXn#<{{])", text)
    return f"{prefix}{found[1]}[0-9]*" if found else f"{prefix}*"


_NO_OTHER = re.compile(
    r"\bstay\b[^.;]{0,20}\bon (?:the|this|your|that|my) (?:\w+ )?branch\b|\b(?:never|don't|do not|no|without asking)\b[^.;]{0,20}\b(?:switch\w{0,3}|chang\w{1,3}|check(?:ing)? ?out|checkouts?|leav\w{1,3}|hop\w{0,4})(?:/\w{4,10})?\b[^.;]{0,20}\bbranch(?:es)?\b"
    r"|\bbleib\w?\b[^.;]{0,30}\bbranch\b|\bbranch\b[^.;]{0,20}\bnicht (?:wechseln|verlassen)\b|\bnicht\b[^.;]{0,20}\bbranch\w{0,2} wechseln\b",
    re.IGNORECASE,
)
_NO_NEW_BRANCHES = re.compile(
    r"\b(?:never|don't|do not|no|kein\w{0,2})\b[^.;]{0,20}\b(?:(?:creat|mak|open|start|anleg|erstell)\w{0,4}\s(?:any\s|new\s|own\s|a\s|your\s){0,3}|new\s|neue\w?\s)branch(?:es)?\b(?!\s(?:from|off|named|called|without|with|under))|\bkeine\w? (?:neuen )?branches\s(?:anlegen|erstellen)",
    re.IGNORECASE,
)
_CURRENT = "<current>"  # matches no name, so that each other branch is forbidden


_STARTS = re.compile(
    rf"\bbranch(?:es|ing)?\b[^.;]{{0,30}}?\b(?:off|from|based on|start\w{{0,3}} (?:from|at)|von|aus)\s(?:of\s|the\s|latest\s|up-to-date\s|current\s|dem\s|an\s){{0,3}}[`'\"]?(?:origin/)?(?P<name>{_BRANCHES})\b",
    re.IGNORECASE,
)


def _start_of_branches(rule: str) -> Check | None:
    """Compile "always branch off develop"."""
    found = _STARTS.search(rule)
    if found is None or re.search(r"\b(?:push|merg|delet)\w*", rule, re.IGNORECASE) or _NEGATED.search(rule[: found.end()]):
        return None
    return Check(CheckKind.BRANCH, words=("*",), branch=(found["name"].lower(),))


def _no_other_branches(rule: str) -> Check | None:
    """Compile "stay on this branch" and "don't create branches"."""
    if _NO_OTHER.search(rule) and not _ONE_BRANCH_NAME.search(rule):
        return Check(CheckKind.BRANCH, words=(_CURRENT,), access=Access.READ)
    return Check(CheckKind.BRANCH, words=(_CURRENT,)) if _NO_NEW_BRANCHES.search(rule) else None


_ONE_BRANCH_NAME = re.compile(
    r"\bbranch [`'\"]?\w{1,20}[/-]\w|[`'\"][\w-]{1,20}/[\w.-]{1,30}[`'\"]|\b\w{2,12}/[\w-]{2,30}(?!\w| to\b)(?<!checkout/switch)(?<!switch/checkout)"
)
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


def _style_of_names(text: str) -> str:
    """Return the style of names that a text asks for, or "" if there is none or it is refused."""
    if longest := re.search(
        r"\b(?:max(?:imum|imal)?\.?|at most|under|no longer than|höchstens|up to)\s(\d{1,3})\s(?:chars?|characters|zeichen)\b|\b(\d{1,3}) (?:chars?|characters|zeichen) (?:max|or (?:less|fewer))",
        text,
        re.IGNORECASE,
    ):
        return f"<max {longest[1] or longest[2]}>"
    for pattern, style in _NAME_STYLES:
        found = re.search(rf"(?<![\w-])(?:{pattern})(?![\w])", text, re.IGNORECASE)
        if found and not _NOT_BEFORE.search(text[: found.start()]):
            return style
    return ""


# Locations of new files

_NEW_FILES = re.compile(
    r"\b(?:creat\w{1,4}|add(?:ing)?|put|place|new|anlegen|ablegen|lege|leg|neue\w{0,2}|write|drop|dump|generate|save|go|goes|belong\w{0,2}|gehör\w{1,3}|kommen|live|only in|only under|nur in|nur unter|anlegt|erstell\w{1,3}|store)\b",
    re.IGNORECASE,
)
_NAMES_FILES = re.compile(
    r"\bfile ?names?\b|\bnam(?:e|ed|ing)\b|\b(?:kebab|snake|pascal|camel)[- _]?case\b|\b(?:always|only|never|not|must|should|stay|reside|sit|nur|immer|nie|nicht|no)\s(?:\w{1,10}\s){0,3}?(?:in|under|inside|unter|below|next to|beside|outside)\b",
    re.IGNORECASE,
)
_ROOT_WORDS = re.compile(
    r"\b(?:project|repo|repository|repo's|top|workspace|projekt)[- ]?(?:root|top level|wurzel)\b|\b(?:in|to|into|at|im|ins) (?:the |den |dem )?(?:root|top level|projektroot|wurzelverzeichnis|hauptverzeichnis|project root|repo root)\b",
    re.IGNORECASE,
)
_TEST_FILES = ("*.test.*", "*.spec.*", "test_*.py", "*_test.py", "*_test.go", "*Test.java", "*_spec.rb", "*Test.kt", "*Test.php")
_IMAGES = ("*.png", "*.jpg", "*.jpeg", "*.gif", "*.webp", "*.svg", "*.ico", "*.avif", "*.bmp")
_FILE_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?:unit |integration )?tests?(?: (?:files?|cases?|code))?|testdateien|specs?(?: files?)?", _TEST_FILES),
    (r"(?:e2e|end-to-end)[- ]?(?:tests?|specs?)", ("*.e2e.*", "*.e2e-spec.*", "*.cy.*", "*.spec.*", "test_e2e*")),
    (r"(?:markdown|md)(?:[- ]?(?:files?|dateien|docs?))?|\*?\.md(?: files?)?|docs?|documentation|dokumentation|dokumente|documents?|reports?(?: (?:and|or|,) (?:plans?|summaries|notes))?|plans?|summar(?:y|ies)|berichte|analys[ei]s|notes|notizen|(?:design )?docs?|guides?", ("*.md",)),
    (r"(?:shell |bash )?scripts?|(?:shell-?)?skripte?n?|\*?\.sh(?: files?)?", ("*.sh", "*.bash")),
    (r"python[- ]?(?:scripts?|skripte?)", ("*.py",)),
    (r"migrations?(?: files?)?|migrationen|migration scripts?", ("[0-9]*_*.sql", "V[0-9]*__*.sql", "*migration*", "[0-9]*_*.py", "[0-9]*_*.rb", "[0-9]*_*.php", "[0-9]*_*.js", "[0-9]*_*.ts", "[0-9]*_*.exs")),
    (r"sql[- ]?(?:migrations?|files?|scripts?|dateien|quer(?:y|ies))|\*?\.sql(?: files?)?", ("*.sql",)),
    (r"stor(?:y|ies)(?: files?)?|storybook (?:stories|files?)|\*?\.stories\.\*", ("*.stories.*",)),
    (r"style ?sheets?|(?:s?css|less|sass|styles?)(?:[- ]?(?:files?|dateien|modules?))?|styles|\*?\.css", ("*.css", "*.scss", "*.less", "*.sass")),
    (r"images?(?: (?:files?|assets?))?|bilder|bilddateien|pngs?|pictures?|screenshots?|logos?|grafiken|photos?|(?:static )?assets?|media(?: files?)?", _IMAGES),
    (r"icons?|svgs?|svg (?:files?|icons?)|\*?\.svg", ("*.svg", "*.ico")),
    (r"fonts?(?: files?)?|schriften|schriftarten|web ?fonts?", ("*.woff", "*.woff2", "*.ttf", "*.otf", "*.eot")),
    (r"mocks?(?: files?)?", ("*.mock.*", "*mock*.*", "*Mock*.*")),
    (r"fixtures?(?: files?)?|test ?data", ("*fixture*.*", "*.fixture.*")),
    (r"(?:type ?script )?(?:types?|interfaces?|type definitions?|typings?)(?: files?)?", ("*.d.ts", "*.types.ts", "types.ts", "*.type.ts", "*.interface.ts")),
    (r"hooks?", ("use[A-Z]*.ts", "use[A-Z]*.tsx", "use[A-Z]*.js", "use[A-Z]*.jsx", "use-*.ts", "use-*.tsx")),
    (r"components?|komponenten|react[- ]?komponenten|vue[- ]?komponenten", ("[A-Z]*.tsx", "[A-Z]*.jsx", "[A-Z]*.vue", "[A-Z]*.svelte", "*.component.ts")),
    (r"docker ?files?", ("Dockerfile", "Dockerfile.*", "*.dockerfile", "*.Dockerfile")),
    (r"(?:docker[- ])?compose files?", ("docker-compose*.y*ml", "compose*.y*ml")),
    (r"proto(?:buf|s)?(?: (?:files?|definitions?))?|\*?\.proto(?: files?)?", ("*.proto",)),
    (r"graphql(?: (?:files?|quer(?:y|ies)|schemas?|fragments?|operations?))?", ("*.graphql", "*.gql")),
    (r"(?:jupyter )?notebooks?|\*?\.ipynb(?: files?)?", ("*.ipynb",)),
    (r"csvs?(?: files?)?|data ?(?:files?|sets?|dumps?)|datendateien|csv-dateien|\*?\.csv", ("*.csv", "*.tsv", "*.parquet", "*.xlsx", "*.jsonl")),
    (r"(?:sql|db|database|datenbank)[- ]?dumps?|dumps?", ("*.dump", "*dump*.sql", "*.sql.gz", "*.bak")),
    (r"diagrams?|diagramme", ("*.drawio", "*.puml", "*.plantuml", "*.mmd", "*.mermaid", "*.dot", "*.excalidraw")),
    (r"(?:translation|locale|language|i18n)s?(?: (?:files?|strings?|jsons?))?|translations?|übersetzungen|sprachdateien", ("en.json", "de.json", "fr.json", "es.json", "??.json", "??-??.json", "??.yml", "*.po", "messages.*.json", "*.arb", "*.xlf")),
    (r"(?:html |email |mail )?templates?|vorlagen", ("*.html", "*.j2", "*.jinja", "*.jinja2", "*.twig", "*.erb", "*.hbs", "*.ejs", "*.mjml", "*.tmpl", "*.blade.php")),
    (r"controllers?", ("*Controller.*", "*_controller.*", "*.controller.*")),
    (r"services?(?: classes)?", ("*Service.*", "*_service.*", "*.service.*")),
    (r"repositor(?:y|ies)(?: classes)?", ("*Repository.*", "*_repository.*", "*.repository.*")),
    (r"middlewares?", ("*Middleware.*", "*middleware.*", "*_middleware.*")),
    (r"serializers?", ("*Serializer.*", "*_serializer.*", "serializers.py")),
    (r"adrs?|(?:architecture )?decision records?", ("[0-9][0-9]*-*.md", "adr-*.md", "ADR-*.md", "adr_*.md")),
    (r"logs?(?: files?)?|logdateien|\*?\.log(?: files?)?", ("*.log",)),
    (r"terraform(?: (?:files?|code|modules?))?|\*?\.tf(?: files?)?", ("*.tf",)),
    (r"(?:k8s|kubernetes) (?:manifests?|files?|yamls?)|manifests?", ("*.yaml", "*.yml")),
    (r"helm (?:charts?|values(?: files?)?)", ("Chart.yaml", "values*.yaml")),
    (r"(?:github |ci )?workflows?(?: files?)?", ("*.yml", "*.yaml")),
    (r"(?:ya?ml)(?: files?|-dateien)?|\*?\.ya?ml(?: files?)?", ("*.yml", "*.yaml")),
    (r"json(?: (?:files?|schemas?))?|json-dateien|\*?\.json(?: files?)?", ("*.json",)),
    (r"pdfs?(?: files?)?|\*?\.pdf", ("*.pdf",)),
    (r"source files?|file ?names?|dateinamen", v.CODE_FILES),
    (r"python (?:files?|modules?|file ?names?)|\*?\.py(?: files?)?", ("*.py",)),
    (r"(?:typescript|ts|javascript|js) (?:files?|modules?|file ?names?)|\*?\.tsx?(?: files?)?", ("*.ts", "*.tsx", "*.js", "*.jsx")),
    (r"go (?:files?|packages?)|\*?\.go(?: files?)?", ("*.go",)),
    (r"benchmarks?(?: files?)?", ("*bench*.*", "*.bench.*", "*_bench.*")),
    (r"(?:temp(?:orary)?|scratch|throwaway|tmp)[- ](?:files?|scripts?|stuff)|(?:temporäre|temp)[- ]?dateien", ("tmp*", "temp*", "scratch*", "*.tmp", "debug*", "test_script*", "*_tmp.*", "*.bak", "*.orig")),
)  # fmt: skip


def _placement(rule: str) -> Check | None:
    """Compile rules about where new files go. The kind of the files and their place must both be named."""
    if not (
        _NEW_FILES.search(rule) or _NAMES_FILES.search(rule) or re.match(r"\W{0,3}(?:all|alle|every|each)\b", rule, re.IGNORECASE)
    ) or re.search(r"\b(?:commit|push|import|before|after|run)\b", rule, re.IGNORECASE):
        return None
    if _ROOT_WORDS.search(rule):
        return _not_in_root(rule)
    tokens = _tokens(rule)
    if check := _name_patterns(rule, tokens):
        return check
    subject = _kind_of_files(rule)
    return _unknown_files(rule, tokens) if subject is None else _known_files(rule, tokens, *subject)


def _not_in_root(rule: str) -> Check | None:
    """Compile "no new files in the project's root"."""
    before = r"\b(?:no|put|create|add|any|keine?|place) (?:new |loose |any |neuen? )?"
    files = next((files for pattern, files in _FILE_KINDS if re.search(rf"{before}(?:{pattern})(?!\w)", rule, re.IGNORECASE)), ())
    named = files or re.search(
        r"\b(?:files?|dateien|datei|anything|nothing|stuff|things?|nichts|scratch|clutter)\b", rule, re.IGNORECASE
    )
    return Check(CheckKind.PATH, paths=(".",), files=files, new=New.ONLY) if named and _NEGATED.search(rule) else None


def _unknown_files(rule: str, tokens: Sequence[_Token]) -> Check | None:
    """Compile a rule on files of no known kind: their names, or where nothing new may go."""
    style = _style_of_names(rule)
    if style and re.search(r"\b(?:file ?names?|filenames?|dateinamen)\b", rule, re.IGNORECASE):
        return Check(CheckKind.PATH, paths=("*",), unless=(style,), new=New.ONLY)
    if not _NEGATED.search(rule):
        return None
    if re.search(r"\bbarrels?\b", rule, re.IGNORECASE):
        return Check(CheckKind.PATH, paths=("index.ts", "index.tsx", "index.js"), new=New.ONLY)
    return _no_new_files(rule, tokens) or _not_there(rule, tokens)


def _known_files(rule: str, tokens: Sequence[_Token], files: tuple[str, ...], end: int) -> Check | None:
    """Compile a rule on a known kind of files: where they go, where they don't, and how they are named."""
    style = _style_of_names(rule)
    if style and files[0].startswith("[A-Z]*"):
        files = _few([f"*{pattern.removeprefix('[A-Z]*')}" for pattern in files])
    allowed, forbidden = _places_of_files(rule, tokens, end)
    if allowed:
        # Some documents belong where they are.
        more = ("README.md", "CHANGELOG.md", "CLAUDE.md", "CONTRIBUTING.md") if files == ("*.md",) else ()
        check = Check(CheckKind.PATH, files=files, unless=_few([*allowed, *more]), new=New.ONLY)
        if re.search(
            r"\b(?:ending|extension|suffix|endung)\b", rule, re.IGNORECASE
        ):  # A file without any ending has a wrong one.
            check = replace(check, also=(Check(CheckKind.PATH, paths=_few(allowed), unless=("*.*",), new=New.ONLY),))
        return check
    if forbidden:
        return Check(CheckKind.PATH, paths=_few(forbidden), files=files, new=New.ONLY)
    if files == _TEST_FILES and _BESIDE.search(rule):
        return Check(CheckKind.PATH, paths=("tests/", "test/", "__tests__/", "*/__tests__/*", "spec/"), files=files, new=New.ONLY)
    return Check(CheckKind.PATH, paths=("*",), files=files, unless=(style,), new=New.ONLY) if style else None


def _not_there(rule: str, tokens: Sequence[_Token]) -> Check | None:
    """Compile "new endpoints go in api/v2, not in api/v1": nothing new in the place that is refused."""
    if not re.search(r"\b(?:new|neue\w?|goes?|put|place|belongs?|live|kommen|gehör\w{1,3}|put)\b", rule, re.IGNORECASE):
        return None
    allowed, forbidden = _places_of_files(rule, tokens, 0)
    return Check(CheckKind.PATH, paths=_few(forbidden), new=New.ONLY) if allowed and forbidden else None


_BESIDE = re.compile(r"\b(?:next to|beside|alongside|co-?located?|same (?:folder|directory) as|neben)\b", re.IGNORECASE)
_BEFORE_KIND = (
    r"(?:\W|\b(?:please|always|all|any|new|every|each|put|place|create|add|save|store|keep|write|bitte|alle|neue|neuen|immer|lege|leg|unit|integration|the|our|only|no|never|don't|do not|more"
    r"|react|vue|angular|python|typescript|javascript|go|rust|java|kotlin|database|db|custom|shared|reusable|static|alembic|rails|django|generated|extra|own|design|api|app|helper|one-off|throwaway"
    r"|in|for|to|a|an|some|you|must|should|los|las|les|il|gli|le|la|el|os|as|i|de|kein\w{0,2}|nicht|keine)\b){0,10}"
)


def _kind_of_files(rule: str) -> tuple[tuple[str, ...], int] | None:
    """Return the patterns of the kind of files that a rule begins with, and where its name ends."""
    found = [
        (match.end(), files)
        for pattern, files in _FILE_KINDS
        if (match := re.match(rf"{_BEFORE_KIND}(?:{pattern})(?![\w/.])", rule, re.IGNORECASE))
    ]
    if not found:
        return None
    end, files = max(found, key=lambda pair: pair[0])
    return files, end


_TO_PLACE = re.compile(
    r"\b(?:in|into|under|to|unter|nach|inside|within|below|at|inside of|im|ins|from|outside|außerhalb)\s(?:the\s|den\s|dem\s|der\s|our\s|folder\s|directory\s|ordner\s){0,2}[`'\"]?$",
    re.IGNORECASE,
)
_PLACED = re.compile(r"[`'\"]?\s(?:folder\s|directory\s)?(?:to|in|under)\b", re.IGNORECASE)


def _places_of_files(rule: str, tokens: Sequence[_Token], start: int) -> tuple[list[str], list[str]]:
    """Return the folders where a rule wants files, and those where it doesn't."""
    allowed: list[str] = []
    forbidden: list[str] = []
    for thing in _named(rule, tokens):
        text = thing.text.removesuffix("*").removesuffix("*")
        if thing.what is not _What.PATH or "/" not in text or "*" in text or re.search(r"\.\w{1,5}$", text) or thing.at < start:
            continue
        at = thing.at + (rule[thing.at] in "`'\"")
        end = at + len(thing.text.rstrip("/"))
        if not (_TO_PLACE.search(rule[:at]) or _PLACED.match(rule[end:].lstrip("/"))):
            continue
        first = max((match.end() for match in _SEGMENTS.finditer(rule, 0, at)), default=0)
        last = next((match.start() for match in _SEGMENTS.finditer(rule, end)), len(rule))
        refused = _NEGATED.search(rule[first:last]) or _INSTEAD.search(rule[first:at])
        outside = re.search(r"\b(?:outside|außerhalb)\b", rule[first:at], re.IGNORECASE)
        (forbidden if bool(refused) is not bool(outside) else allowed).append(text)
    return allowed, [path for path in forbidden if path not in allowed]


_SEGMENTS = re.compile(
    r"[,;:!—()]|\.(?=\s|$)|(?=\b(?:not|never|instead of|rather than|statt|anstatt|nicht|but|sondern|and not|und nicht)\s)",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"^(?:instead of|rather than|statt|anstatt)\b", re.IGNORECASE)


def _name_patterns(rule: str, tokens: Sequence[_Token]) -> Check | None:
    """Compile "name tests *.spec.ts, not *.test.ts"."""
    named = [thing for thing in _named(rule, tokens) if thing.what is _What.PATH and "*" in thing.text and "/" not in thing.text]
    if len(named) < 2 or not re.search(
        r"\b(?:nam\w{1,3}|call\w{0,2}|suffix|end\w{0,3}|tests?|files?|heiß\w{1,2}|nenn\w{1,2})\b", rule, re.IGNORECASE
    ):
        return None
    cues = _cues(rule, tokens)
    _assign(rule, named, cues)
    bad = [thing.text for thing in named if thing.sense is _Sense.FORBID]
    return Check(CheckKind.PATH, paths=_few(bad), new=New.ONLY) if bad and len(bad) < len(named) else None


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
    """Compile "db/migrations is append-only": existing files must not change, but new ones may be added."""
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
    r"\b(?:before|prior to|ahead of|bevor|vor|ehe|vorher|first|preced\w+|until|erst|without|ohne|unless|es sei denn"
    r"|(?:only|nur) (?:after|once|when|if|nach|wenn)|then|dann|require[sd]?|needs?|after|nach)\b",
    re.IGNORECASE,
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
    if not target or re.search(r"\b(?:use|prefer|nutze|nimm|verwende)\b", step, re.IGNORECASE):
        return None
    action = _command_in(target)
    action = action if " " in action else _action(target) or action
    if not action:
        return None
    checks = [
        Check(CheckKind.COMPANION, words=(action,), first=first)
        for first in _steps(step, action)
        if first and action not in first
    ]
    return replace(checks[0], also=tuple(checks[1 : MAX_ALSO + 1])) if checks else None


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
    files = _languages(f"{rest} {what}")
    checks = [Check(CheckKind.COMPANION, words=("end",), first=first, files=files, paths=paths) for first in _steps(rest, "")]
    return replace(checks[0], also=tuple(checks[1:])) if checks else None


def _parts(rule: str) -> tuple[str, str]:
    """Return the parts of the rule that mention the command and the required earlier step."""
    text = _spoken(rule)
    without = re.search(
        r"(?P<target>.{0,120}?)\b(?:without|ohne|until|bis|unless|before|bevor)\b(?P<step>.{1,200})",
        text,
        re.IGNORECASE | re.DOTALL,
    )
    if without and _WITHOUT.search(text) and not re.search(r"forget|vergiss|vergessen", text, re.IGNORECASE):
        return without["target"], without["step"]
    later = re.search(
        r"(?P<target>.{1,120}?)\b(?:only|nur|erst)\s(?:\w{1,8}\s)?(?:after|once|when|if|nach(?:dem)?|wenn)\b(?P<step>.{1,160})",
        text,
        re.IGNORECASE | re.DOTALL,
    )
    if later and (_command_in(later["target"]) or _action(later["target"])):
        return later["target"], later["step"]
    found = _BEFORE_PART.search(text)
    if found is None:
        first = re.search(
            r"(?P<step>.{1,120})\bfirst\b[,;]?(?P<target>.{1,80})|\bfirst\b,?\s(?P<step3>.{1,100}?),?\s?\b(?:and )?(?:then|only then|after that)\b(?P<target3>.{1,60})|\b(?:erst|zuerst)\b(?P<step2>.{1,100}),?\s?\bdann\b(?P<target2>.{1,60})",
            text,
            re.IGNORECASE | re.DOTALL,
        )
        if first is None:
            return "", ""
        parts = first.groupdict(default="")
        return (
            parts["target"] + parts["target2"] + parts["target3"],
            parts["step"] + parts["step2"] + parts["step3"],
        )
    rest = found["rest"]
    cut = re.search(r",|—|:|\b(?:run|always|must|make sure|execute|immer|muss|erst)\b|`", rest)
    target, after = (rest[: cut.start()], rest[cut.start() :]) if cut else (rest, "")
    if not _action(target) and not _command_in(target):
        target, after = rest, ""
    if found.start() < 3 and not after:
        named = [thing for thing in _named(rest, _tokens(rest)) if thing.what is _What.COMMAND]
        if len(named) > 1:  # "Vor jedem `make deploy` muss `make check` laufen"
            return rest[: named[1].at], rest[named[1].at :]
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


_RUNS_SCRIPT = re.compile(r"\b(?:run|running|execute|call|start|ausführ\w{1,3}|lauf\w{1,3}|through|via|with)\b", re.IGNORECASE)


def _steps(text: str, action: str) -> list[tuple[str, ...]]:
    """Return the steps that a text names, each with the commands of which one is enough."""
    tokens = _tokens(text)
    named = _named(text, tokens)
    commands = [thing for thing in named if thing.what is _What.COMMAND and thing.text != action and "=" not in thing.text]
    if not commands and _RUNS_SCRIPT.search(text):
        commands = [
            thing
            for thing in named
            if thing.what is _What.PATH and re.fullmatch(r"\.?[\w/-]{2,60}(?:\.(?:sh|py|js|ts|rb|pl))?", thing.text)
        ]
    if commands:
        return _in_groups(text, commands[:3])
    known = [
        token.text
        for token in tokens
        if token.quoted and token.text != action and re.fullmatch(r"[\w./-]+(?: [\w./:=-]+){0,5}", token.text)
    ]
    if known:
        return [_few(known[:1])]
    steps: list[tuple[str, ...]] = []
    for pattern, names in v.STEPS:
        if re.search(rf"(?<![\w-])(?:{pattern})", text, re.IGNORECASE):
            steps.append(names[:MAX_ENTRIES])
    if len(steps) > 1 and not re.search(r"\b(?:and|und|both)\b|&|\+|,", text, re.IGNORECASE):
        return steps[:1]
    return steps[:3]


def _in_groups(text: str, things: Sequence[_Named]) -> list[tuple[str, ...]]:
    """Group commands of which one is enough, as in "make check or make lint". After a command of its own sentence, others explain."""
    groups: list[list[str]] = [[things[0].text]]
    for last, thing in itertools.pairwise(things):
        between = _after(text[: thing.at], last).strip("`'\" ")
        if re.fullmatch(r"(?:or|oder|/|,? or)", between, re.IGNORECASE):
            groups[-1].append(thing.text)
        elif re.fullmatch(r"(?:and|und|&|\+|,|, and|&&)", between, re.IGNORECASE):
            groups.append([thing.text])
        else:
            break
    return [tuple(group) for group in groups]


# Required flags of a command

_SIGN = re.compile(r"\b(?:sign(?:ed|ing)?\b(?![- ]?off)|signier\w*|gpg)", re.IGNORECASE)
_SIGN_OFF = re.compile(r"\bsign(?:ed|ing)?[- ]?off\b|\bdco\b", re.IGNORECASE)
_ALWAYS = re.compile(
    r"\b(?:always|every|each|all|must|immer|jede\w*|alle|only|nur|needs?|require[sd]?|have to|stets|muss|müssen)\b", re.IGNORECASE
)
_NEGATED = re.compile(
    r"(?<![\w-])(?:never|don't|do not|no|nie|niemals|kein\w*|nicht|not|stop|avoid|forbidden|mustn't|must not|can't|isn't|aren't|nobody|nothing)(?![\w-])",
    re.IGNORECASE,
)


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
    if not flags:
        flags = [word for thing in named if thing.what is _What.COMMAND for word in thing.text.split() if word.startswith("-")]
    flags += [
        thing.text for thing in named if _ENV.fullmatch(thing.text) and not any(flag.endswith(thing.text) for flag in flags)
    ]
    without = re.search(
        r"\b(?:without|ohne|sans|sin)\b|\b(?:never|don't|do not|nie|nicht)\b[^.;]{0,20}\b(?:forget|omit|skip|leave (?:out|off|away)|drop|miss|vergessen|vergiss|weglassen)\b",
        rule,
        re.IGNORECASE,
    )
    if (
        not flags
        or (_NEGATED.search(rule) and not without)
        or not (_ALWAYS.search(rule) or without or re.search(r"\buse\b|\bwith\b|\bmit\b|\bpass\b|\bset\b", rule, re.IGNORECASE))
    ):
        return None
    commands = [thing.text for thing in named if thing.what is _What.COMMAND and "=" not in thing.text]
    base = next(iter(commands), "") or _action(rule)
    words = _few([" ".join(word for word in base.split() if not word.startswith("-"))] if base else [])
    if not words and all("=" in flag and not flag.startswith("-") for flag in flags):
        words = next((names for pattern, names in v.STEPS if re.search(rf"(?<![\w-])(?:{pattern})", rule, re.IGNORECASE)), ())
    if not words:
        return None
    checks = [Check(CheckKind.COMMAND, words=words[:MAX_ENTRIES], unless=group) for group in _alternative_flags(rule, flags)]
    return replace(checks[0], also=tuple(checks[1:MAX_ALSO]))


def _alternative_flags(rule: str, flags: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the required flags. Of those in one group, as in "--dry-run or -n", one is enough."""
    groups: list[list[str]] = []
    end = -1
    for flag in dict.fromkeys(flags):
        at = rule.find(flag, max(end, 0))
        between = rule[end:at] if 0 <= end <= at else ""
        joined = re.fullmatch(r"[`'\"\s]{0,3}(?:or|/|oder|\||\(|bzw\.?|resp\.?|,? or)[`'\"\s]{0,3}", between, re.IGNORECASE)
        if groups and (joined or not re.search(r"\b(?:and|und|plus|both|&|,)", between, re.IGNORECASE)):
            groups[-1].append(flag)
        else:
            groups.append([flag])
        end = at + len(flag) if at >= 0 else end
    return [tuple(group) for group in groups]


_NO_VALUES = frozenset("flag option switch parameter argument arg tag name value set env".split())


def _with_value(rule: str, flag: _Named) -> str:
    """Return the flag with the value given in the rule, as in `--namespace shop-dev`. A plain word may not be a value."""
    after = re.match(
        rf"[`'\"]?{re.escape(flag.text)}\s([a-z\d]{{1,20}}(?:[-_.\d][a-z\d]{{1,20}}){{1,4}}|[A-Z][A-Z\d_]{{1,40}}=[\w./:-]{{1,40}}|\d{{1,8}}|[a-z]{{2,20}}(?=[`'\"]?\s*(?:$|[.,;)]|or\b)))(?![\w-])",
        rule[flag.at :],
    )
    return f"{flag.text} {after[1]}" if after and after[1].lower() not in _STOP_WORDS | _NO_VALUES else flag.text


# Commit messages

_MESSAGE = re.compile(
    r"\bcommit[- ]?(?:messages?|msgs?|subjects?|titles?|types?|nachrichten?|botschaften?|texte?|betreffs?|typen)\b|\bmessages? of (?:a |each |every )?commits?\b|\bcommits?\b(?=.{0,60}\b(?:conventional|prefix\w*|ticket\w*|issue|jira|begin|start)\b)"
    r"|\bconventional commits?\b|\b(?:messages?|nachrichten?)\b(?=.{0,60}\bcommits?\b)|\bcommits?\b(?=.{0,80}\b(?:co-?authored|attribution|trailer|mention|emoji))|\bmention\w{0,3}\b.{0,60}\bcommits?\b"
    r"|(?:co-?authored-?by|attribution|trailers?|emojis?)\b.{0,80}\bcommits?\b|\bsubject lines?\b",
    re.IGNORECASE,
)  # fmt: skip
_TICKET = re.compile(r"\b([A-Z][A-Z0-9]{1,9})-(?:\d{1,7}|[NXn#]{1,4})\b|(?<!\w)(#\d{1,6})\b")
_TICKET_WORD = re.compile(r"\b(?:ticket|issue|jira|linear|task|story|vorgang\w*|ticket-?nummer)\b", re.IGNORECASE)
_LENGTH = re.compile(
    r"\b(\d{2,3})\s(?:chars?|characters?|zeichen|caract\w{1,8}|caratteri|znak\w{1,3}|tekens|字|文字|символ\w{0,3})\b|\b(?:at most|max(?:imum|imal)?\.?(?: of)?|no (?:more|longer) than|under|below|up to|höchstens|unter|nicht länger als|stay within|within|longer than|over|exceed)\s(\d{2,3})\b",
    re.IGNORECASE,
)


_CONTAINED = re.compile(
    r"\b(?:trailers?|contain\w{0,2}|includ\w{1,3}|ends?|footer|enthalten|enden)\b[^`\"]{0,60}(?:`([^`]{3,100})`|\"([^\"]{3,100})\")",
    re.IGNORECASE,
)


_COMMITS = re.compile(
    r"\bcommits?\b|\bcommit[- ]?(?:messages?|msgs?|subjects?|titles?|nachrichten?|botschaften?|texte?|betreffs?)\b|\bsubject lines?\b",
    re.IGNORECASE,
)
_NOT_ON_MESSAGES = re.compile(
    r"\b(?:before|bevor|vor|without|ohne|until|after|nach)\b.{0,25}\bcommit|\bcommit\w*\s(?:to|on|auf|nach|into|directly|\S{1,40}/|secrets?|files?|the \w+ file|anything|generated|large|binar\w+|build)\b"
    r"|\bsign|\bgit add\b",
    re.IGNORECASE,
)


def _message(rule: str) -> Check | None:
    found: list[Check] = []
    if _COMMITS.search(rule) and not _NOT_ON_MESSAGES.search(rule):
        found = [Check(CheckKind.MESSAGE, form=form, example=example) for form, example in _styles_of_message(rule)]
    if (_MESSAGE.search(rule) or _WIP.search(rule)) and (check := _one_form(rule)) and not (found and check.form is None):
        found.insert(0, check)
    found = list(dict.fromkeys(found))
    return replace(found[0], also=tuple(found[1 : MAX_ALSO + 1])) if found else None


_WIP = re.compile(r"\b(?:wip|fixup|tmp)\b.{0,30}\bcommits?\b|\bcommits?\b.{0,60}\b(?:wip|fixup|tmp)\b", re.IGNORECASE)
_TRAILER_NAME = re.compile(r"\b([A-Z][a-z]{1,20}(?:-[a-z]{1,20}){0,4})(?=:?[`'\"]?[^.;]{0,25}\b(?:trailer|footer|line|zeile)\b)")


def _one_form(rule: str) -> Check | None:
    if _NEGATED.search(rule) and (check := _forbidden_in_message(rule)):
        return check
    if not _NEGATED.search(rule) and (found := _CONTAINED.search(rule)):
        example = (found[1] or found[2]).strip()
        return Check(CheckKind.MESSAGE, form=Form.CONTAINS, example=re.sub(r"(?<=-)(?:\d+|[NXn#]+|<\w+>)$", "", example))
    names = [name for name in _TRAILER_NAME.findall(rule) if "-" in name or f"{name}:" in rule]
    if names and not _NEGATED.search(rule):
        return Check(CheckKind.MESSAGE, form=Form.CONTAINS, example=f"{names[0]}:")
    form = _form_of_message(rule)
    return Check(CheckKind.MESSAGE, form=form[0], example=form[1]) if form else None


_LANGUAGE_NAMES: Mapping[str, str] = {
    name: english
    for english, names in {
        "english": "english englisch englische englischen englischer anglais anglaise anglaises inglés ingles inglese inglês engels angielsku engelska engelsk английском английски ingilizce",
        "german": "german deutsch deutsche deutschen deutscher allemand alemán aleman tedesco alemão duits niemiecku tyska tysk немецком almanca",
        "french": "french französisch französische français francais francés frances francese francês frans francusku franska fransk французском fransızca",
        "spanish": "spanish spanisch spanische espagnol español espanol spagnolo espanhol spaans hiszpańsku spanska spansk испанском",
        "italian": "italian italienisch italien italiano italiaans włosku italienska",
        "portuguese": "portuguese portugiesisch portugais portugués português portugues portoghese portugees",
        "dutch": "dutch niederländisch néerlandais holandés nederlands olandese",
        "polish": "polish polnisch polonais polaco polsku polacco polska",
        "russian": "russian russisch russe ruso russo русском rosyjsku ryska",
        "japanese": "japanese japanisch japonais japonés giapponese japonês japans японском", "chinese": "chinese chinesisch chinois chino cinese chinês mandarin китайском",
        "korean": "korean koreanisch coréen coreano",
        "swedish": "swedish schwedisch svenska suédois sueco svedese", "danish": "danish dänisch dansk danois danés", "norwegian": "norwegian norwegisch norsk norvégien noruego",
        "turkish": "turkish türkisch türkçe turc turco", "czech": "czech tschechisch česky tchèque checo", "finnish": "finnish finnisch suomeksi finnois",
        "ukrainian": "ukrainian ukrainisch українською",
    }.items()
    for name in names.split()
}  # fmt: skip
_NAMES_LANGUAGE = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(_LANGUAGE_NAMES, key=len, reverse=True))})(?!\w)", re.IGNORECASE)
_NOT_BEFORE = re.compile(
    r"\b(?:not|never|no|kein\w{0,2}|nicht|nie|don't|do not|instead of|rather than|avoid|forbidden)\b[^,;.]{0,40}$", re.IGNORECASE
)
# Each form of messages with the words that ask for it, and whether a negation before them asks for the opposite.
_NEGATION = r"(?:no|not|never|without|don't|do not|kein\w{0,2}|ohne|nicht|nie|avoid|drop|omit)"
_STYLES: tuple[tuple[str, Form], ...] = (
    (rf"\b{_NEGATION}\b[^.;]{{0,20}}\bone[- ]?lin\w{{1,5}}|(?:\b(?:need|must|should|requir|includ|with|mit|always|brauch|have|want|write|add|explain|schreib|immer|contain|deserve|plus|and)\w{{0,5}}\b[^.;,]{{0,40}})"
     r"\b(?:body|bod(?:y|ies)|description|explanation|beschreibung|begründung|erklärung|corps|cuerpo|corpo|second paragraph|why)\b", Form.BODY),
    (rf"\b{_NEGATION}\s(?:\w{{1,12}}\s){{0,3}}(?:body|bodies|description|beschreibung|corps|cuerpo|corpo)\b|\b(?:single|one)[- ]line(?:rs?)?\b|\beinzeil\w{{1,4}}|\bonly (?:a|the|one) (?:subject|title)\b|\b(?:subject|title|betreff) (?:line )?only\b",
     Form.NO_BODY),
    (rf"\b{_NEGATION}\b[^.;]{{0,40}}\b(?:period|full[- ]?stop|dot|punkt|punto|point|ponto|punt)s?\b", Form.NO_PERIOD),
    (r"\blower[- ]?case\w{0,3}\b|\bkleingeschrieben|\bkleinbuchstabe\w{0,2}|\bklein (?:an|be|ge|schreib)\w{0,10}|\bmin[uú]scul\w{1,3}", Form.LOWER),
    (r"\bcapitali[sz]\w{1,4}|\bcapital letters?\b|\bupper[- ]?case|\bgroßgeschrieben|\bgroßbuchstabe\w{0,2}|\bmaj[uú]scul\w{1,3}|\bmay[uú]scul\w{1,3}", Form.UPPER),
    (r"\bimp[eé]rati[vf]\w{0,3}\b|\bpresent tense\b|\bpräsens\b|\bprésent\b", Form.IMPERATIVE),
    (rf"\b{_NEGATION}\b[^.;]{{0,30}}\b(?:past tense|vergangenheit\w{{0,6}})\b", Form.IMPERATIVE),
    (r"\b(?:start|begin|prefix|lead|open|beginn|anfang)\w{0,4}\b[^.;]{0,30}\b(?:gitmoji|emoji)s?\b|\bgitmojis?\b", Form.EMOJI),
)  # fmt: skip
_OPPOSITE = {Form.UPPER: Form.LOWER, Form.LOWER: Form.UPPER, Form.EMOJI: Form.NO_EMOJI}


def _styles_of_message(rule: str) -> Iterator[tuple[Form, str]]:
    """Yield the forms that a rule on commits asks for by name: language, body, case, tense and dots."""
    seen: set[Form] = set()
    for pattern, form in _STYLES:
        found = re.search(pattern, rule, re.IGNORECASE)
        if found is None:
            continue
        asked = _OPPOSITE.get(form, form) if form in _OPPOSITE and _NOT_BEFORE.search(rule[: found.start()]) else form
        if (
            asked not in seen
            and not (asked is Form.NO_BODY and Form.BODY in seen)
            and not (asked is Form.UPPER and Form.LOWER in seen)
        ):
            seen.add(asked)
            yield asked, ""
    if re.search(
        r"\b(?:in|auf|en|em|op|på|po|на|use|write|written|always|immer|only|nur|no|kein\w{0,2}|not|nicht)\b|:",
        rule,
        re.IGNORECASE,
    ):
        yield from _languages_of_message(rule)


def _languages_of_message(rule: str) -> Iterator[tuple[Form, str]]:
    refused: list[str] = []
    for match in _NAMES_LANGUAGE.finditer(rule):
        name = _LANGUAGE_NAMES[match[0].lower()]
        if not _NOT_BEFORE.search(rule[: match.start()]):
            yield Form.LANGUAGE, name
            return
        refused.append(name)
    yield from ((Form.NOT_LANGUAGE, name) for name in refused)


def _forbidden_in_message(rule: str) -> Check | None:
    low = rule.lower()
    if "co-author" in low or "coauthor" in low:
        return Check(CheckKind.MESSAGE, words=("co-authored-by",))
    if re.search(r"\bemojis?\b", low):
        return Check(CheckKind.MESSAGE, form=Form.NO_EMOJI)
    if found := re.search(r"\b(wip|fixup|tmp|temp)\b", low):
        return Check(
            CheckKind.MESSAGE, words=_few([found[1], *(thing.lower() for thing in _quoted(rule) if 1 < len(thing) <= 40)])
        )
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
        return Form.LENGTH, found[1] or found[2]
    if found := _TICKET.search(rule):
        first = re.search(r"start|begin|prefix|lead|first|front|anfang|vorn|präfix|voran", low) or not _INSIDE.search(low)
        return Form.TICKET if first else Form.TICKET_IN, f"{found[1]}-1" if re.search(r"-[NXn#]+$", found[0]) else found[0]
    if prefixes := _prefixes_of_message(rule):
        return Form.PREFIX, ALTERNATIVES.join(prefixes)[:MAX_ENTRY_CHARS]
    if types := _TYPES_OF_MESSAGE.search(rule):
        return Form.PREFIX, ALTERNATIVES.join(
            re.findall(r"[a-z]{2,12}", re.sub(r"\b(?:and|or|und|oder|only|nur)\b", " ", types["list"]))
        )
    if _TICKET_WORD.search(rule) and re.search(r"start|begin|prefix|lead|first|anfang|vorn", low):
        return Form.TICKET, "ABC-1"
    if re.search(
        r"\b(?:ticket|issue|jira|story|task|vorgang|bug)\w{0,3}[- ]?(?:number|nummer|id|key|reference|ref|link)?s?\b", low
    ) and re.search(
        r"\b(?:referenc\w{1,3}|contain\w{0,3}|includ\w{1,3}|mention\w{0,3}|enthalten|enthält|erwähn\w{0,3}|need\w{0,1}|must have|require\w{0,1}|link\w{0,2}|carry)\b",
        low,
    ):
        return Form.TICKET_IN, ""
    return None


_BEGINS = re.compile(
    r"\b(?:start|starts|begin|begins|prefix\w*|beginnen|beginnt|anfangen|fangen|lead|open)\b(?P<rest>.{1,120})", re.IGNORECASE
)
_FOR_EXAMPLE = re.compile(
    r"\b(?:like|such as|e\.g\.?|for example|for instance|wie|z\.\s?b\.?|etc|example)\b|…|\.\.\.", re.IGNORECASE
)
_TYPES_OF_MESSAGE = re.compile(
    r"(?P<list>(?:[`'\"]?(?:feat|fix|chore|docs|refactor|test|perf|ci|build|style|revert)[`'\"]?:?(?:\s?(?:,|/|\||and|or|und|oder)\s?(?:and |or )?)?){2,10})",
    re.IGNORECASE,
)


def _prefixes_of_message(rule: str) -> list[str]:
    """Return the texts with which messages may begin. From an example in brackets follows only that there is one in brackets."""
    found = _BEGINS.search(rule)
    if found is None:
        return []
    rest = found["rest"]
    brackets = re.findall(r"\[[^\]\n]{1,30}\]", rest)
    if brackets and _FOR_EXAMPLE.search(rest) and len(brackets) < 3:
        return ["["]
    texts = [
        next(group for group in groups if group)
        for groups in re.findall(r"`([^`]{1,40})`|\"([^\"]{1,40})\"|'([^']{1,40})'", rest)
    ]
    texts = texts or brackets or re.findall(r"(?<![\w/:])[a-z][\w-]{1,20}:(?![\w/])", rest)
    return (
        []
        if _FOR_EXAMPLE.search(rest) and not brackets and len(texts) < 2 and ":" in "".join(texts)
        else [text.strip() for text in texts]
    )


def _quoted(rule: str) -> Iterator[str]:
    return (token.text for token in _tokens(rule) if token.quoted)
