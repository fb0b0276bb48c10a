"""Find what a rule mentions: commands, paths, code, libraries and flags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from memoryd.guard import vocabulary as v
from memoryd.guard.code import is_folder
from memoryd.guard.rules.words import FORBID, NEW_CLAUSE, STOP_WORDS, WANT, WITHIN, code_languages

_TOKEN = re.compile(
    r"`([^`\n]{1,120})`|\"([^\"\n]{1,120})\"|(?<!\w)'([^'\n]{1,120})'(?!\w)|((?:[^\s`\"(),;:!?—]|(?<=\w):(?=[\w/])|(?<=\w)::(?=\w))+(?:\(\))?[^\s`\"(),;:!?—]*|[,;:!?—()])"
)
_FLAG = re.compile(r"--?[A-Za-z][\w-]{0,40}(?:\.[\w-]{1,30}){0,4}(?:=\S{1,40})?")
_SENTENCE_END = re.compile(r"[.!?]+$")


class Sense(Enum):
    """What a rule says on an object."""

    FORBID = "forbid"
    WANT = "want"


class Kind(Enum):
    """What an object is."""

    COMMAND = "command"
    PATH = "path"
    CODE = "code"
    CALL = "call"
    LIBRARY = "library"
    FLAG = "flag"
    STATEMENT = "statement"  # of a database
    UNKNOWN = "unknown"  # in code quotes, but of unknown kind


@dataclass(frozen=True, slots=True)
class Token:
    """A word, quoted text or punctuation mark of a rule, with its position."""

    text: str
    at: int
    quoted: bool = False
    boundary: bool = False

    @property
    def low(self) -> str:
        """Return the text in lower case."""
        return self.text.lower()


@dataclass(slots=True)
class Object:
    """An object mentioned in the rule: its text, its position, and whether the rule forbids or wants it."""

    kind: Kind
    text: str
    at: int
    clause: int
    sense: Sense | None = None
    within: bool = False  # Follows "in" or "under", so it is a location rather than the object.


def _unmarked(text: str) -> str:
    """Return a word without the signs of emphasis around it. The underscores of `__tests__` belong to the name."""
    if re.fullmatch(r"__\w{2,40}__/?|[A-Za-z]\w{0,20}\.[A-Z]\w{1,30}\*", text):  # `fmt.Print*`
        return text
    if "." in text and text.startswith(("*", "_")) and text[-1] not in "*_":
        return text.strip("'")
    return text.strip("'*_") or text


def _parts_of(text: str, parts: Sequence[str], start: int) -> list[Token]:
    """Return the names that are joined with slashes, each with its position."""
    out: list[Token] = []
    at = 0
    for part in parts:
        out.append(Token(text[at : at + len(part)] if part.startswith("-") else part, start + at))
        at += len(part) + 1
    return out


def tokenize(rule: str) -> list[Token]:
    """Split a rule into words, quoted texts and punctuation marks."""
    out: list[Token] = []
    for match in _TOKEN.finditer(rule):
        quoted = next((group for group in match.groups()[:3] if group), None)
        if quoted is not None:
            out.append(Token(quoted.strip(), match.start(), quoted=True))
            continue
        text = match[4]
        if text in ",;:!?—()":
            out.append(Token(text, match.start(), boundary=True))
            continue
        parts = _SENTENCE_END.sub("", text).lower().split("/")
        if len(parts) > 1 and (
            all(part in v.PROGRAMS or part in v.LIBRARIES or part in ("head", "tail", "less", "more") for part in parts)
            or all(part in v.LANGUAGES for part in parts)
            or all(_FLAG.fullmatch(part) for part in parts)
        ):  # "npm/yarn" and "--yes/-y"
            out += _parts_of(text, parts, match.start())
            continue
        bare = _unmarked(_SENTENCE_END.sub("", text))
        if re.fullmatch(r"\*?\.\w{1,10}-", text):
            text = bare = text[:-1]  # ".cpp- oder .hpp-Dateien"
        if text.startswith("*.") or "/*" in text or "/" in text and bare and text.rstrip(".!?").endswith("*"):
            bare = _SENTENCE_END.sub("", text)
        out.append(Token(bare or text, match.start()))
        if bare and len(bare) < len(text) and text.endswith((".", "!", "?")):
            out.append(Token(".", match.end(), boundary=True))
    return out


_FILE = re.compile(
    r"(?:[\w@.*~-]{0,60}/)+[\w@.*-]{0,60}|\.[a-zA-Z][\w.-]{1,40}|\*\.\w{1,15}(?:\.\w{1,10}){0,3}"
    r"|[\w*-]{1,60}(?:\.[\w-]{1,20}){0,3}\.(?:lock|json|ya?ml|toml|md|txt|ts|tsx|js|jsx|mjs|py|go|rs|java|sql|env|cfg|ini|csv|xml|html|css|scss|sh|proto|pb|snap|key|pem|php|rb|kt|swift|tf|graphql|gql|prisma|ipynb|dart|vue|svelte|cs|cpp|lockb|svg|png|pdf|tfvars|tfstate|gradle|mod|sum|conf)"
    r"|(?:Dockerfile|Makefile|Procfile|Gemfile|Jenkinsfile)\.[\w.-]{1,30}|(?:CODEOWNERS|Vagrantfile|Brewfile|Justfile|Rakefile|Podfile|Fastfile|Caddyfile|Tiltfile|NOTICE|Dockerfile|Makefile|Jenkinsfile|Gemfile|Procfile|LICENSE|CHANGELOG|Cargo\.lock|go\.sum|Pipfile)\b"
)
NOT_A_FILE = re.compile(
    r"(?:and|or|und|oder|with|w|his|he|either|input|output|read|I|A|CI|TCP|client|km|n|yes|on)/\w{1,12}$|(?:origin|upstream)/|https?:|^/$|^\d+/\d+$|^node\.js$|^next\.js$|^vue\.js$",
    re.IGNORECASE,
)
_CALL = re.compile(r"([A-Za-z_$][\w.$!]{0,60})\((?:[^()]{0,30})\)$")
ASSIGNMENT = re.compile(r"[A-Z][A-Z\d_]{1,40}=[\w./:-]{1,60}")
# A name with two dots, or one dot and a port. A package such as `a.b.c` has neither a hyphen nor a domain at its end.
_HOST = re.compile(
    r"(?:[a-z\d](?:[a-z\d-]{0,40})\.){1,5}(?:internal|local|com|net|org|io|dev|cloud|lan|corp|de|eu|uk|fr|co|app|example|test|localdomain)(?::\d{2,5})?|\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?"
)


def _written_in_capitals(tokens: Sequence[Token], at: int) -> tuple[Kind, str, int] | None:
    """Return the statement of a database or the variable that is written here in capitals."""
    if statement := _statement(tokens, at):
        return Kind.STATEMENT, statement, len(statement.split())
    if tokens[at].text in _INSTRUCTIONS and any(token.low.startswith("dockerfile") for token in tokens):
        return Kind.CODE, tokens[at].text, 1
    if at and tokens[at - 1].low in _SETS and _VARIABLE.fullmatch(tokens[at].text):
        return Kind.COMMAND, f"{tokens[at].text}=", 1
    return None


_INSTRUCTIONS = frozenset("ADD COPY USER ENV ARG RUN EXPOSE ENTRYPOINT CMD VOLUME ONBUILD MAINTAINER".split())  # of a Dockerfile
_VARIABLE = re.compile(r"[A-Z][A-Z\d]{0,30}(?:_[A-Z\d]{1,30}){1,6}|PATH|PYTHONPATH|TZ|LANG|DEBUG|HOME")
_SETS = frozenset("set export setting exporting unset override overriding setze setzen exportiere define".split())


def _statement(tokens: Sequence[Token], at: int) -> str:
    """Return the statement of a database that is written here in capitals, or ""."""
    words = [token.text for token in tokens[at : at + 2]]
    return next((found for found in (" ".join(words), words[0]) if found in v.STATEMENTS), "")


_FOLDER_WORD = re.compile(r"(?:(?:folder|dir|tree)s?|director(?:y|ies)|ordner|verzeichnis(?:se)?|package|module)$", re.IGNORECASE)
# Libraries whose names are ordinary words. After an article, they are not libraries, as in "at the moment".
_ORDINARY = frozenset(
    "moment request requests arrow express mock emotion got chalk threading bootstrap celery flask uuid async colors faker glob cors sharp three commander"
    " immutable ws pg angular ember backbone passport helmet bottle tornado pyramid pony attrs click fire responses rich six future invoke fabric mechanize"
    " dask motor pillow torch mako twisted toml log cli wire fx gin echo fiber chi mux ent combine quick nimble provider bloc hive poison tesla finch jason"
    " rocket warp hyper failure smol nom rust boost slim shrine pest pry sequel play cats circe exposed volley feign coil koin glide guice hilt dagger2 needle"
    " recoil carbon doctrine twig realm realms fmt stitches future imp polly devise"
    " draper resque webclient faraday numeral accounting ky fabrication spring-data pinia jose".split()
)
_ARTICLES = frozenset("the a an this that each every any one my your our last at few some der die das den dem jeder jede".split())
_ABOUT_LIBRARY = re.compile(
    r"\b(?:import\w*|librar\w{1,3}|packages?|modules?|depend\w*|install\w*|us(?:e|es|ing)|replac\w{1,3}|migrat\w{1,3}|standard|deprecated|allowed|forbidden|instead|add|pull|bibliothek\w*|paket\w*|nutze\w?|benutz\w*|verwend\w*|banned)\b|\.js\b",
    re.IGNORECASE,
)


def _is_library(rule: str, tokens: Sequence[Token], at: int) -> bool:
    """Return whether an ordinary word that is also a library's name refers to the library here."""
    if at and tokens[at].low in ("request", "requests") and tokens[at - 1].low in ("pull", "merge", "feature", "http", "api"):
        return False
    if at and tokens[at - 1].low in _ARTICLES or at + 1 < len(tokens) and tokens[at + 1].low in _ARTICLES:
        return False
    contrast = any(token.boundary and token.text == "," for token in tokens)  # "zod, not joi"
    return contrast or _ABOUT_LIBRARY.search(rule) is not None


