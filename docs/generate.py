"""Writes what the documents repeat from the code: `python docs/generate.py`, or `make docs`.

A block is between `<!-- generated: NAME -->` and `<!-- end -->`; everything else in a document is left
alone. `tests/docs` fails when a block is stale.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # so that the tables of the tests can be read too

from memeval.cli.app import build as memeval_app  # noqa: E402
from memeval.registry import Catalog  # noqa: E402
from memeval.report import terminal  # noqa: E402
from memoryd.api.parameters import parameters  # noqa: E402
from memoryd.api.registry import Operation, Tool, operations, tools  # noqa: E402
from memoryd.cli.app import app  # noqa: E402
from memoryd.cli.root import EXIT_CODES, cli  # noqa: E402
from memoryd.core.config import ENV_PREFIX, KEYS, Settings, setting_names  # noqa: E402
from tests.test_layers import LAYERS, SEPARATE  # noqa: E402

WIDTH = 78
BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
TYPES: Mapping[type, str] = {bool: "true or false", int: "whole number", float: "number", str: "text", tuple: "list of paths"}


def documents() -> list[Path]:
    """All Markdown files that can hold generated blocks."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def command_help(command: click.Command, names: tuple[str, ...]) -> str:
    """The help text as `NAMES --help` prints it on a terminal of 80 columns."""
    own = {**command.context_settings, "terminal_width": WIDTH}
    context = click.Context(command, info_name=names[0], **own)
    for name in names[1:]:
        assert isinstance(command, click.Group)
        command = command.commands[name]
        context = click.Context(command, parent=context, info_name=name, terminal_width=WIDTH)
    return command.get_help(context)


def cli_block() -> str:
    """The help text of every command of memoryd."""
    return _help_of("memoryd", app())


def memeval_cli_block() -> str:
    """The help text of every command of memeval."""
    return _help_of("memeval", memeval_app())


def _help_of(program: str, group: click.Group) -> str:
    parts = [(program,), *_names_of((program,), group)]
    return "\n".join(f"## {' '.join(names)}\n\n```text\n{command_help(group, names)}\n```\n" for names in parts)


def _names_of(above: tuple[str, ...], group: click.Group) -> Iterator[tuple[str, ...]]:
    """Every command by its full name, those of a group behind it."""
    for name, command in sorted(group.commands.items()):
        yield (*above, name)
        if isinstance(command, click.Group):
            yield from _names_of((*above, name), command)


def exit_codes_block() -> str:
    """The exit codes of memoryd, as the root command's module states them."""
    assert cli.callback is not None
    return _exit_codes(sys.modules[cli.callback.__module__], EXIT_CODES)


def memeval_exit_codes_block() -> str:
    """The same of memeval."""
    return _exit_codes(terminal, terminal.EXIT_CODES)


def _exit_codes(module: ModuleType, codes: Mapping[Any, int]) -> str:
    said = re.search(r"Exit codes: (.*?)\.", inspect.getdoc(module) or "", re.DOTALL)
    assert said is not None
    rows = [tuple(part.split(" ", 1)) for part in " ".join(said[1].split()).split(" · ")]
    errors: dict[str, list[str]] = {}
    for error, code in codes.items():
        errors.setdefault(str(code), []).append(f"`{error.__name__}`")
    return table(("code", "meaning", "errors"), [(code, meaning, ", ".join(errors.get(code, []))) for code, meaning in rows])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; bars in cells are escaped."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def plugin_options() -> dict[str, Any]:
    """The options that the plugin's manifest declares."""
    manifest: dict[str, Any] = json.loads((ROOT / "plugin.json").read_text("utf-8"))
    options: dict[str, Any] = manifest["userConfig"]
    return options


def default_of(name: str) -> Any:
    """A key's default; the home folder as a person would write it."""
    if name == "home":
        return "~/.memoryd"
    value = getattr(Settings(home=Path()), name)
    return list(value) if isinstance(value, tuple) else value


def settings_block() -> str:
    """Every configuration key with its default, type, variable, plugin option and meaning."""
    options = plugin_options()
    rows = []
    for name in setting_names():
        default = default_of(name)
        kind = "path" if name == "home" else TYPES[tuple if isinstance(default, list) else type(default)]
        option = f"`{name}`" if name in options else "–"
        rows.append((f"`{name}`", f"`{json.dumps(default)}`", kind, f"`{ENV_PREFIX}{name.upper()}`", option, KEYS[name].help))
    return table(("key", "default", "type", "variable", "plugin option", "meaning"), rows)


def example_block() -> str:
    """A config.toml with every key at its default, commented out."""
    lines = []
    for name in setting_names():
        if name != "home":
            lines += [f"# {KEYS[name].help}", f"# {name} = {json.dumps(default_of(name))}", ""]
    return "```toml\n" + "\n".join(lines).rstrip() + "\n```\n"


