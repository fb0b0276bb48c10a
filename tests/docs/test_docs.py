"""The documentation agrees with the code."""

from __future__ import annotations

import importlib.util
import json
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from memeval.cli.app import build
from memoryd.api.registry import tools
from memoryd.cli.app import app
from memoryd.core.codec import OWNED_KEYS
from memoryd.core.config import ENV_PREFIX, KEYS, load_settings
from memoryd.core.types import Kind, LinkType, Polarity, Scope, Source, Status, Trust
from memoryd.mcp.server import PROMPT, URI

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
VARIABLE = re.compile(
    r"\b(_?MEMORYD_[A-Z_]*[A-Z]|CLAUDE_?[A-Z_]*[A-Z]|OPEN(?:AI|ROUTER)_[A-Z_]+|ANTHROPIC_[A-Z_]*[A-Z]|DISABLE_[A-Z]+)\b"
)
NO_VARIABLES = {"CLAUDE_VERSION", "CLAUDE_PROJECTS", "OPENROUTER_URL"}  # Names of the Makefile and of modules.


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def documents() -> list[Path]:
    tops = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "memories" / "README.md"]
    return tops + sorted(DOCS.rglob("*.md"))


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = re.compile(r"`([\w./]+)\.py`")
DOTTED = re.compile(r"`((?:memoryd|memeval)(?:\.\w+)+)`")


def is_python_file(name: str) -> bool:
    packages = (ROOT, ROOT / "memoryd", ROOT / "memeval", *(path for path in (ROOT / "memoryd").iterdir() if path.is_dir()))
    return any((package / f"{name}.py").is_file() for package in packages)


def is_importable(dotted: str) -> bool:
    """Return whether a name is a module, or an attribute of one."""
    try:
        pkgutil.resolve_name(dotted)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("path", [ROOT / "CONTRIBUTING.md", *sorted((DOCS / "design").glob("*.md"))], ids=lambda path: path.name)
def test_modules_named_by_maintainers_documents_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    assert [name for name in MODULE.findall(text) if not is_python_file(name)] == []
    assert [name for name in DOTTED.findall(text) if not is_importable(name)] == []


def test_generated_blocks_are_fresh() -> None:
    generator = load_generator()
    blocks = [
        name for path in generator.documents() for name in re.findall(r"<!-- generated: (\S+) -->", path.read_text("utf-8"))
    ]
    stale = [
        str(path.relative_to(ROOT))
        for path in generator.documents()
        if generator.refreshed(path.read_text("utf-8")) != path.read_text("utf-8")
    ]
    assert sorted(blocks) == sorted(generator.BLOCKS)
    assert not stale, f"run: make docs ({', '.join(stale)})"


@pytest.mark.parametrize(
    ("start", "page"),
    [
        (("-m", "memoryd", "search"), "docs/cli.md"),
        (("-c", "import sys; sys.argv[0] = 'memeval'; from memeval.cli.app import main; main()", "regress"), "docs/memeval.md"),
    ],
)
def test_the_help_in_the_documents_is_what_the_command_prints(start: tuple[str, ...], page: str) -> None:
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, *start, "--help"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert f"```text\n{done.stdout.rstrip()}\n```" in read(page)


def programs() -> dict[str, dict[str, click.Command]]:
    return {"memoryd": dict(app().commands), "memeval": dict(build().commands)}


def commands() -> Iterator[tuple[str, click.Command]]:
    for group in programs().values():
        yield from sorted(group.items())