def objects_named(rule: str, tokens: Sequence[Token]) -> list[Object]:
    """Return the objects mentioned in the rule, in order. The words of a command form one object."""
    out: list[Object] = []
    clause, at = 0, 0
    while at < len(tokens):
        token = tokens[at]
        if token.boundary or token.low in NEW_CLAUSE:
            clause += 1 if token.text not in "()" else 0
            at += 1
            continue
        kind, text, used = _classify(tokens, at)
        if kind is None and token.low in v.QUOTED_ONLY and not set(v.WORDS[token.low]).isdisjoint(code_languages(rule)):
            kind, text = Kind.CODE, token.text
        if kind is Kind.PATH and text.startswith(".") and _is_ending(tokens, at):
            text = f"*{text}"
        if kind in (None, Kind.UNKNOWN, Kind.PATH) and _is_imported(tokens, at):
            kind, text, used = Kind.LIBRARY, token.text if _is_folder_path(token.text) else token.text.removesuffix("/"), 1
        if kind is not None:
            start = next((back + 1 for back in range(at - 1, max(at - 4, -1), -1) if tokens[back].boundary), max(at - 3, 0))
            within = any(before.low in WITHIN for before in tokens[start:at]) or at == 1 and tokens[0].low == "for"
            if kind is not Kind.LIBRARY or token.quoted or token.low not in _ORDINARY or _is_library(rule, tokens, at):
                out.append(Object(kind, text, token.at, clause, within=within))
        at += used
        if kind is Kind.COMMAND and not token.quoted:
            more, clause, at = _further_subcommands(tokens, text, at, clause)
            out += more
    return out


