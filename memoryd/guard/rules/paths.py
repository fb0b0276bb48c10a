"""Compile rules on existing files and folders: those not to be changed or read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memoryd.core.checks import Access, Check, CheckKind, New
from memoryd.guard import vocabulary as v
from memoryd.guard.rules.objects import Kind, Object, objects_named, tokenize
from memoryd.guard.rules.words import NEGATED, entries

_READS = re.compile(
    r"\b(?:go into|read|reading|(?<!is )(?<!are )open(?! (?:an? |the )?(?:ticket|issue|pr|mr|pull|merge))|opening|opened|printed|shown|dumped|look|looking|peek|view|print|cat|show|display|(?<!db )(?<!database )(?<!direct )(?<!network )(?<!api )(?<!sql )access|see|inspect|lesen|öffnen|ansehen|anschauen|reinschauen"
    r"|hineinschauen|reinsehen|ausgeben|anzeigen|auslesen|schau|schauen|lies|öffne|expose|leak)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:touch\w*|edit\w*|chang\w+|modif\w+|writ\w+|delet\w+|remov\w+|mov\w+|overwrit\w+|updat\w+|creat\w+|add|adding|put|alter\w*|generated|read-only|readonly"
    r"|no[- ]touch\w{0,4}|stay\w{0,3}|remain\w{0,3}|business|yours|nichts (?:zu suchen|verloren)|bleib\w{1,2}|read access|ignore|out of|go into|pristine|intact|ändere|off[- ]limits|hands off|by hand|hand-|manual\w{0,4}|manuell\w{0,2}|von hand|renam\w{1,3}|taboo|off-bounds|out of bounds|leave|immutable|sacred|steer clear|anpassen|angepasst|umbenennen|verschieben|anrühr\w{0,2}|alone|untouched|keep (?:out|away|off)|stay (?:out|away|off)|frozen|vendored|mess|anfassen|anrühren|ändern|geändert|bearbeiten"
    r"|bearbeitet|löschen|gelöscht|finger|hände|schreib\w*|verändern|verändert|unangetastet|unberührt|tabu|ruhe|generiert|anlegen|ändere|rühr\w*|fass\w*|ablegen|commit\w*|format(?:s|ted|ting)?|fix(?:es|ed|ing|en)?|patch\w*|tweak\w*|refactor\w*|reformat\w*|lass|check(?:ed|ing)? in(?:to)?)\b",
    re.IGNORECASE,
)
_OUTSIDE_PROJECT = re.compile(
    r"\boutside (?:of )?(?:this|the|our|my) (?:repo(?:sitory)?|project|workspace|working (?:dir|directory|tree)|checkout)\b|\baußerhalb (?:des|dieses) (?:repos?|projekts?|repositor\w{1,3})\b",
    re.IGNORECASE,
)


_ONLY_READ = re.compile(
    r"\b(?:only|just)\s(?:ever\s)?read\s(?:from\s|in\s)?|\bread[- ]only access to\s|\b(?:nur|ausschließlich)\s(?:aus|von)\s(?=\S{1,60}\slesen\b)",
    re.IGNORECASE,
)


def only_read(rule: str, named: Sequence[Object]) -> Check | None:
    """Compile "you may only read from data/raw": nothing there may change."""
    found = _ONLY_READ.search(rule)
    if found is None:
        return None
    paths = [thing for thing in named if thing.kind is Kind.PATH and 0 <= thing.at - found.end() < 12]
    return Check(CheckKind.PATH, paths=(paths[0].text,)) if paths else None


def nothing_outside_project(rule: str) -> Check | None:
    """Compile "don't edit files outside this repository"."""
    changes = re.search(r"\b(?:edit|chang|writ|creat|modif|touch|delet|ändern|schreib)\w{0,4}\b", rule, re.IGNORECASE)
    if not changes or not _OUTSIDE_PROJECT.search(rule):
        return None
    return Check(CheckKind.PATH, paths=("/*", "~/*"), unless=("/tmp/", "/dev/", "/var/tmp/"))  # noqa: S108


_BY_TOOL = re.compile(
    r"\b(?:only|nur|must|always|exclusively|ausschließlich|immer)\b.{0,60}\b(?:via|by|through|from|with|using|mit|durch|über|von|may|darf)\b|\b(?:via|by|through|with|using|mit|durch|über)\b.{0,60}\b(?:only|nur|exclusively|ausschließlich)\b"
    r"|\bonly\s\S{1,20}\s(?:may|can|should|is allowed to|gets to|touches|writes|changes|edits|updates|manages)\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:chang|updat|edit|modif|writ|generat|manag|maintain|touch|regenerat|geschrieben|geändert|aktualisiert|erzeugt|generiert|come)\w{0,4}\b|\block\b",
    re.IGNORECASE,
)


def changed_by_tool_only(rule: str, named: Sequence[Object]) -> Check | None:
    """Compile "Gemfile.lock changes only via bundle install": nobody edits the file."""
    paths = [thing for thing in named if thing.kind is Kind.PATH and not thing.within]
    tools = [thing for thing in named if thing.kind is Kind.COMMAND and "=" not in thing.text]
    locks = any(thing.text.rpartition("/")[2] in v.LOCK_FILES for thing in paths)
    if not paths or not tools or not _BY_TOOL.search(rule) or not (locks or _CHANGED.search(rule)):
        return None
    if not locks and not re.search(r"\.\w{1,10}$", paths[0].text):
        return None
    return Check(CheckKind.PATH, paths=entries([thing.text for thing in paths]))


def files_by_kind(rule: str) -> Check | None:
    """Compile a prohibition of files that are named by their kind, such as "never edit lock files"."""
    acts = _CHANGES.search(rule) or _READS.search(rule)
    edits = re.search(r"\b(?:by hand|hand-|edit|touch|modif|von hand|bearbeit|anfass)", rule, re.IGNORECASE)
    if not acts or not edits and re.search(r"\b(?:commit|push|run|deploy)\w*\b", rule, re.IGNORECASE):
        return None
    for pattern, paths in v.PATH_CONCEPTS:
        if re.search(rf"(?<![\w./-])(?:{pattern})(?![\w/-]|\.\w)", rule, re.IGNORECASE):
            old = re.search(
                r"\b(?:applied|existing|old|merged|committed|past|shipped|alte|bestehende)\s(?:migration|file|snapshot)",
                rule,
                re.IGNORECASE,
            )
            if "migration" in pattern and not old:
                return None
            reads = _READS.search(rule) and not re.search(r"\bread[- ]only\b", rule, re.IGNORECASE)
            return Check(
                CheckKind.PATH,
                paths=paths,
                access=Access.READ if reads else Access.WRITE,
                new=New.EXCEPT if old else _age_meant(rule),
            )
    return None


def _age_meant(rule: str) -> New:
    """Return that only new files are meant in "never add a second tsconfig"."""
    adds = re.search(
        r"\b(?:no|never|don't|do not|kein\w{0,2}|nie)\s(?:ever\s)?(?:add|create|creating|introduce|new|second|another|more|neuen?)\b",
        rule,
        re.IGNORECASE,
    )
    changes = re.search(r"\b(?:touch|edit|chang|modif|delet|remov|overwrit|updat|ändern|bearbeit)\w{0,4}\b", rule, re.IGNORECASE)
    return New.ONLY if adds and not changes else New.ANY


_ONLY_THERE = re.compile(
    r"\bonly (?:ever )?(?:edit|touch|change|modify|write|work)\b(?! (?:on|with|after|when|if))|\b(?:edit|touch|change|modify|write|work) only (?:in|under|below|inside|within|files)\b"
    r"|\b(?:stay|keep|limit yourself|limit changes|restrict changes|restrict yourself|keep (?:all )?changes)\b[^.;]{0,20}\b(?:in|inside|within|to)\b"
    r"|\bnur\s(?:\w{1,12}\s){0,2}(?:in|unter|innerhalb)\b[^.;]{0,60}\b(?:arbeiten|ändern|bearbeiten|schreiben)\b",
    re.IGNORECASE,
)


def these_places_only(rule: str, wanted: Sequence[Object]) -> Check | None:
    """Compile "you may only touch src/ and tests/"."""
    if not _ONLY_THERE.search(rule) or re.search(r"\bbranch", rule, re.IGNORECASE):
        return None
    folders = [thing.text for thing in wanted if thing.kind is Kind.PATH]
    if not folders or any(thing.kind is not Kind.PATH for thing in wanted):
        return None
    return Check(CheckKind.PATH, paths=("*",), unless=entries([*folders, "/tmp/"]))  # noqa: S108


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
    "single byte line lines bit thing resolve resolving conflict conflicts merge de des du di los las les le la el un une a an put anything nothing something everything files file code change changes changing changed edit edits editing edited touch touching modify modifying modification modifications modified stuff any all"
    " ever please write writes writing written delete deleting remove removing rename renaming move moving update updating alter create creating add adding new make making manual manually direct"
    " directly hand your own you our this that these those the from with without asking first files' content contents existing old generated build output other further more mess fix fixes fixing"
    " refactor refactoring reformat reformatting format formatting lint linting improve clean cleanup overwrite overwriting put place leave keep stay away work working should must may can never ever"
    " don't not hands off and or nor also under inside within into folder directory source sources work done permission approval ask asking touch touches commit commits get gets".split()
)
_DIRECT_OBJECT = re.compile(
    r"\b(?:no|never|don't|do not|not|avoid|without)\s(?P<words>[a-z' -]{3,60}?)\s(?:in|into|under|inside|within|below|to)\s(?:the\s)?[`'\"]?$",
    re.IGNORECASE,
)


def _special_things(rule: str, bad: Sequence[Object]) -> str:
    """Return what a rule forbids in a folder if that is not everything there, as "feature flags" in "no feature flags in src/core"."""
    at = min(thing.at for thing in bad if thing.kind is Kind.PATH)
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
    r"|\b(?:read|look at|look|view|open)\w{0,3}(?:,| but|, but) (?:not|never|don't)\b|\blesen\b.{0,20}\b(?:ok|okay|erlaubt|ja)\b",
    re.IGNORECASE,
)


_GOES_ELSEWHERE = re.compile(
    r"\b(?:goes?|belongs?|lives?|written|writes?|saved?|stored?|put)\b[^.;]{0,60}\bnot (?:to|in|into|under|inside)\b",
    re.IGNORECASE,
)


# Folders of generated files, which every package of a monorepo may have.
_OUTPUTS = frozenset("dist/ build/ out/ coverage/ node_modules/ generated/ __generated__/ __snapshots__/ .next/ .turbo/".split())


def is_any_folder(rule: str, path: str) -> bool:
    """Return whether a rule means each folder of that name, as in "never in a stories/ folder"."""
    return (
        path.count("/") == 1
        and re.search(rf"\b(?:an?|any|eine[mnr]?)\s[`'\"]?{re.escape(path.rstrip('/'))}\b", rule, re.IGNORECASE) is not None
    )


_ABSENT = re.compile(
    r"\b(?:has|have) no (?:place|business)\b|\b(?:doesn't|does not|don't) belong\b|\bstays? out of\b", re.IGNORECASE
)
_PUTS = re.compile(r"\bput\b", re.IGNORECASE)


def forbidden_paths(rule: str, bad: Sequence[Object]) -> Check | None:
    """Compile a prohibition of named files and folders, such as "never edit legacy/"."""
    paths = [thing.text for thing in bad if thing.kind is Kind.PATH]
    if not paths:
        return None
    reads, changes = _READS.search(rule) is not None, _CHANGES.search(rule) is not None
    if not (reads or changes or _ABSENT.search(rule)):
        return None
    if _GOES_ELSEWHERE.search(rule) and any(path.strip("/") in v.WHOLE_TREES for path in paths):
        return None  # "generated output goes to out/, not to src/" is not about all that is in src/
    if re.search(
        r"\bcommit\w*\b|\bcheck(?:ed|ing)? (?:in\b|into)|\b(?:to|in|into) (?:git|version control)\b|\beincheck",
        rule,
        re.IGNORECASE,
    ) and not re.search(r"\b(?:touch|edit|chang|modif|anfassen|ändern)", rule, re.IGNORECASE):
        return Check(CheckKind.COMMAND, words=entries([f"git {verb} {path}" for path in paths for verb in ("add", "commit")]))
    if re.search(
        r"\b(?:outside|außerhalb|en dehors|fuera|fora)\b", rule, re.IGNORECASE
    ):  # "nothing outside src/"; scratch files stay possible
        return Check(CheckKind.PATH, paths=("*",), unless=entries([*paths, "/tmp/"]))  # noqa: S108
    if _ABSENT.search(rule) and all(re.search(r"\.\w{1,10}$", path) for path in paths):
        return Check(CheckKind.PATH, paths=entries(paths), new=New.ONLY)
    if _ONLY_NEW.search(rule) and not _EXISTING.search(rule) and not (_PUTS.search(rule) and _special_things(rule, bad)):
        anywhere = [
            sign + path.rstrip("/") + end
            for path in paths
            if is_any_folder(rule, path)
            for sign, end in (("*/", ""), ("*/", "/*"))
        ]
        return Check(CheckKind.PATH, paths=entries([*paths, *anywhere]), new=New.ONLY)
    if not reads and all(thing.within for thing in bad if thing.kind is Kind.PATH) and (special := _special_things(rule, bad)):
        files = next((files for pattern, files in v.FILE_KINDS if re.fullmatch(pattern, special, re.IGNORECASE)), ())
        return Check(CheckKind.PATH, paths=entries(paths), files=files, new=New.ONLY) if files else None
    paths = [each for path in paths for each in ((path, f"*/{path}*") if path in _OUTPUTS else (path,))]
    only_reads = _MAY_READ.search(rule)
    return Check(CheckKind.PATH, paths=entries(paths), access=Access.READ if reads and not only_reads else Access.WRITE)


_APPEND_ONLY = re.compile(
    r"\bappend[- ]only\b|\b(?:that (?:is|are)|which (?:is|are)|what(?:'s| is)) already (?:there|in|applied|merged|committed|run)\b|\b(?:existing|bestehende\w?|old|merged|applied|committed|already[- ]\w{3,10}|alte\w?|vorhandene\w?)\s(?:in\s)?(?:[\w/.-]{1,40}\s){0,2}?(?:files?|migrations?|dateien|migrationen|ones?|entries)\b",
    re.IGNORECASE,
)


def no_changes_to_existing(rule: str) -> Check | None:
    """Compile "db/migrations is append-only": existing files must not change, but new ones may be added."""
    kept = NEGATED.search(rule) or re.search(
        r"\b(?:leave|keep)\b.{1,60}\b(?:alone|untouched|as is|as they are)\b|\boff[- ]limits\b|\bfrozen\b", rule, re.IGNORECASE
    )
    if not _APPEND_ONLY.search(rule) or not _CHANGES.search(rule) or not kept:
        return None
    paths = [
        thing.text
        for thing in objects_named(rule, tokenize(rule))
        if thing.kind is Kind.PATH and "/" in thing.text.rstrip("/") + "/"
    ]
    folders = [path for path in paths if "/" in path and not re.search(r"\.\w{1,5}$", path)]
    return Check(CheckKind.PATH, paths=entries(folders[:1]), new=New.EXCEPT) if folders else None
