"""The command that installs the Claude Code plugin when memoryd was installed as a package."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import orjson

import memoryd
from memoryd.cli.root import Context, json_option, pass_context
from memoryd.core.config import Settings, find_home
from memoryd.core.errors import ConflictError, DependencyError, MemorydError
from memoryd.core.files import write_atomic

PLUGIN = "memoryd@memoryd"
MARKETPLACE = "memoryd"
FOLDER = "claude-plugin"
SERVERS = "plugin/mcp.json"
IN_THE_PACKAGE = "share/memoryd/claude-plugin"  # pyproject.toml installs the plugin's files there.
INTERPRETER = "interpreter"  # hooks/environment.py reads this file.
CLIENT_SECONDS = 120.0


class ClaudeError(MemorydError):
    """Raised when Claude Code refuses to change its plugins."""

    code = "claude"


@dataclass(frozen=True, slots=True)
class InstallStep:
    """A change to make. `what` describes it to the user."""

    what: str
    do: Callable[[], object]


class ClaudePlugins:
    """The user's plugins, managed through `claude plugin`."""

    def __init__(self, command: str) -> None:
        found = shutil.which(command)
        if found is None:
            raise DependencyError(
                f"Claude Code was not found: there is no command {command!r}.",
                fix="Install Claude Code, or set its command: memoryd config claude_command PATH",
            )
        self._command = found

    def run(self, *arguments: str) -> str:
        """Run `claude plugin …` and return its standard output. Raises ClaudeError."""
        shown = " ".join(["claude plugin", *arguments])
        try:
            done = subprocess.run(
                [self._command, "plugin", *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=CLIENT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ClaudeError(f"{shown!r} failed: {error}", fix="Check that 'claude --version' works.") from error
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).split())[-300:] or f"exit code {done.returncode}"
            raise ClaudeError(f"{shown!r} failed: {said}", fix="memoryd needs Claude Code 2.0 or newer: claude update")
        return done.stdout

    def _listed(self, *arguments: str) -> list[dict[str, Any]]:
        try:
            value = orjson.loads(self.run(*arguments, "--json"))
            return [entry for entry in value if isinstance(entry, dict)]
        except (ValueError, TypeError) as error:
            shown = " ".join(["claude plugin", *arguments, "--json"])
            raise ClaudeError(f"{shown!r} did not print a list.", fix="Update Claude Code: claude update") from error

    def marketplace(self) -> str:
        """Return the folder or address of the marketplace `memoryd`, or an empty string."""
        for entry in self._listed("marketplace", "list"):
            if entry.get("name") == MARKETPLACE:
                return str(entry.get("path") or entry.get("repo") or entry.get("url") or entry.get("source"))
        return ""

    def plugin(self) -> dict[str, Any] | None:
        """Return the client's record of the plugin installed for the user, or None."""
        return next((entry for entry in self._listed("list") if entry.get("id") == PLUGIN and entry.get("scope") == "user"), None)


@dataclass(frozen=True, slots=True)
class PluginFiles:
    """The plugin's files: a clone used in place, or copies of the installed package's files together with its interpreter."""

    folder: Path
    files: dict[str, bytes] | None

    def is_at(self, address: str) -> bool:
        """Return whether the address of a marketplace is this folder. The client may have resolved symbolic links in it."""
        return Path(address).is_absolute() and Path(address).resolve() == self.folder.resolve()

    @property
    def outdated(self) -> list[str]:
        """Names of the files to write."""
        return [name for name, data in (self.files or {}).items() if not _holds(self.folder / name, data)]

    def write(self) -> None:
        """Write each outdated file and remove files of other versions.

        Writes are atomic because a session may be using the files.
        """
        assert self.files is not None
        for name in self.outdated:
            target = self.folder / name
            write_atomic(target, self.files[name])
            if name.startswith("plugin/bin/"):
                target.chmod(0o700)
        for path in self.folder.rglob("*"):
            if path.is_file() and path.relative_to(self.folder).as_posix() not in self.files:
                path.unlink()


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def find_source(home: Path) -> PluginFiles:
    """Return the plugin's files. Raises DependencyError if this installation has none or the plugin could not run from it."""
    package = Path(memoryd.__file__).resolve().parent
    if (package.parent / ".claude-plugin" / "marketplace.json").is_file():
        return PluginFiles(package.parent, None)
    files = _packaged_files()
    if not files:
        raise DependencyError(
            f"This installation of memoryd, in {package}, does not include the plugin's files.",
            fix="Install memoryd from its wheel, or use a clone: claude plugin marketplace add <folder>",
        )
    _check_interpreter()
    files[INTERPRETER] = f"{sys.executable}\n{package}\n".encode()
    if sys.platform == "win32":
        files[SERVERS] = without_shell(files[SERVERS], sys.executable)
    return PluginFiles(home / FOLDER, files)