# "packages/core must not import from apps/" and "services/ledger: no fmt.Println": the rule is about what is there.
_SUBJECT_FOLDER = re.compile(
    r"\W{0,3}(?:(?:please|bitte|for|in|im|inside|within|under|the|code|files|everything|ordner|folder|verzeichnis)\s){0,5}[`'\"]?(?P<folder>(?:[\w@.-]{1,40}/){1,6}[\w@-]{0,40})[`'\"]?"
    r"(?:\s(?:folder|package|service|app|code|module|ordner|paket)\b)?(?=\s?[:—]|\s-\s|\s(?:only\s|always\s|in code\s)?(?:uses?|nutzt|wird|(?:must|may|should|does|do|can|is|are)(?: not|n't)?|never|cannot|can't|darf)\s"
    r"(?:\w{1,8}\s)?(?:import\w*|depend\w*|us(?:e|es|ed|ing)|contain\w*|have|has|pull\w*|require\w*|know\w*|run|ausgeführt|verwendet|benutzt|importieren|no\b|not\b|nie\b|kein\w{0,2}\b|yarn|npm|pnpm|bun)|\s(?:uses|nutzt|wird)\s|\s(?:is|are|stays?|has|talks?)\s[^.;]{1,80}\b(?:there|in it|dort|darin)\b)",
    re.IGNORECASE,
)


def subject_folder(rule: str) -> str:
    """Return the folder that a rule begins with as that to which it is limited, or ""."""
    found = _SUBJECT_FOLDER.match(rule)
    return found["folder"].rstrip("/") if found and not NOT_A_FILE.match(found["folder"]) else ""


_UPGRADES = frozenset("bump bumping upgrade upgrading downgrade downgrading".split())
_INSTALLS = frozenset("add adding install installing".split())
_AFTER_PACKAGE = frozenset("past beyond above to from version without unless yet here again back yourself on or and nor".split())


def packages_by_verb(tokens: Sequence[Token], named: Sequence[Object]) -> list[Object]:
    """Return the packages of no known name that a rule is about, as in "never upgrade react" and "never add bugsnag or rollbar"."""
    found: list[Object] = []
    known = {thing.at for thing in named}
    about = any(token.low in _PACKAGE_NOUNS for token in tokens) or any(thing.kind is Kind.LIBRARY for thing in named)
    verbs = _UPGRADES | _INSTALLS if about else _UPGRADES  # "never add complexity"
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
        listed = bool(found) and before.low in ("or", "and", "nor") and tokens[tokens.index(before) - 1].at == found[-1].at
        ends = after is None or after.boundary or after.low in _AFTER_PACKAGE
        word = token.low in STOP_WORDS | _OF_IMPORTS | FORBID | WANT | WITHIN | _ADDED_THINGS or token.at in known
        if (listed or before.low in verbs) and ends and not word and _PACKAGE.fullmatch(token.text):
            found.append(Object(Kind.LIBRARY, token.text, token.at, _clause_at(tokens, token)))
    return found


