"""Commands that run as processes: the daemon, the MCP relay and the hook."""

from __future__ import annotations

import sys

import click

from memoryd.cli.root import Context, absolute, json_option, pass_context
from memoryd.core.config import is_internal
from memoryd.core.errors import MemorydError
from memoryd.core.files import append_line
from memoryd.daemon.client import Client, ensure_daemon
from memoryd.daemon.hook_events import MAX_RECORD_BYTES
from memoryd.daemon.relay import relay_mcp, send_hook

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.option("--stop", is_flag=True, help="Stop the running daemon.")
@click.option("--start", is_flag=True, help="Start a daemon in the background unless one is running.")
@json_option
@pass_context
def daemon(context: Context, /, stop: bool, start: bool) -> None:
    """Run the daemon in the foreground. Clients start it automatically."""
    if stop:
        stopped = Client(context.settings.paths).stop()
        if not context.show({"stopped": stopped}):
            context.output.line("stopped" if stopped else "none was running")
    elif start:
        context.check()
        ensure_daemon(context.settings)
        version, pid = Client(context.settings.paths).ping()
        if not context.show({"version": version, "pid": pid}):
            context.output.line(f"memoryd {version}, pid {pid}")
    else:
        context.check()
        from memoryd.daemon.__main__ import serve

        sys.exit(serve(context.settings))


@click.command()
@pass_context
def mcp(context: Context, /) -> None:
    """Serve MCP on standard input and output, for any MCP client."""
    ensure_daemon(context.settings)
    relay_mcp(context.settings.paths, str(absolute("")), sys.stdin.buffer, sys.stdout.buffer)


@click.command()
@click.argument("event")
@pass_context
def hook(context: Context, /, event: str) -> None:
    """Pass a hook's standard input to the daemon and print the response. Always exits with 0."""
    data = sys.stdin.buffer.read(MAX_RECORD_BYTES + 1)
    if is_internal():
        return
    if len(data) > MAX_RECORD_BYTES:
        append_line(context.settings.paths.logs / "hooks.log", f"{event}: more than {MAX_RECORD_BYTES} bytes, dropped")
        return
    try:
        context.check()
        ensure_daemon(context.settings)
        answer = send_hook(context.settings.paths, event, data)
        sys.stdout.buffer.write(answer)
    except MemorydError as error:
        append_line(context.settings.paths.logs / "hooks.log", f"{event}: {error}")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print shell completion: e.g. eval "$(memoryd completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(ctx.find_root().command, {}, "memoryd", "_MEMORYD_COMPLETE").source())


COMMANDS = (daemon, mcp, hook, completion)
