"""Decide for each object that a rule mentions whether it is forbidden or wanted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.guard import vocabulary as v
from memoryd.guard.rules.objects import Kind, Object, Sense, Token, text_after, tokenize
from memoryd.guard.rules.words import FORBID, NEW_CLAUSE, WANT


@dataclass(frozen=True, slots=True)
class Cue:
    """A word of a rule that forbids or wants something."""

    sense: Sense
    at: int
    clause: int


_FORBID_PHRASES = re.compile(
    r"(?:keep|leave) (?=[`'\"]?[\w@./-]{2,30}[`'\"]? (?:out|away)\b)|(?:stays?|remains?|bleibt|bleiben) (?:exactly |genau )?(?:as is|(?:as|the way) (?:it|they) (?:is|are))\b|instead of|rather than|hands off|(?:stays?|remains?) with me\b|bleibt bei mir\b|leave (?:that|it) to me\b|leave (?:it|them)\b(?=\W*$|\s?[.,;!])|stopped (?=using|importing|writing)|free (?:of|from)\b|keep (?:out|away|off)|stay (?:out|away|off)|leave (?=.{1,60}\b(?:alone|untouched|as)\b)|off limits|in place of"
    r"|finger weg|hände weg|auf keinen fall|unter keinen umständen|in ruhe|out of bounds|do not|must not|should not|may not|(?:is|are) not|nicht mehr"
    r"|anstelle von|get rid of|(?:moved?|migrated?|switch(?:ed)?|steer|stay) (?:away |clear )?(?:from|off|of)\b|refrain from|get(?:ting)? near|off the table|out of (?:it|this|here)"
    r"|(?:is|are|gets?) (?:only )?(?:managed|maintained|written|produced|exported|created|owned) by (?:the )?(?:[\w.-]{1,20} ){0,2}(?:codegen|tools?|bot|generator|script|pipeline|ci|release)\b"
    r"|no[- ]touch\w{0,4}|ask (?:me )?(?:before|first before) (?:chang|edit|touch|modif)\w{1,5}|(?<=keep )your (?:fingers|hands) out of|(?:must|should|has to|have to|needs? to) (?:stay|remain|be left|be kept)\b(?! (?:in|under|on|within|below)\b)"
    r"|keep (?:it|them) (?:as is|as it is|pristine|intact|unchanged|untouched)|none of your business|not yours|nichts (?:zu suchen|verloren)|(?:bleibt|bleiben) (?:wie|so|unverändert|unangetastet)"
    r"|(?:nobody|no one|no-one) (?:but|except)|only i\b|nur ich\b|read access only|only read access|ignore the (?=.{1,30}\b(?:folder|directory))"
    r"|ban(?:ned)? on|no[- ]go\b|(?:is|are) (?:out|dead|gone|history|over)\b(?! of)|(?:we(?:'ve| have)? )?(?:dropped|ditched|retired|abandoned)\b|no longer|not (?:allowed|permitted|ok|okay|wanted|welcome)"
    r"|(?:doesn't|does not|don't|won't|will not) (?:get|go|come|belong|fly|ship|live|make it)\b(?= (?:in|into|here|past|anywhere|back|near))|(?:has|have) no (?:place|business)\b|stays? out\b|gehört nicht\b|kommt (?:mir |uns )?nicht\b"
    r"|isn't allowed|aren't allowed|don't (?:even )?think about|forget about|got rid of|without asking|(?:is|are) (?:just |only )?(?:build |codegen |generated )?(?:output|artefacts?|artifacts?)\b(?! of\b| by\b)|comes? (?:straight |only )?from (?:the )?(?:codegen|generator)\b|(?:is|are) sealed\b|(?:is|are) (?:much |far |way )?too slow\b|(?:sind|ist) (?:raus|tabu|verboten|passé)|off[- ]bounds|hands? away|nothing (?:gets|goes|is)",
    re.IGNORECASE,
)
_NEGATED_VERBS = frozenset(
    "use using run install with via mit nutzen nutze benutzen benutze verwenden verwende nehmen nehme nimm only must should rely go through sign but always".split()
)


def find_cues(rule: str, tokens: Sequence[Token]) -> list[Cue]:
    """Return the words that forbid or want something, in order."""
    starts: dict[int, int] = {}
    clause = 0
    out: list[Cue] = []
    forbidden_in: set[int] = set()
    spans = [match.span() for match in _FORBID_PHRASES.finditer(rule)]
    phrases = [start for start, _ in spans]
    for index, token in enumerate(tokens):
        if token.boundary or token.low in NEW_CLAUSE:
            clause += 1 if token.text not in "()" else 0
            if token.boundary:
                continue
        starts[token.at] = clause
        if token.quoted or any(start < token.at < end for start, end in spans):
            continue
        low = token.low
        if token.at in phrases or low in FORBID and not (low == "not" and index and tokens[index - 1].low in ("why", "if", "or")):
            out.append(Cue(Sense.FORBID, token.at, clause))
            forbidden_in.add(clause)
        elif (low in WANT or low == "just" and index + 1 < len(tokens) and tokens[index + 1].low in v.PROGRAMS) and not (
            clause in forbidden_in and low in _NEGATED_VERBS
        ):
            out.append(Cue(Sense.WANT, token.at, clause))
            if low == "over":
                forbidden_in.add(clause)
        elif (
            low == "to"
            and index + 1 < len(tokens)
            and (tokens[index + 1].quoted or tokens[index + 1].low in v.PROGRAMS)
            and any(before.low in ("prefer", "bevorzuge") for before in tokens[max(index - 8, 0) : index])
        ):
            out.append(Cue(Sense.FORBID, token.at, clause))
        elif low in ("over", "vor") and any(
            before.low in ("prefer", "use", "bevorzuge") for before in tokens[max(index - 5, 0) : index]
        ):
            out.append(Cue(Sense.FORBID, token.at, clause))
            forbidden_in.add(clause)
    return out


def is_wanted(rule: str, at: int) -> bool:
    """Return whether a place in a rule is after a word that wants something, in a later clause than the prohibition."""
    cues = [cue for cue in find_cues(rule, tokenize(rule)) if cue.at <= at]
    forbids = [cue for cue in cues if cue.sense is Sense.FORBID]
    return bool(forbids) and cues[-1].sense is Sense.WANT and cues[-1].clause > forbids[-1].clause


_POINTS_BACK = re.compile(r"\b(?:it|them|that|these|those|there|es|sie|das|davon|dort|daran|darin|ihn)\b", re.IGNORECASE)
_BY_HAND = re.compile(r"\b(?:edit|touch|patch|tweak|modif|chang|hand|manual|bearbeit|änder|anfass)\w*", re.IGNORECASE)
_IS_GENERATED = re.compile(
    r"\b(?:generated|regenerated|generiert\w?|codegen|written by|auto[- ]?gen\w*|comes? (?:from|out of)|built by|erzeugt|(?:managed|maintained|produced|exported|created|synced|updated) (?:by|from))\b",
    re.IGNORECASE,
)
IN_LIST = re.compile(
    r"[`'\"]?\s{1,3}\(\s?[`'\"]?(?=$)|[`'\"]?\s{0,3}(?:(?:,|/|&|and|or|und|oder|nor|noch)\s{0,3}){1,2}[`'\"]?", re.IGNORECASE
)


def _listed_before(rule: str, named: Sequence[Object], before: Sequence[Object]) -> list[Object]:
    """Return the objects listed directly before these, as in "npm, yarn and bun are forbidden"."""
    found: list[Object] = []
    first = min((thing.at for thing in before), default=0)
    for thing in reversed(named):
        if thing.at < first:
            between = text_after(rule[:first], thing)
            if thing.sense is Sense.WANT and not re.fullmatch(r"\s(?:and|und)\s", between):  # "use httpx, requests is forbidden"
                break
            if not IN_LIST.fullmatch(between):
                break
            found.append(thing)
            first = thing.at
    return found


_EDITS = re.compile(
    r"[^,;:.—()]{0,30}\b(?:edit|touch|chang|modif|alter|rewrit|reformat|patch|tweak|fix|updat|bearbeit|änder|anfass|anrühr|anpass)\w{0,4}\b(?!\s(?:via|with|using|mit|through)\b)",
    re.IGNORECASE,
)
_VERB_ONLY = re.compile(
    r"[^,;:.—()]{0,60}\b(?:hands?|alter|overwrite|delete|rename|write|anything there|pristine|intact|unchanged|untouched|this file|these files|them|fix|patch\w{0,3}|tweak\w{0,3}|reformat|rewrite|update|manual\w{0,4}|manuell\w{0,2}|edit\w{0,3}|touch\w{0,3}|chang\w{1,4}|modif\w{1,4}|alone|off|out|away|weg|anfassen|ändern|bearbeiten|as it is|as they are|as is|you)\b",
    re.IGNORECASE,
)


_MADE_BY = re.compile(r"\b(?:by|from|of|with|via|belongs to|owned by|durch|von|mit|aus)\s(?:the\s)?[`'\"]?$", re.IGNORECASE)


def _is_source(rule: str, thing: Object) -> bool:
    """Return whether a path is what others come from, as in "regenerate them from schema.prisma"."""
    return re.search(r"\b(?:from|aus|via)\s(?:the\s|der\s|dem\s)?[`'\"]?$", rule[: thing.at], re.IGNORECASE) is not None


def _topic(rule: str, named: Sequence[Object], cue: Cue) -> list[Object]:
    """Return what a clause before names, if the prohibition itself names nothing, as in "go.sum: never by hand"."""
    paths = [thing for thing in named if thing.kind is Kind.PATH and thing.at < cue.at and thing.sense is not Sense.FORBID]
    if not paths or not _VERB_ONLY.match(rule[cue.at :]):
        return []
    last = ([thing for thing in paths if not _is_source(rule, thing)] or paths)[-1]
    same = [thing for thing in paths if thing.clause == last.clause]
    return [*_listed_before(rule, named, same), *same]


def _forbid_before(rule: str, named: Sequence[Object], earlier: Sequence[Cue], cue: Cue, reached: Sequence[Object]) -> None:
    """Forbid objects before the cue, as in "npm is forbidden", "legacy/ nicht anfassen" and "dist/ is generated, don't edit it"."""
    last = max((other.at for other in earlier if other.clause == cue.clause and other.sense is Sense.FORBID), default=-1)
    before = [thing for thing in named if thing.at < cue.at and thing.clause == cue.clause]
    if not before and _POINTS_BACK.search(rule[cue.at :]):
        before = [thing for thing in named if thing.at < cue.at and thing.sense is None and thing.clause == cue.clause - 1]
    if not before and not reached and _BY_HAND.search(rule[cue.at :]) and _IS_GENERATED.search(rule[: cue.at]):
        paths = [thing for thing in named if thing.at < cue.at and thing.kind is Kind.PATH and not _is_source(rule, thing)]
        before = [thing for thing in paths if thing.clause >= min(cue.clause - 1, paths[-1].clause)]
    topic = _topic(rule, named, cue) if not before and not reached else []
    before = before or topic
    if _EDITS.match(rule[cue.at :]):  # "the lockfile is pnpm's, don't edit it" forbids no command
        before = [thing for thing in before if thing.kind not in (Kind.COMMAND, Kind.LIBRARY, Kind.FLAG)] or topic
        before = before or _topic(rule, named, cue)
    before = [*_listed_before(rule, named, before), *before]
    if any(thing.kind is Kind.PATH for thing in before):  # "src/api comes from orval, hands off"
        before = [thing for thing in before if thing.kind is not Kind.COMMAND or not _MADE_BY.search(rule[: thing.at])]
    contrast = re.match(
        r"(?:not|never|rather than|instead of)\s(?!allowed|permitted|ok\b|okay|acceptable|an option|wanted|welcome|to be|be\b)\w",
        rule[cue.at :],
        re.IGNORECASE,
    )
    for thing in before:
        if contrast and thing.sense is Sense.WANT and thing not in topic:
            continue  # "use ruff, not the other one"
        if thing.at > last:
            thing.sense = Sense.FORBID
    if before and not any(thing.clause == cue.clause for thing in reached):
        for thing in reached:
            thing.sense = None


_POSTPOSED = re.compile(r"(?:only|instead|nur|stattdessen|please|everywhere|it is)\b", re.IGNORECASE)
_BY_MEANS = re.compile(r"\b(?:with|using|via|by|through|mit|per)\s[`'\"]?$", re.IGNORECASE)
_ASIDE = re.compile(r"\([^()]{0,80}\)")


# "No prettier, biome formats": a name after a comma begins a clause if a word follows that continues no list.
_BEGINS_CLAUSE = re.compile(
    r"[`'\"]?\s(?:is|are|does|do|formats?|lints?|works?|handles?|replaces?|builds?|manages?|runs?|has|covers?|without|ist|sind|reicht|genügt|macht)\b",
    re.IGNORECASE,
)


def _without_afterthoughts(rule: str, reached: Sequence[Object], cue: Cue, end: int) -> list[Object]:
    """Return what a prohibition reaches: all of its clause, and after it only what continues its list, as in "no npm, yarn or bun"."""
    if _IS_GENERATED.match(rule[cue.at :]):  # "generated by prisma" forbids no command
        reached = [thing for thing in reached if thing.kind is not Kind.COMMAND or not _MADE_BY.search(rule[: thing.at])]
    own = [thing for thing in reached if thing.clause == cue.clause]
    if _EDITS.match(rule[cue.at :]) and (
        not own or any(thing.kind is Kind.PATH for thing in own)
    ):  # "never hand-edit the lockfile, npm install writes it" forbids no command
        reached = [
            thing for thing in reached if thing.kind not in (Kind.COMMAND, Kind.LIBRARY) or _BY_MEANS.search(rule[: thing.at])
        ]
        own = [thing for thing in own if thing in reached]
    if not own:
        stops = re.search(r"[,;.!]", rule[cue.at : reached[0].at]) if reached else None
        return [] if stops and len(rule[cue.at : cue.at + stops.start()].split()) > 1 else list(reached)
    last = own[-1]
    for thing in reached:
        if thing.at <= last.at:
            continue
        between = _ASIDE.sub("", text_after(rule[: thing.at], last))
        if (
            thing.kind is Kind.FLAG
            and last.kind is Kind.COMMAND
            and thing.clause == last.clause
            and not re.search(r"[,;:.—]", between)
        ):
            own.append(thing)  # "pass ninja and make no flag -k"
            last = thing
            continue
        after = text_after(rule[:end], thing).lstrip("`'\" ")
        if (
            not IN_LIST.fullmatch(between)
            or between.strip() == ","
            and _BEGINS_CLAUSE.match(text_after(rule, thing))
            or end < 10_000
            and not re.match(r"[,;.:!?()—]|(?:and|or|und|oder|nor)\b", after)
            and len(after) < 3
        ):
            break
        own.append(thing)
        last = thing
    return own


REPLACES = re.compile(
    r"\b(?:replac(?:e|ed|es|ing)|ersetz\w{1,3}|(?:migrat\w{1,3}|switch\w{0,3}|mov\w{1,3}|wechsel\w{0,3}|umgestellt)\s(?:away\s)?(?:from|off|von))\s(?P<old>.{1,60}?)\s(?:with|by|to|durch|auf|zu)\s",
    re.IGNORECASE,
)
_LIKEWISE = re.compile(
    r"\b(?:and|und)?\s?(?:so|as|ebenso|genauso) (?:is|are|ist|sind)\s|\b(?:the )?same (?:goes|holds|applies) (?:for|to)\s|\b(?:das )?gleiche gilt für\s",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"(?<=\s)(?:instead of|rather than|in place of|statt|anstatt|anstelle von)\s", re.IGNORECASE)


_PREDICATE = re.compile(
    r"(?:off[- ]limits|forbidden|banned|prohibited|disallowed|taboo|tabu|verboten|untersagt|not (?:allowed|ok|okay|permitted)|out\b)",
    re.IGNORECASE,
)


_WITHOUT = re.compile(r"(?:without|ohne)\b", re.IGNORECASE)  # says how, as in "docker compose without the dash"


def _is_predicate(rule: str, named: Sequence[Object], cue: Cue) -> bool:
    """Return whether a prohibition is said of what is before it, as in "-lock=false is off limits with terraform"."""
    return _PREDICATE.match(rule, cue.at) is not None and any(
        thing.clause == cue.clause and thing.at < cue.at and thing.sense is not Sense.FORBID for thing in named
    )


def _reached(rule: str, named: Sequence[Object], cue: Cue, end: int) -> list[Object]:
    """Return the objects of which a cue says something, apart from those that a prohibition has before it."""
    reached = [thing for thing in named if cue.at < thing.at < end]
    if cue.sense is Sense.FORBID:
        if _is_predicate(rule, named, cue):
            reached = [thing for thing in reached if thing.clause != cue.clause]
        return _without_afterthoughts(rule, reached, cue, end)
    if not reached and _POSTPOSED.match(rule, cue.at):  # "no boto, boto3 only"
        return [thing for thing in named if thing.clause == cue.clause and thing.at < cue.at and thing.sense is not Sense.FORBID]
    return reached


def assign_senses(rule: str, named: Sequence[Object], cues: Sequence[Cue]) -> None:
    """Decide for each named object whether it is forbidden or wanted."""
    names = {thing.at for thing in named}
    cues = [cue for cue in cues if cue.at not in names]  # the folder `generated` is no prohibition
    for index, cue in enumerate(cues):
        reached = _reached(rule, named, cue, cues[index + 1].at if index + 1 < len(cues) else 10_000)
        for thing in reached:
            thing.sense = cue.sense
        same = [thing for thing in reached if thing.clause == cue.clause and not thing.within]
        if cue.sense is Sense.FORBID and not same and not _WITHOUT.match(rule, cue.at):
            _forbid_before(rule, named, cues[:index], cue, reached)
    _assign_contrasts(rule, named)
    _assign_likewise(rule, named)
    for thing in named:
        if _KEPT.match(text_after(rule, thing)):
            thing.sense = Sense.WANT
    only = [cue for cue in cues if cue.sense is Sense.WANT]
    for thing in named:
        if thing.sense is None and (only or any(other.sense is Sense.FORBID for other in named)):
            thing.sense = Sense.WANT


_KEPT = re.compile(
    r"[`'\"]?\s(?:always\s)?(?:stays?|remains?|must stay|has to stay|bleibt|bleiben)\s(?:on|enabled|active|an|aktiv)\b",
    re.IGNORECASE,
)


def _assign_likewise(rule: str, named: Sequence[Object]) -> None:
    """Forbid the last part of "git reset --hard is forbidden, and so is git clean"."""
    for match in _LIKEWISE.finditer(rule):
        if any(thing.sense is Sense.FORBID and thing.at < match.start() for thing in named):
            for thing in named:
                if match.end() <= thing.at < match.end() + 2:
                    thing.sense = Sense.FORBID


def _assign_contrasts(rule: str, named: Sequence[Object]) -> None:
    """Decide for both sides of "replace moment with dayjs" and "fd statt find"."""
    for match in REPLACES.finditer(rule):
        for thing in named:
            if match.start("old") <= thing.at < match.end("old"):
                thing.sense = Sense.FORBID
            elif match.end() <= thing.at < match.end() + 2:
                thing.sense = Sense.WANT
    for match in _CONTRAST.finditer(rule):  # "fd statt find"
        for thing in named:
            if rule[thing.at : match.start()].strip("`'\" ") == thing.text:
                thing.sense = Sense.WANT
