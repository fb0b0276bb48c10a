"""Compile rules on shell commands: forbidden ones, alternatives, and flags that a command must have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from memoryd.core.checks import MAX_ALSO, MAX_ENTRIES, Check, CheckKind
from memoryd.guard import vocabulary as v
from memoryd.guard.code import is_manifest
from memoryd.guard.evaluate import is_place
from memoryd.guard.rules.objects import ASSIGNMENT, Kind, Object, Sense, objects_named, text_after, tokenize
from memoryd.guard.rules.senses import IN_LIST, assign_senses, find_cues, is_wanted
from memoryd.guard.rules.words import NEGATED, STOP_WORDS, action_meant, entries

_LANGUAGE = r"(?:(?:runtime|npm|node|ruby|rails|python|go|golang|js|external|third-party|production)[\s-])"
_NOUN = (
    r"(?:dependenc(?:y|ies)|packages?|librar(?:y|ies)|deps?|libs?|gems?|crates?|(?:npm|node|go|third-party)\smodules?|third-party\scode"
    r"|abhängigkeit(?:en)?|pakete?|bibliothek(?:en)?)"
)
_DEPENDENCIES = re.compile(
    r"\bstdlib only\b|\b(?:only the |standard library |stdlib )+(?:only|and nothing else)\b|\bno(?:thing)? (?:but|outside) the (?:standard library|stdlib)\b"
    r"|\b(?:sticks?|limited|keeps?)\b[^.;,]{0,12}\bto the (?:standard library|stdlib)\b"
    rf"|\b(?:no|never|don't|do not|avoid|without|forbidden|kein\w{{0,2}}|keine|nie|nicht)\b[^.;,]{{0,25}}\b(?:(?:new|additional|extra|more|further|third-party|neue\w?|weitere\w?|zusätzliche\w?)\s{_LANGUAGE}{{0,2}}{_NOUN}"
    rf"|(?:add|install|import|pull in|bring in|introduc)\w{{0,4}}\s(?:any\s|new\s|more\s|extra\s|an?\s|de\s|d'\s|{_LANGUAGE}){{0,3}}(?:{_NOUN}|anything))\b(?!\s(?:on|from|globally|with|via|using|for)\b)",
    re.IGNORECASE,
)
_ON_APPROVAL = r"\b(?:my|me|us|approv\w{1,4}|ask\w{0,3}|permission|ok|okay|sign-?off|consent|mich|mir|meine\w?|rücksprache|absprache|freigabe|erlaubnis)\b"
_ASKED_BEFORE = re.compile(
    rf"\b(?:ask|check|talk|clear|tell|frag\w{{0,2}}|sprich)\b[^.;,]{{0,25}}\b(?:before|bevor|first)\b[^.;,]{{0,25}}\b(?:add|install|pull|bring|introduc|hinzufüg)?\w{{0,5}}\s?(?:an?\s|any\s|new\s|eine?\s|neue\s|{_LANGUAGE}){{0,3}}{_NOUN}\b"
    rf"|\b(?:new|every|each|all|any|neue\w?|jede\w?)\s(?:new\s|neue\w?\s)?{_LANGUAGE}{{0,2}}{_NOUN}\b[^.;]{{0,20}}\b(?:only|must|has to|have to|needs?|requires?|goes?|go|nur|müssen|muss|brauch\w{{1,2}})\b[^.;]{{0,40}}{_ON_APPROVAL}",
    re.IGNORECASE,
)
_OF_ROOT = re.compile(r"\b(?:root|top-level)\s[`'\"]?$", re.IGNORECASE)
_ADDS = re.compile(r"\b(?:add|put|hinzufüg|ergänz|schreib|trag)\w{0,4}\b", re.IGNORECASE)


def no_new_dependencies(rule: str, named: Sequence[Object]) -> Check | None:
    """Compile "no new dependencies without asking", "every new gem goes through me" and "add nothing to package.json"."""
    lists = [thing for thing in named if thing.kind is Kind.PATH and is_manifest(thing.text)]
    added = bool(lists) and NEGATED.search(rule) is not None and _ADDS.search(rule) is not None
    said = _DEPENDENCIES.search(rule) or _ASKED_BEFORE.search(rule)
    if not (said or added) or any(thing.kind in (Kind.LIBRARY, Kind.COMMAND) for thing in named):
        return None
    places = [thing for thing in named if thing.kind is Kind.PATH and thing not in lists]
    if any(not thing.within or is_place(thing.text) and "/" not in thing.text for thing in places):
        return None
    files = manifests_named(" ".join([rule, *(thing.text for thing in lists)]))
    folders = entries([thing.text for thing in places])
    programs = {program for name in _named_managers(rule) for program in v.MANAGERS_OF.get(name, ())}
    words = [word for word in v.NEW_DEPENDENCIES if not programs or word.split()[0] in programs]
    if any(_OF_ROOT.search(rule[: thing.at]) for thing in lists):
        run = Check(CheckKind.COMMAND, words=("pnpm add -w", "pnpm install -w", "yarn add -W"))
        return replace(run, also=(Check(CheckKind.CONTENT, words=("<dependency>",), files=files, paths=(".",)),))
    run = Check(CheckKind.COMMAND, words=entries(words), unless=("-r", "--requirement", "-e", "--editable"), paths=folders)
    written = Check(CheckKind.CONTENT, words=("<dependency>",), files=files, paths=folders)
    return replace(run, also=(written,))


def manifests_named(rule: str) -> tuple[str, ...]:
    """Return the files with the dependencies of the languages that a rule names, or of all."""
    named = _named_managers(rule)
    return entries([file for name in named or v.MANIFESTS_OF for file in v.MANIFESTS_OF[name] if named or file != "*.tf"])


def _named_managers(rule: str) -> list[str]:
    """Return the languages and package managers that a rule on dependencies names."""
    low = rule.lower()
    return [
        name
        for name in v.MANIFESTS_OF
        if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", low) and (name != "go" or _ABOUT_GO.search(low))
    ]


_ABOUT_GO = re.compile(
    r"\b(?:in|for) go\b|\bgo[ -](?:code|modules?|packages?|deps|dependenc|libs|librar|services?|sticks?)|\bgo\.mod\b"
)
_PINNED = re.compile(
    r"\b(?:pin|pins|pinned|pinning|exact(?:ly)?(?: versions?)?|fixed versions?|fest(?:e|en)? versionen|gepinnt)\b|\b(?:no|never|without|free of|free from|kein\w{0,2}|keine)\s(?:\w{1,12}\s){0,2}(?:version ranges?|ranges?|carets?|tildes?|\^|~)",
    re.IGNORECASE,
)
_ON_VERSIONS = re.compile(
    r"\b(?:dependenc\w{1,4}|deps|versions?|packages?|libraries|gems?|providers?|requirements[\w.-]*|package\.json|pyproject\.toml|abhängigkeiten|pakete)\b",
    re.IGNORECASE,
)
_ON_FILES = re.compile(
    r"\block\b|\block[- ]?files?\b|\.lock\b|-lock\.|\b(?:edit|touch|modif|by hand|hand-|von hand|bearbeit)\w*", re.IGNORECASE
)
_FROM_GIT = re.compile(
    r"\bgit (?:dependenc\w{1,4}|deps|urls?|refs?|packages)\b|\b(?:dependenc\w{1,4}|packages|gems|install\w{0,3})\b[^.;]{0,20}\b(?:from|straight from) (?:git|github)\b",
    re.IGNORECASE,
)


def versions_of_dependencies(rule: str) -> Check | None:
    """Compile "pin exact versions, no ^ or ~" and "no git dependencies": how dependencies are listed."""
    if _FROM_GIT.search(rule) and NEGATED.search(rule):
        return Check(CheckKind.CONTENT, words=("<git dependency>",), files=manifests_named(rule))
    if (
        not _ON_VERSIONS.search(rule)
        or _ON_FILES.search(rule)
        or re.search(r"\bimage|\bdocker|\bnode version|\baction", rule, re.IGNORECASE)
    ):
        return None
    if re.search(r"\blatest\b", rule, re.IGNORECASE) and NEGATED.search(rule):
        return Check(CheckKind.CONTENT, words=("<latest version>",), files=manifests_named(rule))
    said = _PINNED.search(rule)
    if said is None or re.search(r"\b(?:don't|do not|never|no need to|not)\s(?:pin|be pinned)", rule, re.IGNORECASE):
        return None
    return Check(CheckKind.CONTENT, words=("<version range>",), files=manifests_named(rule))


_WRAPPERS = (("gradle", "./gradlew"), ("mvn", "./mvnw"))


def build_wrapper(rule: str) -> Check | None:
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


_ONLY_VIA = re.compile(
    r"\s(?:is\s)?(?:only|nur|exclusively|ausschließlich|always)\s(?:run\s|called\s|used\s)?(?:via|through|by|über|durch)\s[`'\"]?",
    re.IGNORECASE,
)


_VIA = re.compile(r"\s(?:via|through|by|with|über|durch|mit)\s[`'\"]?", re.IGNORECASE)


def only_through(rule: str, named: Sequence[Object]) -> Check | None:
    """Compile "terraform only via terragrunt": the program itself is forbidden."""
    commands = [thing for thing in named if thing.kind is Kind.COMMAND and "=" not in thing.text and " -" not in thing.text]
    if len(commands) != 2 or commands[1].text.split()[0] == commands[0].text.split()[0]:
        return None
    between = rule[commands[0].at : commands[1].at].lstrip("`'\"")
    via = (
        _VIA
        if re.search(r"\b(?:not|never|nicht|nie) (?:directly|direkt)\b", rule[commands[1].at :], re.IGNORECASE)
        else _ONLY_VIA
    )
    if not via.fullmatch(between.removeprefix(commands[0].text).lstrip("`'\"")):
        return None
    return Check(CheckKind.COMMAND, words=(commands[0].text,), instead=commands[1].text)


_INSISTS = re.compile(r"\b(?:only|always|never|not|use|must|immer|nur|nie|nicht|instead|no)\b", re.IGNORECASE)
_SCRIPT = re.compile(r"(?:\./|scripts?/|bin/)[\w./-]{1,60}|[\w./-]{1,60}\.(?:sh|bash|zsh|py|js|ts|rb|pl)$")
_INTERPRETER = {"py": "python", "js": "node", "ts": "tsx", "rb": "ruby", "pl": "perl"}


def forbidden_scripts(rule: str, bad: Sequence[Object]) -> Check | None:
    """Compile "never run scripts/reset.sh"."""
    paths = [thing for thing in bad if thing.kind is Kind.PATH]
    if not paths or len(paths) < len(bad) or not all(_SCRIPT.match(thing.text) for thing in paths):
        return None
    if not re.search(r"\b(?:run|execut\w{1,3}|call|start|launch|invoke)\s(?:the\s)?[`'\"]?$", rule[: paths[0].at], re.IGNORECASE):
        return None
    words = [path for thing in paths for path in (thing.text, *_by_interpreter(thing.text))]
    return Check(CheckKind.COMMAND, words=entries(words))


def _by_interpreter(path: str) -> Sequence[str]:
    program = _INTERPRETER.get(path.rpartition(".")[2])
    return [f"{program} {path}"] if program else []


_RUN = re.compile(
    r"(?<![\w.])(?:run|running|execute|executing|call|start|launch|invoke|ausführen|aufrufen|starten|laufen|install|type)\b",
    re.IGNORECASE,
)


def forbidden_commands(rule: str, bad: Sequence[Object], instead: str) -> Check | None:
    """Compile a prohibition of commands and flags, such as "no npm, use pnpm" and "never --no-verify"."""
    words = [thing.text for thing in bad if thing.kind is Kind.COMMAND]
    flags = [thing.text for thing in bad if thing.kind is Kind.FLAG]
    if not words and not flags and _RUN.search(rule):
        words = [
            thing.text
            for thing in bad
            if thing.kind is Kind.UNKNOWN and re.fullmatch(r"[a-z][\w.:/-]*(?: [\w.:/=-]+)*", thing.text)
        ]
    if flags:
        words, rest = _with_flags(rule, bad, flags, words)
        if not words:
            return _of_flags(rest) if rest else None
    if words:
        more = [command for pattern, commands in v.MORE for command in commands if re.search(pattern, rule, re.IGNORECASE)]
        words = [word for word in words if not any(command.startswith(f"{word} ") for command in more)] + more
        words = [word for word in words if not _is_service(rule, word) and not _is_explained(rule, word, words)]
    if not words:
        return None
    if any(thing.kind is Kind.PATH and not thing.within for thing in bad) and all(
        word in ("rm", "sed", "mv", "cat") for word in words
    ):
        return None
    if _FAR_TARGET.search(rule) and all(" " not in word and "=" not in word for word in words):
        return None  # "don't ssh into production": a call doesn't show which host that is
    words = [word for word in _for_purpose(rule, words, instead) if not _VERSION.search(word)]
    if not words:
        return None
    words = [form for word in words for form in (word, *other_forms(word, instead))]
    instead = instead or ("docker" if _ON_HOST.search(rule) else "")
    alternatives = [word for word in (" ".join(word.split()) for word in words) if word not in (instead, _nobodys(instead))]
    return Check(CheckKind.COMMAND, words=entries(alternatives), instead=instead) if alternatives else None


def _nobodys(instead: str) -> str:
    """Return the program that no rule forbids as a whole. Git is where something is done, unless another such tool replaces it."""
    return "" if instead in ("jj", "hg", "svn", "sl") else "git"


def _of_flags(words: Sequence[str]) -> Check:
    """Return the check for flags. Those of any program may also be written into a file from which the project is built."""
    general = [word.removeprefix("* ") for word in words if word.startswith("* ")]
    written = (Check(CheckKind.CONTENT, words=entries(general), files=v.BUILD_FILES),) if general else ()
    return Check(CheckKind.COMMAND, words=entries(words), also=written)


def other_forms(command: str, instead: str = "") -> list[str]:
    """Return the further forms of a command, such as `rake db:drop` for `rails db:drop`, but none of what the rule wants instead."""
    found = [
        re.sub(rf"^(?:{pattern})", other, command)
        for pattern, forms in v.OTHER_FORMS
        if re.match(rf"(?:{pattern})(?![\w-])" if pattern[-1].isalpha() else pattern, command)
        for other in forms
    ]
    return [form for form in found if not instead or form.split()[: len(instead.split())] != instead.split()]


def _is_explained(rule: str, word: str, words: Sequence[str]) -> bool:
    """Return whether a program is named more exactly after a colon or in brackets, as in "no silent rm: rm -rf is banned"."""
    exact = next((other for other in words if other.startswith(f"{word} ")), "")
    return (
        bool(exact) and re.search(rf"\b{re.escape(word)}\b[^.;:(]{{0,20}}[:(][^.;]{{0,20}}{re.escape(exact)}", rule) is not None
    )


_RESTARTS = r"(?:re)?start\w{0,3}|stop\w{0,4}|reload\w{0,3}"


def _is_service(rule: str, word: str) -> bool:
    """Return whether a program is only where something is done, as in "truncate tables in psql" and "never restart nginx"."""
    name = re.escape(word)
    return " " not in word and bool(
        re.search(rf"\b(?:table|row|record|schema|data)s?\s(?:in|from)\s(?:the\s)?[`'\"]?{name}\b", rule, re.IGNORECASE)
        or re.search(rf"\b(?:{_RESTARTS})\s(?:the\s)?{name}\b", rule, re.IGNORECASE)
        or re.search(rf"\b{name}\s(?:to\s)?(?:the\s)?(?:prod|production|live)\b", rule, re.IGNORECASE)
    )


_ON_HOST = re.compile(r"\b(?:on the host|outside (?:of )?(?:the )?(?:container|docker)s?|auf dem host)\b", re.IGNORECASE)
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


def _of_any_program(flag: str) -> tuple[str, ...]:
    """Return the pattern for a flag of any program. A short one means something else for each."""
    return (f"* {flag}",) if len(flag) > 5 else ()


_WRAPPED_AS: Mapping[str, tuple[str, ...]] = {"mvn": ("mvnw",), "gradle": ("gradlew",)}


def _with_flags(rule: str, bad: Sequence[Object], flags: Sequence[str], words: list[str]) -> tuple[list[str], list[str]]:
    """Return the commands with each forbidden flag, and if no command is named, the ones to which the flags belong."""
    every = [thing for thing in objects_named(rule, tokenize(rule)) if thing.kind is Kind.COMMAND and "=" not in thing.text]
    found: list[str] = []
    bases: set[str] = set()
    for thing in bad:
        if thing.kind is not Kind.FLAG:
            continue
        owners = _owners_of_flag(rule, every, thing)
        if not owners and thing.text == "--force" and "--force-with-lease" in rule:
            owners = ["git push"]
        for owner in owners:
            plain = " ".join(word for word in owner.split() if not word.startswith("-"))
            bases |= {owner} if plain == owner else set()
            with_value = _with_value(rule, thing)
            flag = thing.text if action_meant(with_value.removeprefix(thing.text)) else with_value
            found += [f"{name} {flag}" for name in (plain, *_WRAPPED_AS.get(plain, ()))]
    if not found:
        return [], [owner for flag in flags for owner in v.FLAG_OWNERS.get(flag, _of_any_program(flag))]
    return [*(word for word in words if word not in bases), *found], []


def _owners_of_flag(rule: str, commands: Sequence[Object], flag: Object) -> list[str]:
    """Return the commands that a flag belongs to: the last one before it with those listed before that, or else the first one."""
    earlier = [command for command in commands if command.at < flag.at]
    if not earlier:
        if not commands:
            action = action_meant(rule)
            known = [owner.removesuffix(f" {flag.text}") for owner in v.FLAG_OWNERS.get(flag.text, ())]
            return known if action in known else [action] if action else []
        listed = [commands[0]]
        for command in commands[1:]:
            if not IN_LIST.fullmatch(text_after(rule[: command.at], listed[-1])):
                break
            listed.append(command)
        return [command.text for command in listed]
    found = [earlier.pop()]
    while earlier and IN_LIST.fullmatch(text_after(rule[: found[-1].at], earlier[-1])):
        found.append(earlier.pop())
    return list(dict.fromkeys(command.text for command in reversed(found)))


_CHOOSES = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|only|always|stick|switched|prefer|nur|immer|nutz\w{1,3}|benutz\w{1,3}|verwend\w{1,3}|nimm|nehm\w{1,2}|ausschließlich|via|with|mit|through|über|manage\w{0,3}|install\w{0,3})\b",
    re.IGNORECASE,
)


def one_of_family(rule: str, wanted: Sequence[Object]) -> Check | None:
    """Compile "we use pnpm here" to a check that forbids the other programs of the same family."""
    names = [thing.text.split()[0] for thing in wanted if thing.kind is Kind.COMMAND]
    if re.search(r"\b(?:only|nur)\s(?:in|under|inside|unter)\b", rule, re.IGNORECASE):
        return None  # "only in mobile/ is yarn allowed" is about the other folders
    if any(thing.kind is Kind.FLAG or "=" in thing.text or " -" in thing.text for thing in wanted):
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


def phrases_for_commands(rule: str, named: Sequence[Object]) -> Check | None:
    """Compile phrases that mean a command, such as "no force-pushing"."""
    if any(thing.kind in (Kind.COMMAND, Kind.FLAG) and thing.text.startswith(("git ", "-")) for thing in named):
        return None
    if _PARTIAL.search(rule):
        return None  # "never amend pushed commits": a call does not show whether the commit was pushed
    low = rule.lower()
    managers = {"npm", "pnpm", "yarn", "bun", "pip"}
    others = any(thing.kind is Kind.COMMAND and thing.text.split()[0] not in managers for thing in named)
    found: list[str] = []
    for pattern, commands in v.PHRASES:
        said = re.search(rf"(?<![\w-])(?:{pattern})(?![\w-]| instead\b| only\b| first\b)", low)
        if said and not (others and "global" in pattern) and not is_wanted(rule, said.start()):
            found += commands
    found += [command for command in _bare_actions(rule) if command not in found]
    if found:  # "never reboot, and no systemctl"
        assign_senses(rule, named, find_cues(rule, tokenize(rule)))
        bad = [thing for thing in named if thing.sense is Sense.FORBID and thing.kind is Kind.COMMAND]
        found += [thing.text for thing in bad if " " in thing.text and thing.text not in found]
    return Check(CheckKind.COMMAND, words=entries(found)) if found else None


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


_SIGN = re.compile(r"\b(?:sign(?:ed|ing)?\b(?![- ]?off)|signier\w*|gpg)", re.IGNORECASE)
_SIGN_OFF = re.compile(r"\bsign(?:ed|ing)?[- ]?off\b|\bdco\b", re.IGNORECASE)
_ALWAYS = re.compile(
    r"\b(?:always|every|each|all|must|immer|jede\w*|alle|only|nur|needs?|require[sd]?|have to|stets|muss|müssen)\b", re.IGNORECASE
)


def required_flags(rule: str) -> Check | None:
    """Compile a rule on flags that a command must have, such as "always sign commits" and "terraform apply needs -lock"."""
    commit = re.search(r"\bcommits?\b|\bcommitt?e[nt]\b|\bcommitting\b", rule, re.IGNORECASE)
    double = re.search(
        r"\b(?:unsigned|unsigniert\w*|without (?:a )?sign\w*|ohne signatur|without (?:the )?-S\b|without (?:the )?-s\b)",
        rule,
        re.IGNORECASE,
    )
    if (
        commit
        and (_SIGN_OFF.search(rule) or re.search(r"(?<![\w-])(?:-s|--signoff)\b", rule))
        and (not NEGATED.search(rule) or re.search(r"without|ohne", rule, re.IGNORECASE))
    ):
        return Check(CheckKind.COMMAND, words=("git commit",), unless=("-s",))
    if commit and (double or _SIGN.search(rule) or re.search(r"(?<![\w-])-S\b", rule)) and (double or not NEGATED.search(rule)):
        return Check(CheckKind.COMMAND, words=("git commit",), unless=("-S",))
    if "--force-with-lease" in rule and re.search(r"\bforce[- ]?push", rule, re.IGNORECASE):
        return Check(CheckKind.COMMAND, words=("git push --force",), instead="git push --force-with-lease")
    named = objects_named(rule, tokenize(rule))
    flags = [_with_value(rule, thing) for thing in named if thing.kind is Kind.FLAG]
    if not flags:
        flags = [word for thing in named if thing.kind is Kind.COMMAND for word in thing.text.split() if word.startswith("-")]
    flags += [
        thing.text for thing in named if ASSIGNMENT.fullmatch(thing.text) and not any(flag.endswith(thing.text) for flag in flags)
    ]
    without = re.search(
        r"(?<![\w-])(?:without|ohne|sans|sin)\b|\b(?:never|don't|do not|nie|nicht)\b[^.;]{0,20}(?<![\w-])(?:forget|omit|skip|leave (?:out|off|away)|drop|miss|vergessen|vergiss|weglassen)\b",
        rule,
        re.IGNORECASE,
    )
    if flags and (apart := _WITHOUT.search(rule)) and not NEGATED.search(rule):
        return _without_flags(rule, named, [flag for flag in flags if rule.find(flag) > apart.start()])
    if any(
        _DENIED.search(rule[: rule.find(flag)]) or _REFUSED_AFTER.match(rule[rule.find(flag) + len(flag) :]) for flag in flags
    ):
        return None
    rule = _before_denial(rule, named)
    if (
        not flags
        or (NEGATED.search(rule) and not without)
        or not (_ALWAYS.search(rule) or without or re.search(r"\buse\b|\bwith\b|\bmit\b|\bpass\b|\bset\b", rule, re.IGNORECASE))
    ):
        return None
    commands = [thing.text for thing in named if thing.kind is Kind.COMMAND and "=" not in thing.text]
    base = (
        next(iter(commands), "")
        or action_meant(rule)
        or ("git pull" if re.search(r"\bpull(?:s|ing)?\b(?! request)", rule) else "")
    )
    words = entries([" ".join(word for word in base.split() if not word.startswith("-"))] if base else [])
    if not words and all("=" in flag and not flag.startswith("-") for flag in flags):
        words = next((names for pattern, names in v.STEPS if re.search(rf"(?<![\w-])(?:{pattern})", rule, re.IGNORECASE)), ())
    if not words:
        return None
    checks = [Check(CheckKind.COMMAND, words=words[:MAX_ENTRIES], unless=group) for group in _alternative_flags(rule, flags)]
    return replace(checks[0], also=tuple(checks[1:MAX_ALSO]))


def _before_denial(rule: str, named: Sequence[Object]) -> str:
    """Return a rule without a last clause that denies nothing named, as in "vitest with --run, never in watch mode"."""
    found = NEGATED.search(rule)
    cut = max(rule.rfind(sign, 0, found.start()) for sign in (",", ";", " - ", "—")) if found else -1
    return rule[:cut] if cut > 0 and not any(thing.at > cut for thing in named) else rule


_WITHOUT = re.compile(r"(?<![\w-])(?:without|ohne)\b", re.IGNORECASE)
_REFUSED_AFTER = re.compile(
    r"[`'\"]?[^,;.]{0,20}\b(?:is|are|ist|sind)\s(?:off[- ]limits|forbidden|banned|prohibited|taboo|tabu|verboten|out|not (?:allowed|ok|okay|wanted))\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|kein\w{0,2}|not|nor)\s[`'\"]?$", re.IGNORECASE)


def _without_flags(rule: str, named: Sequence[Object], flags: Sequence[str]) -> Check | None:
    """Compile "commit without --amend": the flag is forbidden."""
    commands = [thing.text for thing in named if thing.kind is Kind.COMMAND and "=" not in thing.text and " -" not in thing.text]
    base = next(iter(commands), "") or action_meant(rule)
    return Check(CheckKind.COMMAND, words=entries([f"{base} {flag}" for flag in flags])) if base and flags else None


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


_NO_VALUES = frozenset(
    "aufrufen ausführen benutzen verwenden nutzen setzen übergeben committen pushen machen starten commit push run build when please here anymore locally ever flag option switch parameter argument arg tag name value set env".split()
)


def _with_value(rule: str, flag: Object) -> str:
    """Return the flag with the value given in the rule, as in `--namespace shop-dev`. A plain word may not be a value."""
    after = re.match(
        rf"[`'\"]?{re.escape(flag.text)}\s([a-z\d]{{1,20}}(?:[-_.\d][a-z\d]{{1,20}}){{1,4}}|[A-Z][A-Z\d_]{{1,40}}=[\w./:-]{{1,40}}|\d{{1,8}}|[a-z]{{2,20}}(?=[`'\"]?\s*(?:$|[.,;)]|or\b|starten\b|ausführen\b|laufen\b|aufrufen\b)))(?![\w-])",
        rule[flag.at :],
    )
    return f"{flag.text} {after[1]}" if after and after[1].lower() not in STOP_WORDS | _NO_VALUES else flag.text