def kind_of(schema: Mapping[str, Any]) -> str:
    """A JSON schema in a few words."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"list of {kind_of(schema['items'])}"
    limits = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    if "maxLength" in schema:
        limits.append(f"at most {schema['maxLength']} characters")
    return " ".join([kind, *limits])


def hints(spec: Tool) -> str:
    """The tool's annotations."""
    words = [
        f"readOnlyHint {str(spec.read_only).lower()}",
        f"destructiveHint {str(spec.destructive).lower()}",
        f"idempotentHint {str(spec.idempotent).lower()}",
        "openWorldHint false",
    ]
    return ", ".join(words + (["`anthropic/alwaysLoad`"] if spec.always_load else []))


def _parameters(schema: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, part in schema["properties"].items():
        needed = "yes" if name in schema.get("required", ()) else ""
        default = f"`{json.dumps(part['default'])}`" if "default" in part else ""
        yield f"`{name}`", kind_of(part), needed, default, part.get("description", "")


def tools_block() -> str:
    """Every MCP tool with its text, annotations, parameters and result."""
    return "\n".join(part for operation in tools().values() for part in _tool(operation))


def _tool(operation: Operation[Any, Any]) -> Iterator[str]:
    tool = operation.tool
    assert tool is not None
    yield from (f"### {operation.name}\n", f"{tool.description}\n", f"Annotations: {hints(tool)}.\n")
    parameters = list(_parameters(operation.input_schema()))
    yield table(("parameter", "type", "required", "default", "meaning"), parameters) if parameters else "No parameters.\n"
    yield "Result:\n"
    yield table(("field", "type", "meaning"), [(row[0], row[1], row[4]) for row in _parameters(operation.output_schema())])


def operations_block() -> str:
    """Every operation: what it takes, and who reaches it how."""
    return table(
        ("operation", "does", "parameters", "people", "models"), map(_operation, sorted(operations().values(), key=_name))
    )


def _name(operation: Operation[Any, Any]) -> str:
    return operation.name


def _operation(operation: Operation[Any, Any]) -> tuple[str, ...]:
    known = parameters(operation.request)
    names = [f"`{name}`" + ("" if parameter.in_tool or not operation.tool else "¹") for name, parameter in known.items()]
    ways = [f"`memoryd {operation.command}`" if operation.command else "", "form" if operation.form else ""]
    models = "tool" if operation.tool else "never" if operation.person_only else "in the client's shell"
    summary = operation.summary.split("\n\n")[0].replace("\n", " ")
    return f"`{operation.name}`", summary, ", ".join(names), ", ".join(filter(None, ways)), models


def published_block() -> str:
    """Figures of others on each benchmark, from its file."""
    catalog = Catalog.default(environ={})
    rows = [
        (f"`{name}`", one.system, f"`{one.metric}`", f"{one.value:g}", one.note, f"[source]({one.source})")
        for name in catalog.benchmarks()
        for one in catalog.benchmark(name).published
    ]
    return table(("benchmark", "system", "metric", "value %", "note", "source"), rows)


def layers_block() -> str:
    """The layers of memoryd, from the table that the test enforces."""
    return _layers("memoryd")


def memeval_layers_block() -> str:
    """The same of memeval."""
    return _layers("memeval")


def _layers(package: str) -> str:
    rows = [(str(number), ", ".join(f"`{name}`" for name in sorted(names))) for number, names in enumerate(LAYERS[package])]
    apart = "; ".join(", ".join(f"`{name}`" for name in sorted(group)) for group in SEPARATE[package])
    return table(("layer", f"modules and packages of `{package}`"), rows) + f"\nNever import one another: {apart}.\n"


def client_rules_block() -> str:
    """What the model of a client without hooks is told."""
    from memoryd.clients.mcp_clients import RULES

    return RULES


BLOCKS: Mapping[str, Callable[[], str]] = {
    "cli": cli_block,
    "exit-codes": exit_codes_block,
    "settings": settings_block,
    "config-example": example_block,
    "tools": tools_block,
    "operations": operations_block,
    "layers": layers_block,
    "memeval-cli": memeval_cli_block,
    "memeval-exit-codes": memeval_exit_codes_block,
    "memeval-layers": memeval_layers_block,
    "published": published_block,
    "client-rules": client_rules_block,
}


def refreshed(text: str) -> str:
    """The document with each generated block as the code has it now."""
    return BLOCK.sub(lambda match: f"{match[1]}{BLOCKS[match['name']]()}{match[3]}", text)


HELP = ROOT / "memoryd" / "cli" / "help.txt"


def root_help() -> str:
    """What `memoryd --help` prints without loading anything."""
    return command_help(app(), ("memoryd",)) + "\n"


def main() -> None:
    """Rewrite the blocks of all documents, and the help of the root command."""
    HELP.write_text(root_help(), "utf-8")
    for path in documents():
        old = path.read_text("utf-8")
        new = refreshed(old)
        if new != old:
            path.write_text(new, "utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)} rewritten\n")


if __name__ == "__main__":
    main()
