"""Compile rules on what is written into files: calls, words, imports, SQL statements and the language of comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memoryd.core.checks import MAX_ENTRIES, Check, CheckKind, Form
from memoryd.guard import vocabulary as v
from memoryd.guard.rules.commands import manifests_named
from memoryd.guard.rules.objects import MEMBER, Kind, Object, Sense, subject_folder, tokenize
from memoryd.guard.rules.senses import assign_senses, find_cues, is_wanted
from memoryd.guard.rules.words import NEGATED, code_languages, entries, natural_languages

_IDENTIFIER = re.compile(r"[A-Za-z_$@#!][\w.$:!@<>*-]{0,60}")


_SEVERAL_WORDS = re.compile(r"[\w.$@!:-]{1,30}(?: [\w.$@!:-]{1,30}){1,4}")  # `as unknown as`


def forbidden_statements(rule: str, statements: Sequence[str], where: Sequence[Object]) -> Check:
    """Compile a prohibition of statements, which may be run by a client or be written into code."""
    commands = Check(CheckKind.COMMAND, words=entries([command for name in statements for command in v.STATEMENTS[name]]))
    written = [name for name in statements if not v.STATEMENTS[name][0].startswith("redis")]
    place = _folders(rule, [thing for thing in where if thing.within])
    if not written or not (
        place or re.search(r"\b(?:migrations?|code|quer(?:y|ies)|sql|scripts?|write|writing|files?)\b", rule, re.IGNORECASE)
    ):
        return commands
    content = Check(CheckKind.CONTENT, words=entries(written), paths=place)
    return content if place else replace(commands, also=(content,))


_COMMENTS_RULE = re.compile(
    r"\b(?:code[- ]?)?(?:comments?|docstrings?|kommentare?|commentaires?|comentarios?|comentários?|commenti)\b", re.IGNORECASE
)


def language_of_comments(rule: str) -> Check | None:
    """Compile "comments in English only"."""
    if not _COMMENTS_RULE.search(rule) or re.search(r"\bcommit|\bpr\b|\breview", rule, re.IGNORECASE):
        return None
    words = [f"<comment {'not ' if form is Form.LANGUAGE else ''}in {name}>" for form, name in natural_languages(rule)]
    return Check(CheckKind.CONTENT, words=entries(words), files=code_languages(rule)) if words else None


_IN_CODE = re.compile(
    r"\b(?:code|type|types|typ|import\w*|importieren|comment|comments|kommentare?|logging|logger|loggen|cast|casts)\b",
    re.IGNORECASE,
)
_OF_TESTS = ("tests/", "test/", "*/tests/*", "*/test/*", "__tests__/", "*/__tests__/*", "spec/", "e2e/")


def _folders(rule: str, where: Sequence[Object]) -> tuple[str, ...]:
    """Return the places of a check on content. "in tests" means all tests, and "in models" every folder of that name."""
    found: list[str] = []
    for thing in where:
        if thing.text.lower() in ("tests/", "test/", "specs/"):
            found += (*_OF_TESTS, *v.TEST_FILES)
        else:
            if thing.text.lower() == "migrations/":
                found += ("*/migrate/*", "migrate/")
            is_word = thing.text.count("/") == 1 and not rule[thing.at :].lstrip("`'\"").startswith(thing.text)
            found += (thing.text, f"*/{thing.text}*") if is_word else (thing.text,)
    return entries(found)


# "No lodash, we have our own helpers in src/util": the place of what is used instead.
_INSTEAD_THERE = re.compile(
    r"[,;.—(]\s?(?:but\s|and\s|instead\s)?(?:we (?:have|use|keep)|use|there(?:'s| is| are)|our|the|prefer|take|wir haben|nutze|verwende)\b[^,;.]{0,60}$",
    re.IGNORECASE,
)


# "console.log is fine in scripts/ but not in apps/". What is only allowed somewhere is forbidden elsewhere.
_ALLOWED_THERE = re.compile(
    r"(?<!only )(?<!nur )(?<!not )(?<!n't )(?<!nicht )\b(?:fine|ok|okay|allowed|erlaubt|fair game)\s(?:in|under|inside|within|unter)\s(?:the\s)?[`'\"]?$",
    re.IGNORECASE,
)


def _where_forbidden(rule: str, named: Sequence[Object]) -> list[Object]:
    """Return the places to which a prohibition of code is limited."""
    subject = subject_folder(rule)
    places = [thing for thing in named if thing.kind is Kind.PATH and (thing.within or thing.text.rstrip("/") == subject)]
    return [thing for thing in places if not _ALLOWED_THERE.search(rule[: thing.at]) and not _is_language(rule, thing)]


def _is_language(rule: str, thing: Object) -> bool:
    """Return whether a word means the language rather than a folder of that name, as in "no count in terraform"."""
    return thing.text.rstrip("/").lower() in v.LANGUAGES and not rule[thing.at :].lstrip("`'\"").startswith(thing.text)


def forbidden_code(rule: str, bad: Sequence[Object], where: Sequence[Object]) -> Check | None:
    """Compile a prohibition of calls, words or imports, such as "no console.log in src/"."""
    languages = code_languages(rule)
    calls = [thing.text for thing in bad if thing.kind is Kind.CALL]
    libraries = [thing.text for thing in bad if thing.kind is Kind.LIBRARY]
    words = [thing.text for thing in bad if thing.kind is Kind.CODE]
    place = [thing for thing in _where_forbidden(rule, where) if not _INSTEAD_THERE.search(rule[: thing.at])]
    in_code = bool(languages or place or _IN_CODE.search(rule))
    for thing in bad:
        if (
            thing.kind is Kind.UNKNOWN
            and (in_code or thing.text.lower() in v.WORDS and _is_quoted(rule, thing) or MEMBER.fullmatch(thing.text))
            and (_IDENTIFIER.fullmatch(thing.text) or rule[thing.at] == "`" and _SEVERAL_WORDS.fullmatch(thing.text))
            and (_is_quoted(rule, thing) or not _CHANGES_FILES.search(rule))
        ):
            words.append(thing.text)
    if any(thing.kind is Kind.COMMAND for thing in bad) and not (calls or words):
        imported = [thing.text for thing in bad if thing.kind is Kind.COMMAND and re.search(r"\bimport", rule, re.IGNORECASE)]
        libraries += [name for name in imported if " " not in name]
        if not libraries:
            return None
    if libraries and not (calls or words) and (kept := _KEEPS_VERSION.search(rule)):
        return _no_changes_of(libraries, kept[0]) if NEGATED.search(kept[0]) else None  # which wants the library
    if libraries and not (calls or words):
        stated = languages if _STATES_LANGUAGE.search(rule) else ()
        if not any(_is_known_library(name) for name in libraries) and not re.search(
            r"import|requir|\bfrom\b", rule, re.IGNORECASE
        ):
            stated = manifests_named(rule)  # where a word can only be a package
        return Check(CheckKind.CONTENT, words=entries(libraries), imports=True, files=stated, paths=_folders(rule, place))
    if not (calls or words):
        return None
    own = entries([pattern for word in (*calls, *words) for pattern in v.WORDS.get(word.lower().removeprefix("."), ())])
    files = languages if not own or set(languages) & set(own) else entries([*languages, *own])
    if calls and not words:
        return Check(CheckKind.CONTENT, words=entries(calls), call=True, files=files, paths=_folders(rule, place))
    return Check(
        CheckKind.CONTENT, words=entries([*words, *(f"{name}(" for name in calls)]), files=files, paths=_folders(rule, place)
    )


def _is_known_library(name: str) -> bool:
    return name.lower() in v.LIBRARIES or name.lower() in v.PROGRAMS or re.search(r"[@/.\d_-]", name) is not None


def _no_changes_of(libraries: Sequence[str], said: str) -> Check:
    """Compile "never upgrade react" and "don't remove lodash": the commands that do so."""
    removes = re.search(r"remov|delet|uninstall|drop", said, re.IGNORECASE) is not None
    commands = v.REMOVED if removes else v.UPGRADED
    return Check(CheckKind.COMMAND, words=entries([command.format(name) for name in libraries for command in commands]))


_KEEPS_VERSION = re.compile(
    r"\b(?:never|don't|do not|no|not|nicht|nie)\s(?:ever\s)?(?:bump|upgrad|downgrad|updat|remov|delet|uninstall|drop|touch)\w{0,3}\b|\bstay(?:s|ing)? on\b|\bstuck on\b",
    re.IGNORECASE,
)
_Phrase = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def _further_phrases(low: str) -> list[_Phrase]:
    """Return all phrases of a rule that mean code. One within the words of an earlier one means no more than that one."""
    found: list[_Phrase] = []
    spans: list[tuple[int, int]] = []
    for row in v.CONTENT_PHRASES:
        other = re.search(rf"(?<![\w-])(?:{row[0]})(?![\w-])", low)
        if other is None or row[3] or any(start <= other.start() and other.end() <= end for start, end in spans):
            continue
        spans.append(other.span())
        found.append(row)
    return found


def _further_words(rule: str, named: Sequence[Object], words: Sequence[str]) -> list[str]:
    """Return the words of code that a rule forbids beside a phrase, as in "no `any` casts, no eslint-disable comments"."""
    assign_senses(rule, named, find_cues(rule, tokenize(rule)))
    found = [thing.text for thing in named if thing.kind is Kind.CODE and thing.sense is Sense.FORBID]
    return [text for text in found if v.WORDS.get(text.lower()) and not any(text in word or word in text for word in words)]


_STATES_LANGUAGE = re.compile(
    rf"(?:^|\b(?:in|for|im)\s(?:our\s|the\s|new\s|all\s)?|\bfür\s)(?:{'|'.join(re.escape(name) for name in sorted(v.LANGUAGES, key=len, reverse=True) if name[0] != '.' and name != 'c')})(?:\s(?:code|files?|services?|tests?|projects?))?\b[:,]?",
    re.IGNORECASE,
)


_CHANGES_FILES = re.compile(r"\b(?:edit|touch|modif|delet|renam|overwrit|hand-|bearbeit|anfass)\w*|\bhands off\b", re.IGNORECASE)


def _is_quoted(rule: str, thing: Object) -> bool:
    """Return whether an object is written in quotes of any kind."""
    return rule[thing.at : thing.at + 1] in "`\"'"


def phrases_for_code(rule: str, named: Sequence[Object]) -> Check | None:
    """Compile phrases that mean a piece of code, such as "no star imports"."""
    low = rule.lower()
    for pattern, words, files, near in v.CONTENT_PHRASES:
        said = re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", low)
        if said and not is_wanted(rule, said.start()):
            place = _folders(rule, _where_forbidden(rule, named))
            languages = code_languages(rule)
            if languages and set(languages) <= set(v.LANGUAGES["sql"]):
                languages = entries([*files, *languages])  # statements are in other code, too
            calls = [word[:-2] for word in words if word.endswith("()")]
            if not calls and not near:
                more = _further_phrases(low)
                words = tuple(word for other in more for word in other[1] if not word.endswith("()"))
                files = tuple(dict.fromkeys(name for other in more for name in other[2]))
                named_too = _further_words(rule, named, words) if files else []
                words = (*words, *named_too)
                files = entries([*files, *(name for word in named_too for name in v.WORDS.get(word.lower(), ()))])
            return Check(
                CheckKind.CONTENT,
                words=(tuple(calls) or words)[:MAX_ENTRIES],
                call=bool(calls),
                files=(languages or files)[:MAX_ENTRIES],
                paths=place,
                near=near,
            )
    return None