_PACKAGE_NOUNS = frozenset(
    "gem gems package packages library libraries dependency dependencies npm pnpm gemfile package.json go.mod orm orms sdk".split()
)
# What is added to a project besides packages.
_ADDED_THINGS = frozenset(
    "comments features tests logs logging files code columns fields routes tables indexes whitespace emojis types flags dependencies deps packages gems libs software tools plugins"
    " extensions fonts images icons docs documentation commits tags labels trailers imports exports it them anything something everything packages version versions".split()
)


def _clause_at(tokens: Sequence[Token], last: Token) -> int:
    """Return the number of the clause in which a token is."""
    earlier = tokens[: tokens.index(last)]
    return sum(token.text not in "()" for token in earlier if token.boundary or token.low in NEW_CLAUSE)


_LISTS = frozenset(", / or and nor oder und noch".split())


def _further_subcommands(tokens: Sequence[Token], command: str, at: int, clause: int) -> tuple[list[Object], int, int]:
    """Return the further commands of a list that names the program once, as in "terraform apply or destroy"."""
    program, *rest = command.split()
    known = v.SUBCOMMANDS.get(program, frozenset()) | (v.VERBS if program not in v.PLAIN_PROGRAMS else frozenset())
    found: list[Object] = []
    if not 1 <= len(rest) <= 2 or any(word.startswith("-") for word in rest):
        return found, clause, at
    program = " ".join([program, *rest[:-1]])  # `docker volume rm / prune`
    while at + 1 < len(tokens) and tokens[at].low in _LISTS:
        joined = next((place for place in (at + 1, at + 2) if place < len(tokens) and tokens[place].low not in _LISTS), at + 1)
        word = tokens[joined].low
        scoped = ":" in rest[-1] and re.fullmatch(r"[a-z]{1,20}(?::[a-z_-]{1,30}){1,3}", word) is not None
        after = tokens[joined + 1] if joined + 1 < len(tokens) else None
        ends = after is None or after.boundary or after.low in _LISTS
        if not scoped and (word not in known or word in v.PROGRAMS or not ends):
            break
        clause += sum(token.text != "/" for token in tokens[at:joined])
        found.append(Object(Kind.COMMAND, f"{program} {word}", tokens[joined].at, clause))
        at = joined + 1
    return found, clause, at


_ENDINGS = frozenset(
    "lock json yaml yml toml txt ts tsx js jsx mjs py go rs java sql csv xml html css scss sh proto pb snap key pem crt php rb kt swift tf po pot gql graphql prisma ipynb"
    " bak orig tmp swp rej log dart vue svelte cs cpp hpp svg png pdf tfvars tfstate gradle ini cfg bat ps1 xlsx docx md mdx rst ex exs erl hs scala lua jl r".split()
)


def _is_ending(tokens: Sequence[Token], at: int) -> bool:
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
    "another order sorting statements style from only always never cycles paths lines block blocks anything something everything things other new any all more it them this"
    " that everything private internal types type code files modules packages libraries third-party".split()
)


