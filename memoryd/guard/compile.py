"""Compile rules to checks: find the command, path or piece of code that a user's sentence forbids or requires.

Reads English and German, and rules in other languages as far as `gloss` translates them. A sentence that can't be
decided from tool calls yields no check. Nothing is inferred from words other than commands, paths or code, because a
false alarm is worse than a missing check.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memoryd.core.checks import MAX_ALSO, Check, CheckKind
from memoryd.guard import vocabulary as v
from memoryd.guard.evaluate import is_place
from memoryd.guard.gloss import in_english
from memoryd.guard.rules.branches import (
    branch_names,
    no_merge_commits,
    only_on_branches,
    protected_branches,
    protected_remotes,
    pull_requests,
)
from memoryd.guard.rules.commands import (
    build_wrapper,
    forbidden_commands,
    forbidden_scripts,
    no_new_dependencies,
    one_of_family,
    only_through,
    phrases_for_commands,
    required_flags,
    versions_of_dependencies,
)
from memoryd.guard.rules.companions import is_conditional, step_at_end, step_before
from memoryd.guard.rules.content import forbidden_code, forbidden_statements, language_of_comments, phrases_for_code
from memoryd.guard.rules.messages import commit_message
from memoryd.guard.rules.objects import (
    NOT_A_FILE,
    PROGRAM_PATH,
    Kind,
    Object,
    Sense,
    Token,
    objects_named,
    packages_by_verb,
    programs_by_shape,
    subject_folder,
    tokenize,
)
from memoryd.guard.rules.paths import (
    changed_by_tool_only,
    files_by_kind,
    forbidden_paths,
    no_changes_to_existing,
    nothing_outside_project,
    only_read,
    these_places_only,
)
from memoryd.guard.rules.placement import places_of_new_files
from memoryd.guard.rules.senses import REPLACES, Cue, assign_senses, find_cues
from memoryd.guard.rules.words import NEGATED, entries

MAX_RULE = 600  # Characters. A longer text is a document rather than a rule.
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "´": "'", "–": "—"})
_COMPOUND = re.compile(
    r"(?<![\w-])(?!filter-)(\w[\w-]{0,40})-(?=(?:dateien?|files?|ordner\w?|folders?|verzeichnis\w{0,2}|branch(?:es)?)\b)",
    re.IGNORECASE,
)
_CONTRACTED = re.compile(r"\b(do|does|did|is|are|was|ca|wo|should|must|would)nt\b", re.IGNORECASE)


def compile_rule(text: str) -> Check | None:
    """Return the check for a rule, or None if the rule can't be decided from tool calls."""
    text = _DOTS.sub("…", _TRAILING_OFF.sub(", ", text.strip()))
    if len(text) > MAX_RULE or (text.endswith("?") and not _OPERATOR.search(text)):
        return None
    rule = in_english(_COMPOUND.sub(r"\1 ", _CONTRACTED.sub(r"\1n't", text.translate(_QUOTES))))
    rule = _PLACEHOLDER.sub("/", rule)
    if check := step_at_end(rule):
        return check
    every = _sentences(rule)
    sentences = [sentence for sentence in every if not _says_nothing(_without_grants(sentence))]
    granted = " ".join(sentence for sentence in every if sentence not in sentences and _ALLOWED.search(sentence))
    if not sentences:
        return None
    if check := _compiled(" ".join(sentences), granted):
        return check
    if len(sentences) == 1:
        return None
    found = [check for sentence in sentences if (check := _compiled(sentence, granted))]
    return replace(found[0], also=tuple(found[1 : MAX_ALSO + 1])) if found else None


_TRAILING_OFF = re.compile(r"(?<=\w)(?:\.\.\.|…)\s(?=[a-z])")  # "no --force... it hides conflicts"
_DOTS = re.compile(r"(?<=[/\w])\.\.\.(?!/)")  # "branches are called feat/... or fix/..."
_PLACEHOLDER = re.compile(r"/<(?:[A-Z]\w{0,20}|name|component|feature)>/?(?=[\s,.;)]|$)")  # src/components/<Name>/
_OPERATOR = re.compile(r"\b(?:use|with|via|using|prefer|mit|nimm)\s[`'\"]?\?$", re.IGNORECASE)  # "no unwrap(), use ?"


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
        bool(_ALLOWED.search(sentence)) and not NEGATED.search(sentence) and not re.search(r"\bonly\b", sentence, re.IGNORECASE)
    )


def _grants(rule: str) -> list[re.Match[str]]:
    """Return the parts of a rule that allow something, such as ", legacy/tests may be changed"."""
    return [match for match in _GRANTED.finditer(rule) if match[0].startswith("(") or not NEGATED.search(match[0])]