@pytest.mark.parametrize(("program", "page"), [("memoryd", "docs/cli.md"), ("memeval", "docs/memeval.md")])
def test_every_command_and_option_is_documented(program: str, page: str) -> None:
    text = read(page)
    for name, command in programs()[program].items():
        section = re.search(rf"^## {program} {re.escape(name)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
        assert section, name
        said = section[1].lower()
        missing = [name for parameter in command.params for name in names_of(parameter) if name.lower() not in said]
        assert not missing, f"{program} {name}: {missing}"


def names_of(parameter: click.Parameter) -> list[str]:
    if isinstance(parameter, click.Option):
        return [*parameter.opts, *parameter.secondary_opts]
    return (
        list(parameter.type.choices) if isinstance(parameter.type, click.Choice) else [parameter.human_readable_name.rstrip(".")]
    )


def test_every_command_says_what_it_does() -> None:
    assert not [name for name, command in commands() if not (command.help or "").strip()]


def test_every_tool_and_parameter_is_documented() -> None:
    text = read("docs/mcp.md")
    for tool in tools().values():
        section = re.search(rf"^### {tool.name}\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE)
        assert section, tool.name
        for name in (*tool.input_schema()["properties"], *tool.output_schema()["properties"]):
            assert f"| `{name}` |" in section[1], f"{tool.name}: {name}"
    assert f"`{URI}{{id}}`" in text
    assert f"`{PROMPT}` with the argument `query`" in text


def test_every_setting_is_documented_with_its_default_and_variable(tmp_path: Path) -> None:
    text = read("docs/configuration.md")
    for name in KEYS:
        assert re.search(rf"^\| `{name}` \| `[^|]*` \|.*`{ENV_PREFIX}{name.upper()}`", text, re.MULTILINE), name


def test_the_example_configuration_holds_the_defaults(tmp_path: Path) -> None:
    example = re.search(r"<!-- generated: config-example -->\n```toml\n(.*?)```", read("docs/configuration.md"), re.DOTALL)
    assert example is not None
    (tmp_path / "config.toml").write_text(re.sub(r"^# (\w+ = )", r"\1", example[1], flags=re.MULTILINE), "utf-8")
    assert load_settings({}, home=str(tmp_path)) == load_settings({}, home=str(tmp_path)).__class__(home=tmp_path)
    assert len(tomllib.loads((tmp_path / "config.toml").read_text("utf-8"))) == len(KEYS) - 1


def test_every_plugin_option_is_a_setting_with_the_same_default() -> None:
    options = json.loads(read("plugin.json"))["userConfig"]
    generator = load_generator()
    for name, option in options.items():
        assert name in KEYS
        assert option.get("default", generator.default_of(name)) == generator.default_of(name), name


def sources() -> list[Path]:
    code = [path for folder in ("memoryd", "hooks", "plugin") for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [
        ROOT / "Makefile",
        *(path for path in code if path.suffix in (".py", ".sh", ".json", "") and "__pycache__" not in path.parts),
    ]


def test_every_environment_variable_is_documented() -> None:
    text = read("docs/configuration.md")
    used = {name: path for path in sources() for name in VARIABLE.findall(path.read_text("utf-8"))}
    assert {"MEMORYD_HOME", "CLAUDE_PLUGIN_DATA", "OPENROUTER_API_KEY"} <= set(used)
    options = {name for name in used if name.startswith("CLAUDE_PLUGIN_OPTION")}
    missing = [f"{name} ({path.name})" for name, path in used.items() if name not in text and name not in NO_VARIABLES | options]
    assert not missing


def test_every_hook_event_is_documented() -> None:
    events = json.loads(read("hooks/hooks.json"))["hooks"]
    text = read("docs/hooks.md")
    headings = " ".join(re.findall(r"^## (.*)$", text, re.MULTILINE))
    for event in events:
        assert f"| `{event}` |" in text
        assert event in headings


def test_every_key_of_a_memory_file_is_documented() -> None:
    text = read("docs/memories.md")
    for key in OWNED_KEYS:
        assert re.search(rf"^\| `{key}` \|", text, re.MULTILINE), key
    for enum in (Kind, Polarity, Scope, Source, Trust, Status, LinkType):
        for member in enum:
            assert f"`{member.value}`" in text, member


def test_every_check_of_the_doctor_is_documented() -> None:
    text = read("docs/troubleshooting.md")
    names = set(re.findall(r"Check\(\s*f?\"([a-z][a-z /]*)", read("memoryd/cli/doctor.py")))
    assert len(names) > 10
    for name in names:
        assert re.search(rf"^\| `{name.strip()}( …)?` \|", text, re.MULTILINE), name


def test_every_dependency_is_justified() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    wanted = [*project["dependencies"], *(entry for extra in project["optional-dependencies"].values() for entry in extra)]
    text = read("docs/design/dependencies.md")
    missing = [name for name in (re.split(r"[<>=\[;]", entry)[0].strip() for entry in wanted) if f"`{name}`" not in text]
    assert not missing
    assert not [extra for extra in project["optional-dependencies"] if f"| `{extra}` |" not in text]


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    broken = []
    for target in LINK.findall(FENCE.sub("", path.read_text("utf-8"))):
        name, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        there = (path.parent / name).resolve() if name else path
        if not there.exists() or anchor and anchor not in anchors(there):
            broken.append(target)
    assert not broken


def test_files_that_are_named_exist() -> None:
    paths = re.compile(r"`((?:tests|memoryd|memeval|hooks|plugin|benchmarks|docs)/[\w./-]*\w)`")
    named = {name: path.name for path in documents() for name in paths.findall(path.read_text("utf-8"))}
    assert not {name: document for name, document in named.items() if not (ROOT / name).exists()}


def test_every_document_can_be_found() -> None:
    linked = {(DOCS / "design" / target).resolve() for target in LINK.findall(read("docs/design/README.md"))}
    assert not [path.name for path in (DOCS / "design").glob("*.md") if path.name != "README.md" and path.resolve() not in linked]
    readme = {(ROOT / target).resolve() for target in LINK.findall(read("README.md")) if not target.startswith("http")}
    assert not [path.name for path in DOCS.glob("*.md") if path.resolve() not in readme]


def test_commands_in_the_documents_exist() -> None:
    """Every `memoryd …` and `memeval …` line of a code block uses an existing command, and `make …` an existing target."""
    targets = set(re.findall(r"^([a-z0-9-]+):", read("Makefile"), re.MULTILINE))
    all_known = programs()
    for path in documents():
        for block in re.findall(r"^```(?:sh|console)\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE):
            for line in block.splitlines():
                words = line.removeprefix("$ ").split()
                if words[:1] == ["make"]:
                    assert {word for word in words[1:] if "=" not in word and "#" not in word} & targets, line
                elif words and (program := words[0].split("/")[-1]) in all_known:
                    known = all_known[program]
                    rest = (
                        words[3:] if words[1] in ("--home", "--results-dir") else [word for word in words[1:] if word != "--json"]
                    )
                    assert rest[0] in known, line
                    options = {
                        option for parameter in known[rest[0]].params for option in (*parameter.opts, *parameter.secondary_opts)
                    }
                    used = {word for word in rest[1 : rest.index("#") if "#" in rest else None] if word.startswith("--")}
                    assert used <= options, line


def test_the_top_level_is_as_laid_out() -> None:
    names = """.claude-plugin/plugin.json .claude-plugin/marketplace.json plugin.json hooks/hooks.json plugin/commands
    plugin/skills plugin/mcp.json plugin/bin memoryd memeval memories tests docs/design pyproject.toml Makefile README.md
    CHANGELOG.md LICENSE .ci/run""".split()
    assert not [name for name in names if not (ROOT / name).exists()]


def test_the_changelog_has_the_version() -> None:
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", read("CHANGELOG.md"), re.MULTILINE)


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_document_names_a_path_of_another_machine(path: Path) -> None:
    found = re.findall(r"(?<![\w.~-])/(?:work|tmp|root|opt|home|Users)/[\w./-]+", path.read_text("utf-8"))
    assert not [name for name in found if not name.startswith("/home/ada/")]