def _is_imported(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a word is the name of a library because the rule is about importing or depending on it."""
    token = tokens[at]
    if not _PACKAGE.fullmatch(token.text) or token.low in STOP_WORDS | _OF_IMPORTS | FORBID | WANT | WITHIN:
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


def _is_folder_path(text: str) -> bool:
    """Return whether what is imported is a folder of the project, such as `apps/` or `packages/api`, rather than a package."""
    return is_folder(text) and text.partition("/")[0].lower() not in v.LIBRARIES


def _classify(tokens: Sequence[Token], at: int) -> tuple[Kind | None, str, int]:
    token = tokens[at]
    text, low = token.text, token.low
    if text.startswith(("$ ", "> ")):
        text = text[2:]
    if token.quoted:
        folder = at and _FOLDER_WORD.match(tokens[at - 1].text) and re.fullmatch(r"[\w.-]{2,40}", text)
        return (Kind.PATH, f"{text}/", 1) if folder else (_quoted_kind(text), text, 1)
    if special := _written_in_capitals(tokens, at) or _folder(tokens, at):
        return special
    if _FLAG.fullmatch(text):
        return Kind.FLAG, text, 1
    if (match := _CALL.match(text)) and not text.startswith("("):
        return Kind.CALL, match[1], 1
    if low in _AMBIGUOUS:
        words, used = _command_words(tokens, at)
        if (
            len(words) > 1
            and (
                words[1] not in _NO_TARGETS
                or at
                and tokens[at - 1].low in v.RUN_VERBS
                or words[1] in v.SUBCOMMANDS.get(words[0], ())
            )
            and words[1] not in v.PROGRAMS
            or _is_replaced(tokens, at)
            or _is_used_alone(tokens, at)
            or _is_listed_with_program(tokens, at)
        ):
            return Kind.COMMAND, " ".join(words), used
    elif _is_program(low):
        return _program_named(tokens, at)
    kind, name = _plain_kind(text)
    return kind, name, 1


def _program_named(tokens: Sequence[Token], at: int) -> tuple[Kind | None, str, int]:
    """Return the command that begins here, or nothing if the words only mention a program, as in "npm scripts"."""
    words, used = _command_words(tokens, at)
    after = tokens[at + used].low if at + used < len(tokens) else ""
    mentioned = len(words) == 1 and (after in _ABOUT_PROGRAM or _only_mentioned(tokens, at))
    if mentioned or len(words) == 2 and after in _FILES_OF_PROGRAM:  # "terraform state files"
        return None, "", used
    return Kind.COMMAND, " ".join(words), used


# Nouns that turn a program's name into an adjective: "npm scripts" is not a call of npm.
_ABOUT_PROGRAM = frozenset(
    "edits changes lock lockfile lockfiles lock-file code client clients schema schemas bindings stubs dependency dependencies deps package packages library libraries subtree subtrees gems clones installs urls remotes commits branches tags rules checks warnings errors scripts images containers config configs configuration files history version versions modules workspaces logs cluster output"
    " fixtures syntax docs documentation plugins blame repo repository hooks account users skripte dateien".split()
)
_FILES_OF_PROGRAM = frozenset("file files dateien configs configuration messages hooks".split())
_TO_SERVICES = frozenset(
    "add adding check checking put commit committing publish publishing push pushing upload uploading release deploy deploying veröffentliche".split()
)


def _only_mentioned(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a program alone is no command here, as in "publish to npm" and "interactive git commands"."""
    before = [token.low for token in tokens[max(at - 3, 0) : at]]
    if tokens[at].low == "ssh" and any(token.low == "https" for token in tokens):
        return True  # the protocols
    if (
        before[-1:]
        and before[-1] in ("a", "an", "another", "new", "ein", "une", "un")
        and (at + 1 == len(tokens) or tokens[at + 1].low != "command")
    ):
        return True  # "never add a gem"
    if before[-1:] in (["packages"], ["package"], ["dependencies"]):
        return True  # "paquets npm"
    if before[-1:] in (["to"], ["on"]) and not _TO_SERVICES.isdisjoint(before):
        return True
    if tokens[at].low == "git" and before[-1:] == ["in"]:
        return True  # "no binaries in git"
    follows = tokens[at + 1].low if at + 1 < len(tokens) else ""
    known = STOP_WORDS | FORBID | WANT | _USING | {"run", "running", "the", "all"}
    return follows in ("commands", "befehle") and bool(before) and not tokens[at - 1].boundary and before[-1] not in known


PROGRAM_PATH = re.compile(r"(?:\./)?(?:bin|scripts?|tools?)/[\w-]{1,40}(?:\.sh)?")  # a program of the project
_TOOLS_AND_WORDS = frozenset("find cat make less ava task python node java ruby black".split())


def _is_replaced(tokens: Sequence[Token], at: int) -> bool:
    """Return whether an ambiguous name refers to a program because another one replaces it, as in `fd instead of find`."""
    before = [token.low for token in tokens[max(at - 2, 0) : at]]
    follows = before[-1:] in (["statt"], ["anstatt"]) or before in (["instead", "of"], ["rather", "than"])
    follows = follows or before[-1:] == ["to"] and at > 2 and tokens[at - 3].low in ("prefer", "prefers")
    follows = follows or before[-1:] == ["not"] and at > 2 and tokens[at - 3].low in ("use", "prefer")
    if before == [",", "not"] and any(
        other.low in v.PROGRAMS | v.LIBRARIES or PROGRAM_PATH.fullmatch(other.text) for other in tokens[max(at - 4, 0) : at - 2]
    ):
        return tokens[at].low in _TOOLS_AND_WORDS | _AMBIGUOUS
    return tokens[at].low in _TOOLS_AND_WORDS and follows and (at < 3 or not tokens[at - len(before) - 1].boundary)


_USING = frozenset("use using run running call calling nutze nutzen benutze verwende verwenden aufrufen via with mit".split())


_GONE = frozenset("dead gone banned forbidden out off deprecated history verboten raus tabu".split())


def _is_used_alone(tokens: Sequence[Token], at: int) -> bool:
    """Return whether an ambiguous name is a program because it alone is used, as in `don't use make, use just`."""
    if (not at or tokens[at - 1].boundary) and [token.low for token in tokens[at + 1 : at + 3]][:1] in (["is"], ["ist"]):
        return at + 2 < len(tokens) and tokens[at + 2].low in _GONE  # "cypress is dead"
    if not at:  # "make always with -j4"
        return len(tokens) > 2 and tokens[1].low in ("always", "never", "immer") and tokens[2].low in ("with", "mit", "without")
    before = tokens[at - 2] if at > 1 and tokens[at - 1].low in ("never", "plain", "bare", "raw") else tokens[at - 1]
    if before.low not in _USING and not (before is not tokens[at - 1] and before.low == "never"):
        return False
    return (
        at + 1 == len(tokens)
        or tokens[at + 1].boundary
        or tokens[at + 1].low
        in ("directly", "locally", "anymore", "please", "direkt", "with", "mit", "instead", "for", "not", "or", "and", "here")
    )


def _is_listed_with_program(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a flag of the rule belongs to this ambiguous name and another program: "pass no -k to ninja and make"."""
    if not any(_FLAG.fullmatch(token.text) for token in tokens):
        return False
    around = [
        tokens[place].low for place in (at - 2, at + 2) if 0 <= place < len(tokens) and tokens[(place + at) // 2].low in _LISTS
    ]
    return any(word in v.PROGRAMS for word in around)


_NO_FOLDERS = frozenset(
    "this that same whole diesem diesen own root new home top-level toplevel nested empty separate single extra additional parent child sub working".split()
)


def _folder(tokens: Sequence[Token], at: int) -> tuple[Kind, str, int] | None:
    """Return the folder that is named here by an ordinary word, and how many words name it."""
    name = tokens[at].text.removeprefix("$ ").rstrip("/") + "/"
    if at + 1 < len(tokens) and _names_folder(tokens[at], tokens[at + 1]):
        return Kind.PATH, name, 2
    return (Kind.PATH, name, 1) if at and _is_folder(tokens, at) else None


def _is_folder(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a word is a folder because of the word before, as in `the folder legacy` and `nothing in node_modules`."""
    before, low = tokens[at - 1], tokens[at].low
    if before.boundary or not re.fullmatch(r"[\w.-]{2,40}/?", tokens[at].text) or low in STOP_WORDS | WITHIN | WANT:
        return False
    if _FOLDER_WORD.match(before.text) and not before.low.startswith(("package", "module", "tree")):
        return (
            low in v.FOLDERS
            or tokens[at].quoted
            or "_" in low
            or low not in FORBID
            and at + 1 < len(tokens)
            and tokens[at + 1].boundary
        )
    if before.low in ("the", "den", "dem", "die", "das", "el", "la", "le") and at > 1:
        before = tokens[at - 2]
    closes = at + 1 == len(tokens) or tokens[at + 1].boundary or tokens[at + 1].low in FORBID | STOP_WORDS | _CHANGE_VERBS
    if tokens[at].text[0].isupper() and low in v.LANGUAGES:
        return False  # "in Terraform"
    located = before.low in WITHIN - {"from", "into"} or before.low in _CHANGE_VERBS and low in v.KEPT_FOLDERS
    return low in v.FOLDERS and located and closes


_CHANGE_VERBS = frozenset(
    "touch edit change modify delete write anything ändern anfassen bearbeiten löschen verändern touching editing edits changes to".split()
)


def _names_folder(token: Token, following: Token) -> bool:
    """Return whether the two words refer to a folder, as in `legacy folder`."""
    if following.boundary or not _FOLDER_WORD.match(following.text) or not re.fullmatch(r"[\w.-]{2,40}/?", token.text):
        return False
    if token.low in v.FOLDERS:
        return True
    if len(token.text) < 4 and token.low not in ("db", "bin", "tmp", "etc", "var", "sql", "ops", "old"):
        return False  # an article, as in "la carpeta legacy"
    return not any(token.low in words for words in (_CHANGE_VERBS, STOP_WORDS, FORBID, WITHIN, WANT, _NO_FOLDERS))


# A name as only code has it: with an underscore, in camel case, or with a namespace or receiver.
_IDENTIFIER = re.compile(
    r"[a-z][a-z\d]{0,30}(?:_[a-z\d]{1,30}){1,6}|[a-z]{2,20}(?:[A-Z][a-z\d]{1,20}){1,5}|[A-Za-z]\w{0,30}(?:::\w{1,40}){1,5}|[a-z]\w{0,20}\.[A-Z]\w{1,30}\*?"
)
MEMBER = re.compile(
    r"(?!(?:Node|Next|Vue|Nuxt|Express|React|Three|Chart|D3|README|CHANGELOG)\.)[A-Z][A-Za-z]{1,30}\.[a-z][A-Za-z_]{2,30}(?:\.[a-z]\w{2,30})?"
)  # Time.now
_QUALIFIED = re.compile(r"(?:[a-z]\w{1,20}\.){2,6}[A-Z]\w{1,40}")  # org.junit.Test


def _plain_kind(text: str) -> tuple[Kind | None, str]:
    low = text.lower()
    if text in v.SQL_WORDS or low in v.WORDS and low not in v.NOT_ALONE and low not in v.QUOTED_ONLY:
        return Kind.CODE, text
    if ASSIGNMENT.fullmatch(text) or _HOST.fullmatch(text) and not _FILE.fullmatch(text):
        return Kind.COMMAND, text if "=" in text else f"* {text}"
    if (
        "." in low
        and low.partition(".")[0] in v.LIBRARIES
        and low not in v.LIBRARIES
        and re.fullmatch(r"[a-z_]+(?:\.[a-z_]{3,20}){1,3}", text)
    ):
        return Kind.LIBRARY, text
    if _QUALIFIED.fullmatch(text):
        return Kind.LIBRARY, text
    if re.fullmatch(r"db:[a-z_:]{2,30}", text):
        return Kind.COMMAND, f"rails {text}"
    if low in ("camelcase", "pascalcase", "snake_case", "kebabcase"):
        return None, ""
    library = low.removesuffix(".js") if low.removesuffix(".js") in v.LIBRARIES else low
    if library in v.LIBRARIES:
        return Kind.LIBRARY, library
    if _FILE.fullmatch(text) and not NOT_A_FILE.match(text) and low not in v.LANGUAGES and low not in v.WORDS:
        return Kind.PATH, text
    if low in v.WORDS and low not in v.QUOTED_ONLY or _IDENTIFIER.fullmatch(text) or MEMBER.fullmatch(text):
        return Kind.UNKNOWN, text
    return None, ""


def _is_program(low: str) -> bool:
    return (
        (low in v.PROGRAMS or low in v.PROGRAM_NAMES)
        and low not in _AMBIGUOUS
        or low.startswith("./")
        and low[2:] in v.FREE_TARGET
    )


_NO_TARGETS = frozenset(
    "flag option switch with assumptions mistakes noise progress room decisions guesses promises up sure it them this that no your my our their changes edits use commits something anything everything new sense do one files test".split()
)
# Programs whose names are also ordinary words. They count only in code quotes or before one of their subcommands.
_AMBIGUOUS = frozenset(
    "go make find cat less eval task just service port history export stack act mix screen hub dart swift snap tee su export"
    " python java node ruby perl php black turbo flask fly playwright storybook parcel nose task ava nc zig hg kind scoop ninja meson conan hatch rye"
    " dub pod mise buf dagger tilt expo eas flux consul nomad forever bats cucumber artillery serverless railway amplify gatsby astro next nuxt source"
    " west goose migrate atlas reflex cap serve air np puma foreman program monitor swag pack trash unlink halt reboot shutdown lima credo nimble shards opam snap cypress eject kubernetes scala julia swiftc sorbet rector".split()
)


def _command_words(tokens: Sequence[Token], at: int) -> tuple[list[str], int]:
    words = [v.PROGRAM_NAMES.get(tokens[at].low, tokens[at].low)]
    used = 1
    subcommands = v.SUBCOMMANDS.get(words[0], frozenset()) | (v.VERBS if words[0] not in v.PLAIN_PROGRAMS else frozenset())
    while at + used < len(tokens):
        token = tokens[at + used]
        text = _in_singular(words, token, subcommands)
        if token.boundary or token.quoted:
            break
        is_script = (
            len(words) > 1
            and words[-1] in _SCRIPT_WORDS
            and text.lower() not in STOP_WORDS | _DEMANDS
            and re.fullmatch(r"[\w:./-]{2,40}", text, re.ASCII) is not None
        )
        if words[0] in ("sudo", "doas") and len(words) == 1 and _is_program(text.lower()):
            subcommands |= v.SUBCOMMANDS.get(text.lower(), frozenset()) | v.VERBS | {text.lower()}
        if (
            words[0] in ("kill", "pkill", "killall")
            and re.fullmatch(r"-(?:\d{1,2}|[A-Z]{3,7})", text)
            or words in (["git", "add"], ["git", "rm"])
            or text == "."
            and words in (["git", "checkout"], ["git", "restore"])
            and _names_path(text)
            or _is_argument(words, text)
        ):
            words.append(text)
        elif words[-1] in ("-g", "--global") and text.lower() in v.PROGRAMS:  # `npm install -g pnpm` is about that package
            words.append(text.lower())
        elif text.lower() not in subcommands and _is_script(words, tokens, at):
            words += ["run", text] if words[0] in v.ENVIRONMENTS else [text]
        elif text.lower() == "run" and len(words) > 1 and words[1] not in ("compose", "tool", "exec"):
            break  # a verb of the sentence, which other languages have at its end
        elif _FLAG.fullmatch(text) or text.lower() in subcommands or is_script or (words[0] == "chmod" and text.isdigit()):
            words.append(text if text.startswith("-") else text.lower())
        elif (
            len(words) == 1
            and _is_target(words[0], text)
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


def _in_singular(words: Sequence[str], token: Token, subcommands: frozenset[str]) -> str:
    """Return a word of a rule, or the subcommand of git that it is the plural of, as in "no git submodules"."""
    singular = token.low.removesuffix("s")
    return singular if list(words) == ["git"] and singular in subcommands else token.text


def _is_target(program: str, text: str) -> bool:
    """Return whether a word is a target of the project, as in `make smoke`."""
    plain = text.lower() not in STOP_WORDS | {"flag", "flags", "option", "options"}
    return program in v.FREE_TARGET and plain and re.fullmatch(r"[\w:.-]{2,40}", text, re.ASCII) is not None


_SCRIPT = re.compile(r"(?![a-z]{2,20}ly$)[a-z][\w:-]{1,40}")  # An adverb is no script.


def _is_script(words: Sequence[str], tokens: Sequence[Token], at: int) -> bool:
    """Return whether the next word is a script of the project, as in `run pnpm verify` and `until pnpm check-all passes`.

    Otherwise, the words before would mean any call of the program.
    """
    if words[0] not in v.SCRIPT_RUNNERS or any(not word.startswith("-") for word in words[1:]):
        return False
    token = tokens[at + len(words)]
    other = token.low in v.NO_SCRIPTS | STOP_WORDS | FORBID | WANT | WITHIN | NEW_CLAUSE | _ABOUT_PROGRAM | v.LANGUAGES.keys()
    if other or not _SCRIPT.fullmatch(token.text):
        return False
    before = {earlier.low for earlier in tokens[max(at - 8, 0) : at]}
    after = {later.low for later in tokens[at + len(words) + 1 : at + len(words) + 2]}
    return "-" in token.text or not v.RUN_VERBS.isdisjoint(before) or not (v.OUTCOMES | v.RUN_VERBS).isdisjoint(after)


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


_SCRIPT_WORDS = frozenset({"run", "exec", "dlx"})
_DEMANDS = frozenset("needs need requires require must has have gets get takes take should braucht muss".split())


def _quoted_kind(text: str) -> Kind:
    first = text.split()[0].lower() if text.split() else ""
    low = text.lower()
    if _FLAG.fullmatch(text) or re.fullmatch(r"--?[A-Za-z][\w-]{0,40} [\w./:=-]{1,40}", text):
        return Kind.FLAG
    if _CALL.match(text) and " " not in text:
        return Kind.CALL
    if low in v.WORDS and low not in ("exec", "eval", "sleep"):
        return Kind.CODE
    if (
        (first in v.PROGRAMS and not re.match(r"export (?:default|\*|\{|const|type|function|class)", text))
        or first.startswith("./")
        and " " in text
    ):
        return Kind.COMMAND
    if low in v.LIBRARIES:
        return Kind.LIBRARY
    if " " not in text and _FILE.fullmatch(text) and not NOT_A_FILE.match(text):
        return Kind.PATH
    return Kind.UNKNOWN


_SHAPED = re.compile(r"[a-z][a-z\d]{1,15}(?:[-_][a-z\d]{1,15}){1,4}")
# Beginnings of words with a hyphen that are no names.
_HYPHENATED = frozenset(
    "non off read hard third co pre post sub re self well up long short cross multi high low one two in to dry force hand work lower upper kebab snake pascal"
    " camel merge back front end code real time day built client type test unit default star off on open full half first last all top old new out over under"
    " non anti bare broken build commit pull push user web api data file line case single double semi auto server production project repo root sign signed".split()
)
_ABOUT_TOOLS = re.compile(
    r"\b(?:use[sd]?|using|run|running|call|launch|invoke|reach for|goes? through|via|switched|instead of|nehmen|nimm|nutz\w{1,3}|benutz\w{1,3}|verwend\w{1,3}|utilis\w{1,3}|usa[rn]?)\b",
    re.IGNORECASE,
)


def programs_by_shape(rule: str, tokens: Sequence[Token]) -> list[Object]:
    """Return names of unknown programs, such as `arm-none-eabi-gdb`, in a rule on which tools to use."""
    if not _ABOUT_TOOLS.search(rule):
        return []
    out: list[Object] = []
    clause = 0
    for at, token in enumerate(tokens):
        if token.boundary or token.low in NEW_CLAUSE:
            clause += 1 if token.text not in "()" else 0
        elif _SHAPED.fullmatch(token.text) and token.text.split("-")[0] not in _HYPHENATED and not _is_described(tokens, at):
            out.append(Object(Kind.COMMAND, token.text, token.at, clause))
    return out


def _is_described(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a word with a hyphen is rather an adjective, as in "left-aligned tables"."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    return after is not None and not after.boundary and after.low not in STOP_WORDS | FORBID | WANT | WITHIN | NEW_CLAUSE


def text_after(rule: str, thing: Object) -> str:
    """Return the rest of a rule after an object, as it is written there: `.g.dart` for `*.g.dart`, and `legacy` for `legacy/`."""
    rest = rule[thing.at :].lstrip("`'\"*_")
    low = rest.lower()
    low_name = thing.text.lower()
    names = (low_name, low_name.removeprefix("*"), low_name.lstrip("*_"), low_name.rstrip("/"))
    return rest[max((len(name) for name in names if low.startswith(name)), default=0) :]