def _without_grants(rule: str) -> str:
    for match in reversed(_grants(rule)):
        rule = rule[: match.start()] + rule[match.end() :]
    return rule


def _compiled(rule: str, granted: str = "") -> Check | None:
    """Return the check of the first reader that understands the rule, with the exceptions that the rule grants.

    `granted` is what other sentences allow.
    """
    exception = _EXCEPTION.search(rule)
    granted = " ".join([*(match[0] for match in _grants(rule[: exception.start()] if exception else rule)), granted]).strip()
    if exception and re.match(r"[\s,(]{1,3}(?:except|other than|apart from|außer|ausgenommen)", exception[0], re.IGNORECASE):
        granted += " " + exception[0]
    whole, rule = rule, _without_grants(_EXCEPTION.sub("", rule))
    if check := no_changes_to_existing(whole):
        return check
    if (
        exception
        and re.search(r"\b(?:unless|es sei denn)\b", exception[0])
        and NEGATED.search(whole)
        and (check := step_before(whole))
    ):
        return check
    for attempt in (commit_message, branch_names, places_of_new_files, step_before, required_flags, _general):
        check = attempt(rule)
        if check is not None and attempt is _general and check.kind is CheckKind.COMMAND and is_conditional(rule):
            return None
        if check is not None:
            return _in_named_folder(_with_exceptions(check, rule, granted), whole)
    return None


_IN_FOLDER = re.compile(
    r"(?:^\W{0,3}(?:please\s|bitte\s)?(?:in|inside|under|within|below|for|unter|innerhalb von|im ordner|im verzeichnis)|\b(?:in|inside|under|within|unter|on|against|auf))\s(?:the\s)?(?:folder\s)?[`'\"]?(?P<folder>(?:[\w@.-]{1,40}/){1,6}[\w@.-]{0,40})",
    re.IGNORECASE,
)


def _in_named_folder(check: Check, rule: str) -> Check:
    """Limit a check on commands to the folder that its rule names, as in "in apps/web never use npm"."""
    found, subject = _IN_FOLDER.search(rule), subject_folder(rule)
    if check.paths or check.kind in (CheckKind.PATH, CheckKind.CONTENT) or _EXCLUDED.search(rule):
        return check
    if not (found or subject):
        return check
    folder = subject or (found["folder"].rstrip(".") if found else "")
    opens = bool(subject) or found is not None and not rule[: found.start()].strip()
    if NOT_A_FILE.match(folder) or re.search(r"\.\w{1,5}$", folder) or any(folder.rstrip("/") in word for word in check.words):
        return check
    after_action = found is not None and _ACTION_BEFORE.search(rule[: found.start()])
    if check.kind is not CheckKind.COMMAND and not (opens or after_action):
        return check  # "run make lint in web/ before each commit": the step is there, not the commit
    if (
        check.branch
        or any(word.startswith(("git commit", "git push", "git add")) for word in check.words)
        and not (opens or after_action)
    ):
        return check
    return replace(check, paths=(f"{folder.rstrip('/')}/",), also=tuple(_in_named_folder(each, rule) for each in check.also))


_ACTION_BEFORE = re.compile(r"\b(?:commit|push|tag|merg|releas|deploy)\w{0,4}\s?$", re.IGNORECASE)
_EXCLUDED = re.compile(r"\b(?:outside|except|not|only|außerhalb|nur|nicht)\s(?:of\s|in\s|inside\s|under\s|in\s)", re.IGNORECASE)


def _with_exceptions(check: Check, rule: str, granted: str) -> Check:
    """Add the exceptions granted by the rule: other places, longer names, commands and flags.

    An example is "no unittest (unittest.mock is ok)".
    """
    if check.kind is CheckKind.CONTENT and (only := [path for path in check.paths if _is_only_place(rule, path)]):
        check = replace(
            check, paths=tuple(path for path in check.paths if path not in only), unless=entries([*check.unless, *only])
        )
    if check.kind is CheckKind.CONTENT and (outside := re.search(r"\b(?:outside|außerhalb)\b.{1,60}", rule, re.IGNORECASE)):
        granted += f" in {outside[0].split(maxsplit=1)[-1].removeprefix('of ').removeprefix('von ')}"
    if check.kind is CheckKind.CONTENT and _NOT_IN_TESTS.search(rule):
        granted += " in tests"
    if not granted:
        return check
    named = objects_named(granted, tokenize(granted))
    found: list[str] = []
    if check.kind in (CheckKind.CONTENT, CheckKind.PATH):
        found = [thing.text for thing in named if thing.kind is Kind.PATH and is_place(thing.text)]
        if re.search(r"\b(?:in|for|inside|für) (?:the |den )?(?:unit )?tests?\b", granted, re.IGNORECASE):
            found += ["tests/", "test/", *v.TEST_FILES]
    if check.kind is CheckKind.CONTENT:
        names = re.findall(r"[\w.]{3,60}", granted)
        found += [name for name in names if any(name.startswith(f"{word}.") for word in check.words)]
    if check.kind is CheckKind.COMMAND:
        found = [
            thing.text
            for thing in named
            if thing.kind in (Kind.COMMAND, Kind.FLAG) and thing.text not in check.words and thing.text != check.instead
        ]
    found = [text for text in found if text not in check.paths]
    return replace(check, unless=entries([*check.unless, *found])) if found else check


