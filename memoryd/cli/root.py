"""The root command, its global options, and the mapping of errors to exit codes.

Exit codes: 0 success · 1 failure · 2 invalid call or setting · 3 not found · 4 no daemon · 130 interrupted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from memoryd import __version__
from memoryd.cli import INTERRUPTED
from memoryd.cli.output import Output
from memoryd.core.config import HOME_ENV, IN_CLIENT, Settings, find_home, inside_client, load_settings
from memoryd.core.errors import ConfigError, DaemonUnavailable, InputError, MemorydError, NotFoundError
from memoryd.core.text import shorten
from memoryd.daemon.client import Client, ensure_daemon

EXIT_CODES: dict[type[MemorydError], int] = {InputError: 2, ConfigError: 2, NotFoundError: 3, DaemonUnavailable: 4}
USAGE = 2
MAX_ERROR = 500
_AS_JSON = "memoryd.as_json"
_SURROGATE = re.compile("[\ud800-\udfff]")
_WITHOUT_CONFIG = frozenset({"doctor", "daemon", "hook", "config"})  # Commands that must work even with invalid settings.


@dataclass
class Context:
    """State passed to every command: the settings, the output and the daemon client."""

    settings: Settings
    output: Output
    fault: ConfigError | None = None
    _client: Client | None = field(default=None, init=False)

    def call(self, method: str, timeout: float = 30.0, **params: Any) -> dict[str, Any]:
        """Call the daemon, starting it if necessary."""
        _refuse_empty()
        if self._client is None:
            ensure_daemon(self.settings)
            self._client = Client(self.settings.paths)
        given = {name: value for name, value in params.items() if value not in (None, ())}
        who = {"caller": IN_CLIENT} if inside_client() else {}
        try:
            return self._client.call(method, {"cwd": here(), **given, **who}, timeout=timeout)
        except InputError as error:
            raise _as_typed(error, method) from error
        except MemorydError as error:
            if who or str(self.settings.paths.state_db) not in error.message:
                raise
            return self._look_up(error, method, {"cwd": here(), **given})

    def _look_up(self, error: MemorydError, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Search without the daemon if it can't start. Memories may be intact even if the daemon's state is damaged."""
        from memoryd.api.dispatch import LOOKUPS, look_up  # Imported here because it loads the stores.
        from memoryd.core.clock import SystemClock

        if method not in LOOKUPS:
            raise error
        self.output.note(f"{error.message}. Answered without it. {error.fix}")
        return look_up(self.settings, SystemClock(), method, params)

    def check(self) -> None:
        """Raise the error in the settings, if any."""
        if self.fault is not None:
            raise self.fault

    def show(self, result: Mapping[str, Any]) -> bool:
        """Print the result if JSON was requested, and return whether it was."""
        if self.output.as_json:
            self.output.json(result)
        return self.output.as_json


pass_context = click.make_pass_decorator(Context)


def here() -> str:
    """Return the working folder. Raises InputError if it was deleted."""
    return _SURROGATE.sub("\ufffd", str(absolute("")))  # The name may not be valid Unicode.


def absolute(path: str | Path) -> Path:
    """Return the absolute path of what was typed. Raises InputError if it is relative to a folder that was deleted."""
    try:
        return Path(path).expanduser().absolute()
    except FileNotFoundError as error:
        raise InputError("The current folder no longer exists.", fix="Change to another folder.") from error


def _refuse_empty() -> None:
    """Raise InputError if the user typed an empty value for the running command.

    It is probably an unset shell variable, and must not mean the default.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return
    for name, value in context.params.items():
        if value == "" and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(f"{_command()}: {_typed(name)} is empty.", fix="Give a value, or leave it out.")


def _command() -> str:
    """Return the name of the running command, such as `projects move`."""
    context = click.get_current_context(silent=True)
    return context.command_path.partition(" ")[2] if context else ""


def _typed(name: str) -> str:
    """Return how the running command calls a parameter, such as `--as-of`. Empty if the user can't give it."""
    context = click.get_current_context(silent=True)
    known = context.command.params if context else []
    found = next((parameter for parameter in known if parameter.name == name), None)
    if found is None:
        return ""
    return max(found.opts, key=len) if isinstance(found, click.Option) else found.human_readable_name


def _as_typed(error: InputError, method: str) -> InputError:
    """Replace the operation's and the parameter's names in the message with the command's."""
    rest = error.message.removeprefix(f"{method}: ")
    if rest == error.message or not _command():
        return error
    name, colon, what = rest.partition(": ")
    typed = _typed(name) if colon else ""
    return InputError(f"{_command()}: {f'{typed}: {what}' if typed else rest}", fix=error.fix)


class Root(click.Group):
    """Converts expected errors to a message, a fix and an exit code, and loads commands lazily."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._names: Callable[[], list[str]] = list
        self._load: Callable[[str], click.Command | None] = lambda name: None

    def load_from(self, names: Callable[[], list[str]], load: Callable[[str], click.Command | None]) -> None:
        """Set the source of lazily loaded commands."""
        self._names, self._load = names, load

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, sorted."""
        return sorted({*self.commands, *self._names()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, loading it if necessary."""
        return self.commands.get(cmd_name) or self._load(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Detect --json before parsing, so that errors are printed as JSON too."""
        ctx.meta[_AS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Never shows a traceback for a MemorydError."""
        output = Output(as_json=ctx.meta[_AS_JSON])
        try:
            return super().invoke(ctx)
        except MemorydError as error:
            output.error(error)
            ctx.exit(EXIT_CODES.get(type(error), 1))
        except click.UsageError as error:
            message = shorten(error.format_message(), MAX_ERROR)  # It repeats what was typed.
            if not output.as_json:
                raise click.UsageError(message, error.ctx) from error
            output.json({"error": {"code": "usage", "message": message, "fix": "See memoryd --help."}})
            ctx.exit(USAGE)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


def _json_everywhere(ctx: click.Context, parameter: click.Parameter, value: bool) -> bool:
    if value and isinstance(ctx.obj, Context):
        ctx.obj.output.as_json = True
    return value


json_option = click.option("--json", "as_json", is_flag=True, expose_value=False, callback=_json_everywhere, help="Print JSON.")


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="memoryd")
@click.option(
    "--home",
    metavar="PATH",
    callback=lambda _ctx, _option, value: _given(value),
    help="Home folder (default ~/.memoryd or $MEMORYD_HOME).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def cli(ctx: click.Context, home: str | None, as_json: bool) -> None:
    """Long-term memory for Claude Code, in files that you can read."""
    fault = None
    try:
        settings = load_settings(home=home)
    except ConfigError as error:
        if ctx.invoked_subcommand not in _WITHOUT_CONFIG:
            raise
        settings, fault = Settings(find_home({HOME_ENV: home} if home else os.environ)), error
    ctx.obj = Context(settings, Output(as_json), fault)


def _given(home: str | None) -> str | None:
    if home == "":  # An unset shell variable. As a path, it would mean the working folder.
        raise click.BadParameter("is empty")
    return home
