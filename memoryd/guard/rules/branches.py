"""Compile rules on branches: which are protected, how new ones are named, and where they start."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memoryd.core.checks import Access, Check, CheckKind
from memoryd.guard import vocabulary as v
from memoryd.guard.rules.objects import NOT_A_FILE
from memoryd.guard.rules.words import FOR_EXAMPLE, NEGATED, entries, style_of_names

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


def no_merge_commits(rule: str) -> Check | None:
    """Compile "no merge commits"."""
    if not _FAST_FORWARD.search(rule):
        return None
    return Check(CheckKind.COMMAND, words=("git merge",), unless=("--ff-only", "--squash", "--abort", "--ff"))


def protected_remotes(rule: str) -> Check | None:
    """Compile "never push to upstream" and "never delete the develop branch"."""
    if found := _REMOTE.search(rule):
        return Check(CheckKind.COMMAND, words=(f"git push {found['name'].lower()}",))
    if found := _DELETES_BRANCH.search(rule):
        name = found["name"] or found["other"]
        return Check(CheckKind.COMMAND, words=(f"git branch -D {name}", f"git branch -d {name}", f"git push --delete {name}"))
    return None


_BRANCHES = r"preprod|pre-prod|preproduction|qa|uat|canary|beta|gh-pages|integration|next|main|master|develop|development|trunk|production|prod|staging|stable|live|release|dev|deploy|mainline"
_BRANCH_NAME = rf"(?:(?:{_BRANCHES})(?:/\*?)?|(?:release|hotfix|feature)s?/[\w*.-]{{1,40}})(?![\w/.-]*\w)"
_TO_BRANCH = (
    r"\b(?:to|on|onto|into|in|against|at|auf|nach|auf dem|en|a|na|no|sur|vers|em|su|naar|op)\s(?:(?:the|den|dem|la|el|le|our|your|protected)\s){0,2}"
    r"(?:origin[/ ])?[`'\"]?(?:origin/)?"
)
_BRANCH = re.compile(
    rf"(?:{_TO_BRANCH}|\bprotected(?: branch(?:es)?)?(?: is| are)?:?\s|\b(?:push\w{{0,3}}|commit\w{{0,4}})\s(?:origin\s)?|\brebas(?:e|ing)\sof\s(?:the\s)?|\bbranch(?:es)?\s[`'\"]?)"
    rf"(?P<name>{_BRANCH_NAME})(?P<more>(?:[`'\"]?\s?(?:,|/|\bor\b|\band\b|\boder\b|\bund\b|\bnoch\b|\bnor\b|\bto\b|\bauf\b)\s?(?:(?:or|and|to|auf|oder|und)\s)?[`'\"]?(?:{_BRANCH_NAME})){{0,6}})",
    re.IGNORECASE,
)
_BRANCH_BEFORE = re.compile(
    rf"(?<![\w/.-])[`'\"]?(?P<name>{_BRANCH_NAME})(?P<more>(?:[`'\"]?\s?(?:,|/|\bor\b|\band\b|\boder\b|\bund\b)\s?[`'\"]?(?:{_BRANCH_NAME})){{0,6}})[`'\"]?"
    r"(?:[ -]branch(?:es)?\b|\s(?:to\s)?(?:is|are|ist|sind)\s(?:protected|off[- ]limits|frozen|locked|read[- ]only|tabu|taboo|geschützt|gesperrt|eingefroren)|\s(?:to\s)?(?:directly\s|direct\s)?(?:or\s)?(?:commit|push|gepusht|pushen|committen))",
    re.IGNORECASE,
)
_BRANCH_VERBS: tuple[tuple[str, str], ...] = (
    (r"commit(?!ted config)(?:s|ted|ting|ten|te|tet|ear)?|commite\w{0,2}|eincheck\w{0,3}|eingecheckt", "git commit"),
    (r"(?:force[- ]?)?push(?:es|ed|ing|en|e|t)?|gepush[te]{1,2}", "git push"),
    (r"merg(?:e|es|ed|ing|en)|gemergt|gemerged", "git merge"),
    (r"rebas(?:e|es|ed|ing|en)", "git rebase"),
    (r"cherry-?pick(?:s|ed|ing|en)?", "git cherry-pick"),
    (r"tag(?:s|ged|ging|gen)?", "git tag"),
)


def protected_branches(rule: str) -> Check | None:
    """Compile "never commit on main" and "don't push to release/*": what must not change these branches."""
    rule = re.sub(r"(?<=\w)-(?=branch)", " ", rule, flags=re.IGNORECASE)
    if into := _INTO_OWN.search(rule):
        name = into["name"].lower()
        return Check(CheckKind.COMMAND, words=(f"git merge {name}", f"git merge origin/{name}"))
    named = _BRANCH.search(rule) or _BRANCH_BEFORE.search(rule)
    if named is None:
        return _quoted_branch(rule) or _branch_anywhere(rule)
    sentence = _sentence_around(rule, named.start(), named.end())
    verbs = _commands_on_branch(sentence)
    if not verbs:
        if not re.search(
            r"\b(?:directly|protected|work|touch|direkt|arbeiten|anfassen|anrühren|geschützt|gesperrt|locked|frozen|off[- ]limits|hands off|finger weg|read[- ]only|tabu)\b",
            sentence,
            re.IGNORECASE,
        ) or not re.search(r"\bbranch|\bmain\b|\bmaster\b", sentence, re.IGNORECASE):
            return None
        verbs = ["git commit", "git push"]
    if len(verbs) > 1 and "git merge" in verbs and re.search(r"\bpull request|\bprs?\b", sentence, re.IGNORECASE):
        verbs.remove("git merge")  # "never push, merge a PR"
    if re.search(r"\bforce|--force|(?<!\w)-f\b", sentence, re.IGNORECASE) and "git push" in verbs:
        verbs = ["git push --force"]
    names = [name.lower() for name in re.findall(_BRANCH_NAME, named["name"] + " " + _of_list(named, rule), re.IGNORECASE)]
    if kind := _OR_KIND.match(rule, named.end()):
        names.append(kind["kind"].lower())
    return Check(CheckKind.COMMAND, words=entries(verbs), branch=entries([each for name in names for each in _patterns(name)]))


_OR_KIND = re.compile(
    r"[`'\"]?\s?(?:,|or|and|nor|oder|und)\s(?:to\s|on\s|auf\s)?(?:any\s|the\s|an?\s|our\s|other\s|einen\s){0,2}(?P<kind>release|hotfix|support|staging|production)[ -]branch(?:es)?\b",
    re.IGNORECASE,
)


def _of_list(named: re.Match[str], rule: str) -> str:
    """Return the further branches of a list, but not "staging" in "not to production, staging first"."""
    return "" if _NEXT_STEP.match(rule[named.end() :]) else named["more"]


# "Never merge main into feature branches": the branch is what is merged.
_INTO_OWN = re.compile(
    r"\b(?:never|don't|do not|no|nie|nicht)\b[^.;,]{0,12}\bmerg\w{1,3}\s(?:the\s)?[`'\"]?(?P<name>main|master|develop|trunk)[`'\"]?\s(?:back\s)?(?:into|in)\s(?!main|master|develop|release)",
    re.IGNORECASE,
)
_NEXT_STEP = re.compile(r"[`'\"]?\s(?:first|instead|only|is fine|is ok(?:ay)?|zuerst|stattdessen)\b", re.IGNORECASE)
_KINDS_OF_BRANCHES = frozenset({"release", "hotfix", "bugfix", "feature", "support"})
_MAIN = ("main", "master")


def _patterns(name: str) -> Sequence[str]:
    """Return the names that a branch, or a kind of branches such as "release", stands for."""
    if name.endswith("/"):
        return [f"{name}*"]
    name = re.sub(r"(?<=\d\.)x$", "*", name)  # release/2.x
    return [name, f"{name}/*", f"{name}-*"] if name in _KINDS_OF_BRANCHES else [name]


# A branch that can't be anything else, wherever the rule names it.
_ANYWHERE = re.compile(
    r"(?<![\w/.-])(?:(?P<name>main|master|develop|trunk|mainline|gh-pages|preprod|(?:release|hotfix|bugfix|feature|support)s?/\*)(?![\w/-]|\.\w)"
    r"|(?:the |our )?(?P<kind>release|hotfix|bugfix|support|default|main|shared|common|protected|long-lived) branch(?:es)?\b)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:from|off|of|than|based on|against|use|create|into a|on a|instead|but|sondern|von|statt)\s(?:the |origin/|our |a )?[`'\"]?$",
    re.IGNORECASE,
)


def _branch_anywhere(rule: str) -> Check | None:
    """Compile "keep main clean: no commits there" and "release/* is frozen, no pushes"."""
    verbs = _commands_on_branch(rule)
    if re.search(r"\brewrit\w{1,3} (?:the )?history\b|\bforce", rule, re.IGNORECASE):
        verbs = ["git push --force"]
    found = [match for match in _ANYWHERE.finditer(rule) if not _ELSEWHERE.search(rule[: match.start()])]
    names = [each for match in found for each in _named(match)]
    return Check(CheckKind.COMMAND, words=entries(verbs), branch=entries(names)) if verbs and names else None


def _named(match: re.Match[str]) -> Sequence[str]:
    if match["name"]:
        return [match["name"].lower()]
    kind = match["kind"].lower()
    return (
        [*_MAIN, "develop"]
        if kind in ("shared", "common", "protected", "long-lived")
        else (_MAIN if kind in ("default", "main") else _patterns(kind))
    )


_ONLY_TO = re.compile(
    r"(?:\bonly\b[^.;,]{0,15}\b(?P<verb>push|commit)\w{0,4}|\b(?P<late>push|commit)\w{0,4}\b[^.;,]{0,12}\bonly)\b[^.;,]{0,12}?\s(?:to|on|onto)?\s?"
    r"(?:(?:your|own|a|the|new)\s)?(?:branch(?:es)?\s)?(?:starting with|beginning with|named|called|under|prefixed with|that (?:start|begin) with)?\s?"
    r"[`'\"]?(?P<name>[A-Za-z][\w.-]{0,20}/[\w*.-]{0,40})",
    re.IGNORECASE,
)
_ON_FEATURE_BRANCHES = re.compile(
    r"\b(?:all|every|only|always|nur|immer|commits?|work|changes?|arbeit\w{0,3})\b[^.;,]{0,40}\b(?:on|in|to|into|auf)\s(?:an?\s|your\s|its\s|einem\s|own\s|eigenen\s|separate\s){0,3}"
    r"(?:feature|topic|separate|own|work)[- ]?branch(?:es)?\b(?!\s(?:from|off))"
    r"|\b(?:always|first|must|immer|use|work)\b[^.;,]{0,20}\b(?:create|make|open|use|start|on)\s(?:an?\s)(?:new\s|separate\s|own\s|feature\s|topic\s){0,2}branch\b[^.;,]{0,4}\b(?:before|first|for (?:every|each|all|any))\b",
    re.IGNORECASE,
)


_ONLY_PUSH_OWN = re.compile(
    r"\b(?:only|nur)\b[^.;,]{0,12}\bpush\w{0,3}\b[^.;,]{0,12}\b(?:to|on|auf)\s(?:an?\s|your\s|own\s|the\s|deinen?\s){1,2}(?:feature|topic|own|work)?[- ]?branch",
    re.IGNORECASE,
)
_REQUESTS = r"(?:prs?|pull requests?|merge requests?|mrs?)"
_BASE = re.compile(
    rf"\b{_REQUESTS}\b[^.;,]{{0,25}}\b(?:against|target\w{{0,3}}|to|into|auf|gegen)\s(?:the\s)?[`'\"]?(?P<name>main|master|develop|dev|trunk|staging)\b",
    re.IGNORECASE,
)
_DRAFT = re.compile(rf"\b(?:draft {_REQUESTS}|{_REQUESTS}\b[^.;,]{{0,25}}\b(?:as )?drafts?)\b", re.IGNORECASE)
_SQUASH = re.compile(
    r"\bsquash[- ]?merg\w{1,3} only\b|\bonly squash|\bmerg\w{1,3} (?:only|nur) (?:by|with|per|via|mit) squash|\bmerges? nur per squash|\balways squash\b(?=.{0,30}\b(?:merg|pr))",
    re.IGNORECASE,
)


def pull_requests(rule: str) -> Check | None:
    """Compile "PRs always target develop", "PRs must be drafts" and "squash merges only"."""
    if _SQUASH.search(rule):
        return Check(CheckKind.COMMAND, words=("gh pr merge", "git merge"), unless=("--squash", "--abort"))
    if not re.search(r"\b(?:always|must|only|open|create|immer|nur|should)\b", rule, re.IGNORECASE):
        return None
    found = _BASE.search(rule)
    if found and NEGATED.search(rule[: found.start("name")]):
        return Check(CheckKind.COMMAND, words=(f"gh pr create --base {found['name'].lower()}",))
    if found:
        return Check(CheckKind.COMMAND, words=("gh pr create",), unless=(f"--base {found['name'].lower()}",))
    if (found := _DRAFT.search(rule)) and not NEGATED.search(rule[: found.start()]):
        return Check(CheckKind.COMMAND, words=("gh pr create",), unless=("--draft",))
    return None


def only_on_branches(rule: str) -> Check | None:
    """Compile "only push to claude/*" and "all work happens on feature branches"."""
    if found := _ONLY_TO.search(rule):
        name = found["name"].rstrip(".")
        verb = (found["verb"] or found["late"]).lower()
        return Check(CheckKind.COMMAND, words=(f"git {verb}",), branch=(f"!{name}*" if name.endswith("/") else f"!{name}",))
    if _ONLY_PUSH_OWN.search(rule):
        return Check(CheckKind.COMMAND, words=("git push",), branch=(*_MAIN, "develop"))
    if _ON_FEATURE_BRANCHES.search(rule) and not NEGATED.search(rule):
        return Check(CheckKind.COMMAND, words=("git commit",), branch=_MAIN)
    return None


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
    verbs = _commands_on_branch(sentence)
    name = found["name"] or found["before"]
    if not verbs or re.search(r"\.\w{1,4}$|/$", name) or name.lower() in v.PROGRAMS:
        return None
    return Check(CheckKind.COMMAND, words=entries(verbs), branch=(name,))


def _commands_on_branch(sentence: str) -> list[str]:
    """Return the commands of git that the verbs of a sentence mean."""
    return [
        command for pattern, command in _BRANCH_VERBS if re.search(rf"(?<![\w-])(?:{pattern})(?!\w|-?m)", sentence, re.IGNORECASE)
    ]


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
    r"^branches:|\bbranch(?:es)?[- ]?(?:names?|namen|prefix(?:es)?)\b|\b(?:nam(?:e|ing)|call) (?:of )?(?:\w{1,10} ){0,2}branch(?:es)?\b|\bbranchnamen\b"
    r"|\b(?:new |all |every |each |neue |alle )?branch(?:es)?\s(?:must |should |have to |always |names? )?(?:be(?:gin)?s?|start\w{0,3}|follow\w{0,3}|are (?:called|named)|heißen|beginnen|müssen|named|called|prefixed|in (?:kebab|snake|lower|camel)\w{0,6}|(?:kebab|lower|snake)[- ]?case|without|contain|carry|include|needs?|gets?|use|hat|haben|enthalten)\b|\bbranch(?:es)?\s(?:must|always)\s(?=[a-z]{2,12}/)|\bas (?:a |the )?prefix (?:for|of) (?:\w{1,8} ){0,2}branch(?:es)?\b|\bbranch(?:es)? (?:that )?you (?:create|make|open)\b[^.;]{0,10}\b(?:begin|start|is named|must)|\b(?:neue |new )?branch(?:es)?\b[^.;]{0,12}\b(?:mit|with)\s(?:dem\s|the\s|a\s|einem\s)?(?:präfix|prefix)"
    r"|\b(?:no|without) (?:slashes|spaces|underscores|uppercase|capitals?) in branch|\bprefix (?:all |your |new |every )*branch(?:es)?\b|\bbranch(?:es)?\s(?:go|live|belong|stay) under\b",
    re.IGNORECASE,
)
_BRANCH_PREFIX = re.compile(r"(?<![\w/.*<{-])([A-Za-z][A-Za-z\d_-]{1,20}/)(?!\w+/\w+\.\w)")
_ONE_BRANCH = re.compile(
    r"\b(?:only|stay|nur|always|ausschließlich|keep working|remain)\b[^.;]{0,30}\b(?:on|auf|in)\s(?:(?:the|this|dem|der)\s){0,1}(?:branch\s)?[`'\"]?(?P<name>[A-Za-z][\w.-]{0,30}/[\w./-]{1,50}|(?<=branch )[\w.-]{2,50})",
    re.IGNORECASE,
)


def branch_names(rule: str) -> Check | None:
    """Compile "branches are named feature/…" and "work only on branch feature/x"."""
    if check := _no_other_branches(rule) or _start_of_branches(rule):
        return check
    if (
        (found := _ONE_BRANCH.search(rule))
        and re.search(r"\bbranch", rule, re.IGNORECASE)
        and not re.search(r"\b(?:push|commit)\w{0,4}\b", rule, re.IGNORECASE)
        and found["name"].lower() not in ("you", "the", "this", "same", "current")
    ):
        return Check(CheckKind.BRANCH, words=(found["name"].rstrip("."),), access=Access.READ)
    if not (found := _BRANCH_RULE.search(rule)) or re.search(r"\b(?:commit|push|merg)\w*", rule, re.IGNORECASE):
        return None
    sentence = _sentence_around(rule, found.start(), found.end())
    before_not = re.split(r"\b(?:not|never|no|nicht|kein\w{0,2}|instead of|rather than|statt)\b", sentence, flags=re.IGNORECASE)
    if re.search(r"(?<![\w/])<?(?:type|kind|typ)>?/", before_not[0], re.IGNORECASE):
        return Check(CheckKind.BRANCH, words=("*/*",))
    prefixes = [match[1] for match in _BRANCH_PREFIX.finditer(before_not[0]) if not NOT_A_FILE.match(match[1] + "x")]
    rest = before_not[0]
    if not prefixes and (ticket := re.search(r"\b[A-Z]{2,8}-(?=\d|[NXn#<{])", rest)):
        starts = re.search(r"\b(?:start|begin|prefix|lead|anfang|beginn)", sentence, re.IGNORECASE)
        digit = "[0-9]" if re.match(r"\d|[Nn#<{]", rest[ticket.end() :]) else ""
        return Check(CheckKind.BRANCH, words=(f"{ticket[0]}{digit}*" if starts else f"*{ticket[0]}{digit}*",))
    style = style_of_names(sentence)
    if not prefixes:
        words = (style,) if style else _with_number(rest)
        return Check(CheckKind.BRANCH, words=words) if words else None
    if (
        re.search(r"\b(?:hotfix|bugfix|fix|release|spike|experiment\w{0,3})[- ]branch", sentence, re.IGNORECASE)
        and len(prefixes) < 2
    ):
        return None  # a rule on some branches only
    example = FOR_EXAMPLE.search(rest)
    if example and example.start() < rest.index(prefixes[0]) and len(prefixes) < 3:
        return Check(CheckKind.BRANCH, words=("*/*",))  # only an example of a type
    styled = (Check(CheckKind.BRANCH, words=(style,)),) if style else ()
    return Check(CheckKind.BRANCH, words=entries([_with_ticket(rest, prefix) for prefix in prefixes]), also=styled)


def _with_number(text: str) -> tuple[str, ...]:
    """Return the pattern of names with a ticket such as SHOP-12, or with the number of an issue."""
    if re.search(r"\b(?:ticket|jira|story)\b", text, re.IGNORECASE):
        return ("*[A-Z]*-[0-9]*",)
    return ("*[0-9]*",) if re.search(r"\bissue\b", text, re.IGNORECASE) else ()


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
    r"\b(?:never|don't|do not|no|kein\w{0,2})\b[^.;,]{0,20}\b(?:(?:creat|mak|open|start|anleg|erstell)\w{0,4}\s(?:any\s|new\s|own\s|a\s|your\s){0,3}|new\s|neue\w?\s)branch(?:es)?\b(?!\s(?:from|off|named|called|without|with|under))|\bkeine\w? (?:neuen )?branches\s(?:anlegen|erstellen)",
    re.IGNORECASE,
)
_CURRENT = "<current>"  # matches no name, so that each other branch is forbidden
_STARTS = re.compile(
    rf"\bbranch(?:es|ing)?\b[^.;]{{0,30}}?\b(?:off|from|based on|start\w{{0,3}} (?:from|at)|von|aus)\s(?:of\s|the\s|latest\s|up-to-date\s|current\s|dem\s|an\s){{0,3}}[`'\"]?(?:origin/)?(?P<name>{_BRANCHES})\b",
    re.IGNORECASE,
)


_FROM_INSTEAD = re.compile(  # "never from main, always from develop"
    rf"\b(?:always|only|but|immer|nur|sondern|use)\s(?:from\s|off\s|von\s|aus\s)?(?:of\s)?[`'\"]?(?:origin/)?(?P<name>{_BRANCHES})\b",
    re.IGNORECASE,
)


def _start_of_branches(rule: str) -> Check | None:
    """Compile "always branch off develop"."""
    found = _STARTS.search(rule)
    if found and NEGATED.search(rule[: found.end()]) and (other := _FROM_INSTEAD.search(rule, found.end())):
        return Check(CheckKind.BRANCH, words=("*",), branch=(other["name"].lower(),))
    if found is None or re.search(r"\b(?:push|merg|delet)\w*", rule, re.IGNORECASE) or NEGATED.search(rule[: found.end()]):
        return None
    return Check(CheckKind.BRANCH, words=("*",), branch=(found["name"].lower(),))


def _no_other_branches(rule: str) -> Check | None:
    """Compile "stay on this branch", "don't create branches" and "don't check out main"."""
    if found := _NOT_TO.search(rule):
        return Check(CheckKind.BRANCH, words=(f"!{found['name'].lower()}",), access=Access.READ)
    if re.search(r"\b(?:other people'?s|someone else'?s|others'|my|fremde\w?)\s", rule, re.IGNORECASE) and not re.search(
        r"\bstay\b", rule, re.IGNORECASE
    ):
        return None  # a call doesn't show whose branch it is
    if _NO_OTHER.search(rule) and not _ONE_BRANCH_NAME.search(rule):
        return Check(CheckKind.BRANCH, words=(_CURRENT,), access=Access.READ)
    return Check(CheckKind.BRANCH, words=(_CURRENT,)) if _NO_NEW_BRANCHES.search(rule) else None


_NOT_TO = re.compile(
    r"\b(?:never|don't|do not|no|nie|nicht)\b[^.;,]{0,12}\b(?:switch(?:ing)? (?:back )?to|check(?:ing)? ?out|checkouts? of|change to)\s(?:the\s)?[`'\"]?(?P<name>main|master|develop|trunk)\b",
    re.IGNORECASE,
)
_ONE_BRANCH_NAME = re.compile(
    r"\bbranch [`'\"]?\w{1,20}[/-]\w|[`'\"][\w-]{1,20}/[\w.-]{1,30}[`'\"]|\b\w{2,12}/[\w-]{2,30}(?!\w| to\b)(?<!checkout/switch)(?<!switch/checkout)"
)