def _is_only_place(rule: str, path: str) -> bool:
    return (
        re.search(
            rf"\b(?:only|nur)\s(?:allowed\s|erlaubt\s)?(?:in|under|inside|unter)\s[`'\"]?{re.escape(path)}", rule, re.IGNORECASE
        )
        is not None
    )


_NOT_IN_TESTS = re.compile(
    r"\bnon-?test\b|\b(?:production|prod|library) code\b|\boutside (?:of )?(?:the )?(?:unit )?tests?\b|\baußerhalb (?:von|der) tests?\b",
    re.IGNORECASE,
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
_ALLOWED = re.compile(
    r"\b(?:is fine|are fine|is ok|is okay|is allowed|(?:is|are) (?:open|editable|yours)|(?:can|may) be (?:edited|changed)|(?:is|are) (?:ok|okay|fine|free) to (?:edit|change|touch)|you may|you can use)\b",
    re.IGNORECASE,
)
# A sentence or parenthesis that grants an exception to the rule.
_GRANTED = re.compile(
    r"\([^()]{0,120}\b(?:ok|okay|fine|allowed|erlaubt)\b[^()]{0,40}\)|(?:(?<=[.;!])\s|,\s|\s(?=but\s)|\s[-–—]\s)(?:[^.;!,()\s]|[.](?=\w)|\s(?!\bbut\b)){0,120}?"
    r"\b(?:(?:is|are|ist|sind) (?:ok|okay|fine|allowed|open|free|yours|editable|erlaubt)|(?:may|can) be (?:changed|edited|touched|modified)|(?:may|can) change)\b(?: to (?:edit|change|touch))?",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(
    r"(?<!\bbare)(?<!\bnaked)(?<!\bempty)(?<!\bbroad)[\s,(]{1,3}(?:except(?!:)|unless|other than|apart from|außer|es sei denn|ausgenommen|because|since|weil|denn|damit|so that|otherwise|sonst)\b.{0,400}$",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip


def _objects_of(rule: str, tokens: Sequence[Token]) -> list[Object]:
    """Return what a rule names. What is upgraded in "never bump rails" is a library, and no program that is run."""
    named = objects_named(rule, tokens)
    for thing in named:
        if thing.kind is Kind.COMMAND and " " not in thing.text and _CHANGES_VERSION.search(rule[: thing.at]):
            thing.kind = Kind.LIBRARY
    every = sorted([*named, *packages_by_verb(tokens, named)], key=lambda thing: thing.at)
    return [thing for thing in every if not _is_surrounding(rule, thing)]


def _general(rule: str) -> Check | None:
    """Compile a rule that forbids or requires what it names."""
    tokens = tokenize(rule)
    named, cues = _objects_of(rule, tokens), find_cues(rule, tokens)
    forbids = any(cue.sense is Sense.FORBID for cue in cues) or REPLACES.search(rule) is not None
    if check := _of_one_subject(rule, named, forbids) or only_read(rule, named) or only_through(rule, named):
        return check
    assign_senses(rule, named, cues)
    if _BY_HAND.search(rule):  # "migrations come from alembic, never by hand" wants the tool
        named = [thing for thing in named if thing.kind is not Kind.COMMAND or _AGAINST_TOOL.search(rule[: thing.at])]
    bad = [thing for thing in named if thing.sense is Sense.FORBID]
    wanted = [thing for thing in named if thing.sense is Sense.WANT]
    forbidden = {thing.text for thing in bad}
    instead = next((thing.text for thing in wanted if _replaces_command(thing) and thing.text not in forbidden), "")
    where = [thing for thing in named if thing.kind is Kind.PATH]
    if statements := [thing.text for thing in bad if thing.kind is Kind.STATEMENT]:
        return forbidden_statements(rule, statements, where)
    if bad:
        return _forbidden(rule, bad, where, instead, [thing.text for thing in wanted])
    if check := changed_by_tool_only(rule, named):
        return check
    if forbids and (check := nothing_outside_project(rule) or files_by_kind(rule)):
        return check
    if check := these_places_only(rule, wanted):
        return check
    if forbids and (check := _unknown_programs(rule, tokens, named, cues)):
        return check
    if forbids and not re.search(r"\b(?:other|others|else|but|anderen?|sonst)\b", rule, re.IGNORECASE):
        return None  # What it forbids was not understood.
    return one_of_family(rule, wanted)


_CHANGES_VERSION = re.compile(
    r"\b(?:add(?:ing)?|bump|upgrad\w{1,3}|downgrad\w{1,3}|updat\w{1,3}|uninstall\w{0,3}|aktualisier\w{0,2})\s(?:the\s|our\s)?[`'\"]?$",
    re.IGNORECASE,
)


def _is_surrounding(rule: str, thing: Object) -> bool:
    """Return whether a program is only where something is done, as in "no Time.now in Rails"."""
    if thing.kind is not Kind.COMMAND or " " in thing.text:
        return False
    if re.search(r"\bno\s(?:[\w-]{2,20}\s){2,4}(?:with|via|using|from)\s$", rule[: thing.at], re.IGNORECASE):
        return True  # "no force installs with npm"
    within = re.search(r"\b(?:in|within|inside)\s(?:the\s|our\s)?$", rule[: thing.at], re.IGNORECASE)
    return thing.text.lower() in v.LANGUAGES and within is not None


def _replaces_command(thing: Object) -> bool:
    """Return whether a rule that wants this object wants a program: a command, or a program of the project such as `bin/rails`."""
    return thing.kind is Kind.COMMAND or thing.kind is Kind.PATH and PROGRAM_PATH.fullmatch(thing.text) is not None


def _unknown_programs(rule: str, tokens: Sequence[Token], named: Sequence[Object], cues: Sequence[Cue]) -> Check | None:
    """Compile a prohibition of programs that no vocabulary has, such as "gdb-multiarch only, never arm-none-eabi-gdb"."""
    places = {thing.at for thing in named}
    shaped = [thing for thing in programs_by_shape(rule, tokens) if thing.at not in places]
    if not shaped or any(thing.kind is Kind.PATH for thing in named):
        return None
    every = sorted([*named, *shaped], key=lambda thing: thing.at)
    for thing in every:
        thing.sense = None
    assign_senses(rule, every, cues)
    bad = [thing for thing in every if thing.sense is Sense.FORBID and thing.kind is Kind.COMMAND]
    forbidden = {thing.text for thing in bad}
    instead = next(
        (
            thing.text
            for thing in every
            if thing.sense is Sense.WANT and thing.kind is Kind.COMMAND and thing.text not in forbidden
        ),
        "",
    )
    return forbidden_commands(rule, bad, instead) if bad else None


def _forbidden(rule: str, bad: Sequence[Object], where: Sequence[Object], instead: str, wanted: Sequence[str]) -> Check | None:
    """Compile a prohibition of scripts, code, commands or paths. One of commands and code has a check for each."""
    if check := forbidden_scripts(rule, bad):
        return check
    written, run = forbidden_code(rule, bad, where), forbidden_commands(rule, bad, instead)
    if written and written.imports:
        longer = [name for name in wanted if any(name.startswith(f"{word}-") for word in written.words)]
        written = replace(written, unless=entries([*written.unless, *longer]))  # lodash-es
    if written and run and not written.imports and not written.also and not run.also:
        return replace(run, also=(written,))
    return written or run or forbidden_paths(rule, bad)


_BY_HAND = re.compile(r"\b(?:by hand|manually|von hand|händisch|manuell|hand-(?:edit|writ)\w{0,4})\b", re.IGNORECASE)
_AGAINST_TOOL = re.compile(r"\b(?:never|don't|do not|no|nie|nicht)\s(?:\w{1,10}\s)?[`'\"]?$", re.IGNORECASE)
_PROTECTED = re.compile(
    r"\b(?:protected|frozen|geschützt|gesperrt|locked|protegid\w|protégée?s?|protett\w|is (?:my|our) (?:job|business|call)"
    r"|only (?:maintainers|admins|ci|leads?|the (?:\w{1,12} )?(?:team|manager|bot)) (?:may |can |should |is allowed to )?(?:push|merg|commit)\w{0,3})\b",
    re.IGNORECASE,
)


def _of_one_subject(rule: str, named: Sequence[Object], forbids: bool) -> Check | None:
    """Compile a rule on comments, build wrappers, branches, merges or a phrase that means a command or code."""
    if check := language_of_comments(rule) or build_wrapper(rule) or versions_of_dependencies(rule):
        return check
    if check := only_on_branches(rule) or pull_requests(rule):
        return check
    if (forbids or _PROTECTED.search(rule)) and (check := protected_branches(rule)):
        return check
    if check := no_merge_commits(rule) or no_new_dependencies(rule, named):
        return check
    if not forbids:
        return None
    if check := protected_remotes(rule):
        return check
    return phrases_for_code(rule, named) or phrases_for_commands(rule, named)
