"""Handle `/memoryd:setup`, `/memoryd:off` and `/memoryd:on`, typed by the user at the client's prompt.

`/memoryd:setup` gives or withdraws consent to model runs with the user's login. The hook sees the typed prompt before
any model does. Widening what is read also requires a code, which is shown only to the user (in a system message,
which is not sent to models). A prompt that a model schedules, queues or passes to another client therefore cannot
give consent. Narrowing what is read (no, off) takes effect immediately, and the user is notified.
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
ATTENDED = "MEMORYD_ATTENDED"  # Set by the hook in a record's header if a person is using the client interactively.
_TYPED = re.compile(rf"{COMMAND}(?:\s+(?P<word>yes|no))?(?:\s+(?P<code>\d{{{DIGITS}}}))?", re.IGNORECASE)
_SWITCH = re.compile(rf"/memoryd:(?P<word>off|on)(?:\s+(?P<session>session))?(?:\s+(?P<code>\d{{{DIGITS}}}))?", re.IGNORECASE)
NOT_TYPED = "Nothing was changed: a person must type this in an interactive client."
Change = Callable[[Mapping[str, Any]], Mapping[str, str]]
Switch = Callable[[str, bool], str]


class OneTimeCode:
    """A single-use code shown to the user. It expires after ten minutes and exists only in this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._code = ""
        self._until = EPOCH

    def new(self) -> str:
        """Create a new code and invalidate the previous one."""
        with self._lock:
            self._code = "".join(secrets.choice("0123456789") for _ in range(DIGITS))
            self._until = self._clock.now() + VALID
            return self._code

    def matches(self, code: str) -> bool:
        """Check a code. Any attempt uses up the valid code, even if it does not match."""
        with self._lock:
            shown, self._code = self._code, ""
            return bool(shown) and secrets.compare_digest(shown, code) and self._clock.now() < self._until


class SwitchCommands:
    """Handles `/memoryd:off` and `/memoryd:on`, both with an optional `session` argument."""

    def __init__(self, clock: Clock) -> None:
        self._code = OneTimeCode(clock)

    def handle(self, prompt: str, *, attended: bool, switch: Switch) -> tuple[str, str] | None:
        """Handle a prompt if it is a switch command.

        Args:
            prompt: The prompt as typed.
            attended: Whether a person uses the client interactively.
            switch: Called with "off" or "on", and whether to switch only this session. Returns a description of the result.

        Returns:
            The messages for the model and the user, or None if the prompt is not a switch command.
        """
        typed = _SWITCH.fullmatch(prompt.strip())
        if typed is None:
            return None
        if not attended:
            return NOT_TYPED, ""
        word, code, session = typed["word"].lower(), typed["code"] or "", bool(typed["session"])
        if word == "off" or self._code.matches(code):
            result = switch(word, session)
            return f"The user typed this command: {result}. Act accordingly.", f"memoryd: {result}"
        command = f"/memoryd:on{' session' if session else ''} {self._code.new()}"
        why = "That was not the code. " if code else ""
        message = f"memoryd: {why}To switch memory on here, type {command} within ten minutes."
        return "Nothing was changed. The user was also shown a code to type, which you can't see.", message


class Consent:
    """Handles the user's consent to model runs with their login."""

    def __init__(self, clock: Clock) -> None:
        self._code = OneTimeCode(clock)

    def handle(self, prompt: str, *, attended: bool, agreed: bool, change: Change) -> tuple[str, str] | None:
        """Handle a prompt if it is a consent command.

        Args:
            prompt: The prompt as typed.
            attended: Whether a person uses the client interactively. Otherwise (`claude -p`, or a client run in
                another one's shell), the user is not asked and consent is not accepted.
            agreed: Whether the user has already agreed.
            change: Writes settings. Returns those that are overridden elsewhere.

        Returns:
            The messages for the model and the user, or None if the prompt is not a consent command.
        """
        typed = _TYPED.fullmatch(prompt.strip())
        if typed is None:
            return None
        if not attended:
            return NOT_TYPED, ""
        word, code = (typed["word"] or "").lower(), typed["code"] or ""
        if word == "no":
            return self._apply(change, agreed=False)
        if word == "yes" and self._code.matches(code):
            return self._apply(change, agreed=True)
        if word == "" and agreed:
            status = f"Claude reads your sessions with your login, as you agreed. To withdraw your consent, type {COMMAND} no"
            return f"{status}.", f"memoryd: {status}"
        return self._request_code(missed=word == "yes")

    def _request_code(self, *, missed: bool) -> tuple[str, str]:
        code = self._code.new()
        why = "That was not the code. " if missed else ""
        message = (
            f"memoryd: {why}To let a small Claude model read your sessions with your own login ({expected()}), type "
            f"{COMMAND} yes {code} within ten minutes. To decline, do nothing."
        )
        return "Nothing was changed. The user was also shown how to agree by typing a code, which you can't see.", message

    def _apply(self, change: Change, *, agreed: bool) -> tuple[str, str]:
        overruled = change({"use_claude": agreed})
        result = "Claude reads your sessions from now on" if agreed else "Claude does not read your sessions"
        extra = "".join(f" This has no effect yet: {source} also sets {name}." for name, source in overruled.items())
        return f"The user has answered: {result}.{extra}", f"memoryd: {result}.{extra}"