def without_shell(servers: bytes, python: str) -> bytes:
    """Return the plugin's file of MCP servers for Windows, which can't start the shell script that it names."""
    values = orjson.loads(servers)
    server = values["mcpServers"]["memoryd"]
    server |= {"command": python, "args": ["-I", "-S", "${CLAUDE_PLUGIN_ROOT}/plugin/stdio_proxy.py"]}
    return orjson.dumps(values, option=orjson.OPT_INDENT_2)


def _packaged_files() -> dict[str, bytes]:
    try:
        listed: Iterable[importlib.metadata.PackagePath] = importlib.metadata.distribution("memoryd").files or ()
    except importlib.metadata.PackageNotFoundError:
        return {}
    found = {}
    for path in listed:
        _, inside, name = path.as_posix().partition(f"{IN_THE_PACKAGE}/")
        if inside and "__pycache__" not in name:
            found[name] = Path(str(path.locate())).read_bytes()
    return found


def _check_interpreter() -> None:
    """Check that the plugin can use this interpreter, in isolated mode and long after this command."""
    fix = "Install memoryd with 'uv tool install memoryd' or 'pipx install memoryd', and run this command from there."
    if "archive-v0" in Path(sys.prefix).parts:
        raise DependencyError(f"{sys.prefix} is a temporary environment of uvx.", fix=fix)
    done = subprocess.run(
        [sys.executable, "-I", "-c", "import memoryd"], capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        raise DependencyError(
            f"{sys.executable} finds memoryd only through PYTHONPATH or --user, which the plugin doesn't use.",
            fix=fix,
        )


def installing(claude: ClaudePlugins, source: PluginFiles, settings: Settings) -> list[InstallStep]:
    """Return the steps that are still needed to install the plugin in the client."""
    steps = []
    if source.outdated:
        steps.append(InstallStep(f"Write the plugin's files to {source.folder}", source.write))
    registered = claude.marketplace()
    if not source.is_at(registered):
        instead = f", instead of {registered}" if registered else ""
        what = f"Add the marketplace {MARKETPLACE!r} to your Claude Code settings: {source.folder}{instead}"
        steps.append(InstallStep(what, lambda: claude.run("marketplace", "add", str(source.folder))))
    plugin = claude.plugin()
    if plugin is None:
        options = [] if settings.home == find_home({}) else ["--config", f"home={settings.home}"]
        with_home = f" with the home folder {settings.home}" if options else ""
        what = f"Install the plugin {PLUGIN} for you, in all projects{with_home}"
        steps.append(InstallStep(what, lambda: claude.run("install", PLUGIN, *options)))
    elif not plugin.get("enabled", True):
        steps.append(InstallStep(f"Switch the plugin {PLUGIN} on", lambda: claude.run("enable", PLUGIN)))
    return steps


def removing(claude: ClaudePlugins, source: PluginFiles) -> list[InstallStep]:
    """Return the steps that remove the plugin. Raises ConflictError if it was installed from elsewhere."""
    registered = claude.marketplace()
    if registered and not source.is_at(registered):
        raise ConflictError(
            f"Claude Code has memoryd from {registered}, not from {source.folder}.",
            fix=f"To remove that one: claude plugin uninstall {PLUGIN}, then claude plugin marketplace remove {MARKETPLACE}",
        )
    steps = []
    if claude.plugin() is not None:
        steps.append(InstallStep(f"Uninstall the plugin {PLUGIN}", lambda: claude.run("uninstall", PLUGIN)))
    if registered:
        what = f"Remove the marketplace {MARKETPLACE!r} from your Claude Code settings"
        steps.append(InstallStep(what, lambda: claude.run("marketplace", "remove", MARKETPLACE)))
    if source.files is not None and source.folder.exists():
        steps.append(InstallStep(f"Delete the plugin's files in {source.folder}", lambda: shutil.rmtree(source.folder)))
    return steps


@click.command("install-claude")
@click.option("--undo", is_flag=True, help="Remove the plugin again. Memories are kept.")
@click.option("--dry-run", "dry", is_flag=True, help="Only print what would be changed.")
@json_option
@pass_context
def install_claude(context: Context, /, undo: bool, dry: bool) -> None:
    """Install memoryd's plugin in Claude Code, and print each change.

    Run it again after updating the package. It only changes your Claude Code user settings, through 'claude plugin'.
    """
    source = find_source(context.settings.home)
    claude = ClaudePlugins(context.settings.claude_command)
    steps = removing(claude, source) if undo else installing(claude, source, context.settings)
    for step in steps:
        if not context.output.as_json:
            context.output.line(f"{'would: ' if dry else ''}{step.what}")
        if not dry:
            step.do()
    if context.show({"steps": [step.what for step in steps], "done": not dry, "folder": str(source.folder)}):
        return
    if undo:
        context.output.note("Memories are kept." if steps else "The plugin is not installed.")
    elif not steps:
        context.output.note(f"Everything is in place: {source.folder}")
    elif not dry:
        context.output.note("New sessions are remembered from now on.")


COMMANDS = (install_claude,)
