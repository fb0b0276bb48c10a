"""Compile rules on a step that is required before a command or at the end of the work."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

from memoryd.core.checks import MAX_ALSO, MAX_ENTRIES, Check, CheckKind
from memoryd.guard import vocabulary as v
from memoryd.guard.rules.commands import other_forms
from memoryd.guard.rules.objects import PROGRAM_PATH, Kind, Object, objects_named, text_after, tokenize
from memoryd.guard.rules.words import NEGATED, action_meant, code_languages, entries, find_actions

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


def step_before(rule: str) -> Check | None:
    """Compile a step that is required before a command, such as "run make check before each commit"."""
    if not _BEFORE.search(rule) or re.search(r"\bmessages?\b|\bnachrichten?\b", rule, re.IGNORECASE):
        return None
    target, step = _parts(_REPEATED.sub("", rule))
    if _NARROWER.search(target):
        return None  # "before you commit a script": a call doesn't show what is committed
    if not target or re.search(r"\b(?:use|prefer|nutze|nimm|verwende)\b", step, re.IGNORECASE):
        return None
    actions = _actions_in(target)
    if not actions:
        return None
    checks = [
        Check(CheckKind.COMPANION, words=actions, first=first)
        for first in _steps(step, actions[0])
        if first and not set(actions) & set(first)
    ]
    return replace(checks[0], also=tuple(checks[1 : MAX_ALSO + 1])) if checks else None


_NARROWER = re.compile(
    r"\b(?:commit|push)(?:ting|ing)?\s(?:an?\s|any\s|new\s|changes?\s(?:to|in)\s){1,2}(?!new\b|changes?\b|commits?\b|anything\b|code\b|files?\b|work\b|branch|feature|fix|release|tag|pr\b|the\b|main\b|origin\b)[a-z]{3,}",
    re.IGNORECASE,
)


def _actions_in(text: str) -> tuple[str, ...]:
    """Return the commands that a text means, of which each requires the step: "git commit", "deploying" or "a build"."""
    command = _command_in(text)
    if _IMAGE.search(text):
        named = _ONE_IMAGE.search(text)
        builds = ["docker build", *other_forms("docker build")]
        return entries([f"{build} *{named['name'].lower()}*" for build in builds] if named else builds)
    if "/" in command.partition(" ")[0]:
        return (command,)
    if " " in command:
        return entries([command, *other_forms(command)])
    if action := action_meant(text):
        return v.PUBLISHES if action == "npm publish" else (action,)
    meant = next(
        (names for pattern, names in v.ACTIONS if re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", text, re.IGNORECASE)), ()
    )
    return meant[:MAX_ENTRIES] or ((command,) if command else ())


_IMAGE = re.compile(
    r"\b(?:build|built|bau)\w{0,4}\b[^,;.]{0,40}\bimages?\b|\bimages?\b[^,;.]{0,20}\b(?:build|built|bau|gebaut)\w{0,3}\b",
    re.IGNORECASE,
)
_ONE_IMAGE = re.compile(
    r"\b(?:the|our)\s(?!docker\b|container\b|base\b|whole\b|final\b|new\b|prod)(?P<name>[a-z][\w-]{1,30})\s(?:docker\s|container\s)?image\b",
    re.IGNORECASE,
)
_TARGETS = frozenset("staging production prod preview dev live test".split())


_CONDITION = re.compile(
    r"\b(?:never|don't|do not|no|not|nie|niemals|kein\w{0,2}|nicht|mustn't|must not)\b[^.;]{0,60}?\b(?:before|until|without|unless|bevor|bis|ohne|ehe)\b(?P<rest>[^.;]{1,80})",
    re.IGNORECASE,
)


def is_conditional(rule: str) -> bool:
    """Return whether a rule forbids something only until a step has been done, so that it forbids nothing for itself."""
    found = _CONDITION.search(rule)
    if found is None or not re.search(
        r"\b(?:run|ran|running|pass\w{0,3}|done|green|taking|making|creating|läuft|gelaufen|lief|first)\b", rule, re.IGNORECASE
    ):
        return False
    return bool(_command_in(found["rest"]) or _steps(found["rest"], ""))


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


def step_at_end(rule: str) -> Check | None:
    """Compile "run make lint when you are done" and "run prettier after each change": a step that the last edit requires."""
    found = _CLAIMS.search(rule) or _END.search(rule)
    if found is None or (
        NEGATED.search(rule) and not re.search(r"\b(?:until|before|without|unless|bevor|bis)\b", rule, re.IGNORECASE)
    ):
        return None
    rest = f"{rule[: found.start()]} {rule[found.end() :]}"
    if action_meant(rest):  # a step before a commit or push, which is checked then
        return None
    what = found.groupdict().get("what") or ""
    paths = entries([thing.text for thing in objects_named(what, tokenize(what)) if thing.kind is Kind.PATH])
    if what and not paths and not code_languages(what) and not _ANY_CODE.search(what):
        return None  # such as "after changing a migration"
    files = code_languages(f"{rest} {what}")
    checks = [Check(CheckKind.COMPANION, words=("end",), first=first, files=files, paths=paths) for first in _steps(rest, "")]
    return replace(checks[0], also=tuple(checks[1:])) if checks else None


def _parts(rule: str) -> tuple[str, str]:
    """Return the parts of the rule that mention the command and the required earlier step."""
    text = rule.replace("(", " (")
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
    if later and (_command_in(later["target"]) or action_meant(later["target"])):
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
    cut = re.search(r",|—|:(?=\s|$)|\b(?:run|always|must|make sure|execute|immer|muss|erst)\b|`", rest)
    target, after = (rest[: cut.start()], rest[cut.start() :]) if cut else (rest, "")
    if not action_meant(target) and not _command_in(target):
        target, after = rest, ""
    if found.start() < 3 and not after:
        named = [thing for thing in objects_named(rest, tokenize(rest)) if thing.kind is Kind.COMMAND or _is_program(thing)]
        if len(named) > 1:  # "Vor jedem `make deploy` muss `make check` laufen"
            return rest[: named[1].at], rest[named[1].at :]
    words = re.match(r"(?:\s*\S+){1,4}", target)
    if found.start() < 3 and not after and words:  # "Vor jedem Commit make typecheck laufen lassen."
        action = next((match for match, _ in find_actions(target)), None)
        if action:
            target, after = target[: action.end()], target[action.end() :] + text[found.end() :]
    return target, text[: found.start()] + " " + after + " " + text[found.end() :]


# "Before you tag, ctest has to have run. No tag without it": the last sentence only repeats the rule.
_REPEATED = re.compile(
    r"[.;,]\s{1,3}(?:no|never|kein\w{0,2})\b[^.;,]{1,40}\b(?:without|ohne)\s(?:it|that|them|this|das|doing (?:so|it|that))\W{0,3}$",
    re.IGNORECASE,
)


def _command_in(text: str) -> str:
    """Return the first command that a text names, or ""."""
    named = objects_named(text, tokenize(text))
    if found := [thing.text for thing in named if thing.kind is Kind.COMMAND]:
        return found[0]
    program = next((thing for thing in named if _is_program(thing)), None)
    if program is None:
        return ""
    where = re.match(r"[`'\"]?\s(\w{2,12})\b", text_after(text, program))
    return f"{program.text} {where[1]}" if where and where[1].lower() in _TARGETS else program.text


def _is_program(thing: Object) -> bool:
    """Return whether an object is a program of the project, such as `bin/deploy`."""
    return thing.kind is Kind.PATH and PROGRAM_PATH.fullmatch(thing.text) is not None


_RUNS_SCRIPT = re.compile(r"\b(?:run|running|execute|call|start|ausführ\w{1,3}|lauf\w{1,3}|through|via|with)\b", re.IGNORECASE)


def _steps(text: str, action: str) -> list[tuple[str, ...]]:
    """Return the steps that a text names, each with the commands of which one is enough."""
    tokens = tokenize(text)
    named = objects_named(text, tokens)
    commands = [thing for thing in named if thing.kind is Kind.COMMAND and thing.text != action and "=" not in thing.text]
    if not commands:
        commands = [thing for thing in named if _is_program(thing) and thing.text not in action]
    if not commands and _RUNS_SCRIPT.search(text):
        commands = [
            thing
            for thing in named
            if thing.kind is Kind.PATH and re.fullmatch(r"\.?[\w/-]{2,60}(?:\.(?:sh|py|js|ts|rb|pl))?", thing.text)
        ]
    kinds = [names[:MAX_ENTRIES] for pattern, names in v.STEPS if re.search(rf"(?<![\w-])(?:{pattern})", text, re.IGNORECASE)]
    if kinds:  # "run the npm tests": not any call of npm
        commands = [thing for thing in commands if thing.text not in v.SCRIPT_RUNNERS]
    if commands:
        return _in_groups(text, commands[:3])
    known = [
        token.text
        for token in tokens
        if token.quoted and token.text != action and re.fullmatch(r"[\w./-]+(?: [\w./:=-]+){0,5}", token.text)
    ]
    if known:
        return [entries(known[:1])]
    several = re.search(r"\b(?:and|und|both)\b|&|\+|,", text, re.IGNORECASE)
    return kinds[: 3 if several else 1]


def _in_groups(text: str, things: Sequence[Object]) -> list[tuple[str, ...]]:
    """Group commands of which one is enough, as in "make check or make lint". After a command of its own sentence, others explain."""
    groups: list[list[str]] = [[things[0].text]]
    for last, thing in itertools.pairwise(things):
        between = text_after(text[: thing.at], last).strip("`'\" ")
        if re.fullmatch(r"(?:or|oder|/|,? or)", between, re.IGNORECASE):
            groups[-1].append(thing.text)
        elif re.fullmatch(r"(?:and|und|&|\+|,|, and|&&)", between, re.IGNORECASE):
            groups.append([thing.text])
        else:
            break
    return [tuple(group) for group in groups]
