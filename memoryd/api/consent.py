"""What the user types to memoryd at the client's prompt: `/memoryd:setup`, `/memoryd:off` and `/memoryd:on`.

The first is their yes or no to model runs with their login. The hook sees what was typed, before any model does. A code that
only the person is shown (a system message, which no model is sent) has to be typed with what widens what is read: so a prompt
that a model schedules, queues or hands to another client is no consent. What narrows it (no, off) holds at once, and the
person is shown that it does.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from memoryd.core.protocols import Clock
from memoryd.core.types import EPOCH
from memoryd.daydream.costs import expected

VALID = timedelta(minutes=10)
DIGITS = 6
COMMAND = "/memoryd:setup"
ATTENDED = "MEMORYD_ATTENDED"  # what the hook puts into the head of a record when a person sits at the client
_TYPED = re.compile(rf"{COMMAND}(?:\s+(?P<word>yes|no))?(?:\s+(?P<code>\d{{{DIGITS}}}))?", re.IGNORECASE)
_SWITCH = re.compile(rf"/memoryd:(?P<word>off|on)(?:\s+(?P<session>session))?(?:\s+(?P<code>\d{{{DIGITS}}}))?", re.IGNORECASE)
NOT_TYPED = "Nothing was changed: that has to be typed by a person, in a client that is not run by a program."
Change = Callable[[Mapping[str, Any]], Mapping[str, str]]
Switch = Callable[[str, bool], str]


class Code:
    """A code that the person was shown. It lives in this process only, once and for ten minutes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._code = ""
        self._until = EPOCH

    def new(self) -> str:
        """Another code; the one before holds no more."""
        with self._lock:
            self._code = "".join(secrets.choice("0123456789") for _ in range(DIGITS))
            self._until = self._clock.now() + VALID
            return self._code

    def is_right(self, code: str) -> bool:
        """Whether the code is the one that was shown; a try uses it up."""
        with self._lock:
            shown, self._code = self._code, ""
            return bool(shown) and secrets.compare_digest(shown, code) and self._clock.now() < self._until


class SwitchPrompt:
    """Hears `/memoryd:off` and `/memoryd:on`, each also with `session`."""

    def __init__(self, clock: Clock) -> None:
        self._code = Code(clock)

    def hear(self, prompt: str, *, attended: bool, switch: Switch) -> tuple[str, str] | None:
        """What the model and what the person is told; None when the prompt is no switch.

        `switch` is given "off" or "on" and whether it is for the session only, and says what it did.
        """
        typed = _SWITCH.fullmatch(prompt.strip())
        if typed is None:
            return None
        if not attended:
            return NOT_TYPED, ""
        word, code, session = typed["word"].lower(), typed["code"] or "", bool(typed["session"])
        if word == "off" or self._code.is_right(code):
            told = switch(word, session)
            return f"The user themselves has switched: {told}. Go by that.", f"memoryd: {told}"
        command = f"/memoryd:on{' session' if session else ''} {self._code.new()}"
        why = "That was not the code. " if code else ""
        message = f"memoryd: {why}To switch memory on here, type {command} within ten minutes."
        return "Nothing was changed. The user was shown, beside this, a code to type that you can't see.", message


class Consent:
    """Hears what the user types about model runs with their login."""

    def __init__(self, clock: Clock) -> None:
        self._code = Code(clock)

    def hear(self, prompt: str, *, attended: bool, agreed: bool, change: Change) -> tuple[str, str] | None:
        """What the model and what the person is told of a typed answer; None when the prompt is none.

        `attended`: a person sits at this client; else (`claude -p`, a client in another one's shell) nothing is asked or taken.
        `change` writes settings and tells which of them something else overrules.
        """
        typed = _TYPED.fullmatch(prompt.strip())
        if typed is None:
            return None
        if not attended:
            return NOT_TYPED, ""
        word, code = (typed["word"] or "").lower(), typed["code"] or ""
        if word == "no":
            return self._answered(change, agreed=False)
        if word == "yes" and self._code.is_right(code):
            return self._answered(change, agreed=True)
        if word == "" and agreed:
            told = f"memoryd: Claude reads your sessions with your login, as you agreed. To take it back type {COMMAND} no"
            return f"{told[9:]}.", told
        return self._asked(missed=word == "yes")

    def _asked(self, *, missed: bool) -> tuple[str, str]:
        code = self._code.new()
        why = "That was not the code. " if missed else ""
        message = (
            f"memoryd: {why}To let a small Claude model read your sessions with your own login ({expected()}), type "
            f"{COMMAND} yes {code} within ten minutes. To leave it: type nothing."
        )
        return "Nothing was changed. The user was shown, beside this, how to agree by typing a code that you can't see.", message

    def _answered(self, change: Change, *, agreed: bool) -> tuple[str, str]:
        overruled = change({"use_claude": agreed})
        told = "Claude reads your sessions from here on" if agreed else "Claude does not read your sessions"
        extra = "".join(f" It has no effect yet: {source} sets {name} too." for name, source in overruled.items())
        return f"The user themselves has answered: {told}.{extra}", f"memoryd: {told}.{extra}"
