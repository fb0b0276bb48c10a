"""Imports go only downward, including those inside functions. Each third-party library has one importer."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = {
    "memoryd": [
        {"core"},
        {"citations", "clients", "language", "lineage", "guard"},
        {"stores", "embed", "llm"},
        {"retrieval", "testing"},
        {"service"},
        {"daydream", "dream", "recall"},
        {"api", "daemon", "mcp", "sync", "team", "transfer", "console"},
        {"cli", "demo"},
        {"__main__"},
    ],
    "memeval": [
        {"core"},
        {"specs", "registry", "results", "prompts"},
        {"benchmarks", "providers", "judges", "metrics", "stats", "models"},
        {"run", "report"},
        {"claudecode"},
        {"cli", "console"},
        {"__main__"},
    ],
}  # fmt: skip
SEPARATE = {
    "memoryd": [{"stores", "embed", "llm"}],
    "memeval": [{"benchmarks", "providers", "judges", "metrics", "stats", "models"}],
}
MAY_IMPORT_MEMORYD = ("memeval.providers.memoryd", "memeval.models", "memeval.claudecode", "memeval.console")
SHARED = ("memoryd.core.types", "memoryd.core.files", "memoryd.core.errors", "memoryd.core.processes", "memoryd.core.student")
"""The foundations of both packages: values of model calls, durable files, the root of errors, child processes, statistics."""
ONE_IMPORTER = {"mcp", "apscheduler", "watchdog", "hnswlib", "sqlite_vec", "networkx", "frontmatter", "openai", "apsw",
                "onnxruntime", "tokenizers", "detect_secrets", "fastembed", "yaml", "pydantic", "snowballstemmer", "rich",
                "starlette", "uvicorn", "jinja2", "markdown_it", "ray", "tree_sitter_bash", "psycopg",
                "cryptography"}  # fmt: skip
MAY_SHARE = {"rich"}


@dataclass(frozen=True, slots=True)
class Module:
    """What these tests ask about a module, found in one walk."""

    imported: frozenset[str]
    classes: tuple[str, ...]
    attributes: tuple[ast.Attribute, ...]
    comparisons: tuple[ast.Compare, ...]
    calls: tuple[ast.Call, ...]


def parsed(file: Path) -> Module:
    tree = ast.parse(file.read_text("utf-8"))
    found = defaultdict[type, list[Any]](list)
    for node in ast.walk(tree):
        found[type(node)].append(node)
    assert not any(node.level for node in found[ast.ImportFrom]), f"{file}: relative import"
    return Module(
        frozenset(
            [alias.name for node in found[ast.Import] for alias in node.names]
            + [f"{node.module}.{alias.name}" for node in found[ast.ImportFrom] for alias in node.names]
        ),
        tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef)),
        tuple(found[ast.Attribute]),
        tuple(found[ast.Compare]),
        tuple(found[ast.Call]),
    )


@cache
def modules(package: str) -> dict[str, Module]:
    files = sorted((ROOT / package).rglob("*.py"))
    return {str(f.relative_to(ROOT).with_suffix("")).replace("/", ".").replace("\\", "."): parsed(f) for f in files}


def layer_of(package: str, module: str) -> int:
    part = module.split(".")[1] if "." in module else "__init__"
    if part in ("__init__", "__version__"):
        return 0
    for number, names in enumerate(LAYERS[package]):
        if part in names:
            return number
    raise AssertionError(f"{module} belongs to no layer: add it to tests/test_layers.py and docs/design")


@pytest.mark.parametrize("package", sorted(LAYERS))
def test_imports_go_downward_only(package: str) -> None:
    wrong = []
    for name, module in modules(package).items():
        if name == f"{package}.__init__":
            continue
        for target in module.imported:
            if not target.startswith(f"{package}."):
                continue
            here, there = layer_of(package, name), layer_of(package, target)
            siblings = any({name.split(".")[1], target.split(".")[1]} <= group for group in SEPARATE[package])
            if there > here or (siblings and name.split(".")[1] != target.split(".")[1]):
                wrong.append(f"{name} (layer {here}) imports {target} (layer {there})")
    assert not wrong, "\n".join(wrong)


def store_classes() -> set[str]:
    """Return the names of the stores' classes."""
    found = (module for name, module in modules("memoryd").items() if name.startswith("memoryd.stores"))
    return {name for module in found for name in module.classes if name.endswith("Store")}


def stores_of_the_service() -> set[str]:
    """Return the attributes of the Orchestrator that contain its private stores."""
    return {node.attr for node in modules("memoryd")["memoryd.service"].attributes if node.attr.startswith("_")}


def is_service(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.strip("_") == "service"


def test_nothing_above_the_orchestrator_reaches_into_a_store() -> None:
    classes, private = store_classes(), stores_of_the_service()
    assert {"MarkdownStore", "GraphStore", "VectorStore", "TokenStore"} <= classes
    assert {"_markdown", "_graph", "_vector"} <= private
    wrong = []
    above = [
        name for name in modules("memoryd") if "." in name and layer_of("memoryd", name) > layer_of("memoryd", "memoryd.service")
    ]
    for name in above:
        module = modules("memoryd")[name]
        wrong += [f"{name} imports {target}" for target in module.imported if target.rsplit(".", 1)[-1] in classes]
        for node in module.attributes:
            if is_service(node.value) and (node.attr in private or node.attr == "markdown"):
                wrong.append(f"{name}:{node.lineno} uses {node.attr} of the service")
    assert len(above) > 50
    assert not wrong, "\n".join(wrong)


def assert_no_circle(graph: Mapping[str, set[str]]) -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path, name])
        if name not in done:
            for target in sorted(graph.get(name, ())):
                visit(target, (*path, name))
            done.add(name)

    for name in list(graph):
        visit(name, ())


@pytest.mark.parametrize("package", sorted(LAYERS))
def test_modules_do_not_import_each_other_in_a_circle(package: str) -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    known = modules(package)
    for name, module in known.items():
        for target in module.imported:
            for candidate in (target, target.rsplit(".", 1)[0]):
                if candidate in known and candidate != name:
                    graph[name].add(candidate)
    assert_no_circle(graph)


@cache
def scripts() -> dict[str, Module]:
    """Return the modules of hooks and plugin, which import each other by their bare names."""
    return {file.stem: parsed(file) for folder in ("hooks", "plugin") for file in (ROOT / folder).glob("*.py")}


def test_hooks_and_plugin_do_not_import_each_other_in_a_circle() -> None:
    graph = {name: {target for target in script.imported if target in scripts()} for name, script in scripts().items()}
    assert {"protocol", "fallback"} <= graph["hook"]
    assert_no_circle(graph)


def test_hooks_import_nothing_of_the_plugin() -> None:
    for file in (ROOT / "hooks").glob("*.py"):
        found = scripts()[file.stem].imported
        assert not found & {other.stem for other in (ROOT / "plugin").glob("*.py")}, file.name


def is_name_of_a_class(node: ast.expr) -> bool:
    """Return whether it is `type(x).__name__` or `x.__class__.__name__`."""
    if not (isinstance(node, ast.Attribute) and node.attr in ("__name__", "__qualname__")):
        return False
    owner = node.value
    by_type = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "type"
    return by_type or (isinstance(owner, ast.Attribute) and owner.attr == "__class__")


def test_no_class_is_compared_by_its_name() -> None:
    """Modules that are loaded twice have different classes with the same names."""
    wrong = []
    for name, module in {**scripts(), **modules("memoryd"), **modules("memeval")}.items():
        for comparison in module.comparisons:
            if any(map(is_name_of_a_class, (comparison.left, *comparison.comparators))):
                wrong.append(f"{name}:{comparison.lineno}")
        for call in module.calls:
            if isinstance(call.func, ast.Name) and call.func.id == "__import__":
                wrong.append(f"{name}:{call.lineno} imports by a text, which hides a circle")
    assert not wrong, wrong


def test_the_product_never_imports_the_benchmark() -> None:
    for name, module in modules("memoryd").items():
        assert not any(target.split(".")[0] == "memeval" for target in module.imported), name


def test_the_benchmark_touches_the_product_in_few_places_only() -> None:
    for name, module in modules("memeval").items():
        touches = any(target.split(".")[0] == "memoryd" and not target.startswith(SHARED) for target in module.imported)
        assert not touches or name.startswith(MAY_IMPORT_MEMORYD), name


@pytest.mark.parametrize("package", sorted(LAYERS))
def test_each_third_party_library_is_imported_in_one_module(package: str) -> None:
    importers: dict[str, set[str]] = defaultdict(set)
    for name, module in modules(package).items():
        for target in module.imported:
            importers[target.split(".")[0]].add(name)
    for library in ONE_IMPORTER - MAY_SHARE:
        assert len(importers[library]) <= 1, f"{library}: {sorted(importers[library])}"


def test_hooks_and_the_pump_use_the_standard_library_only() -> None:
    assert scripts()
    for name, script in scripts().items():
        for target in script.imported:
            top = target.split(".")[0]
            assert top in sys.stdlib_module_names or top in scripts(), f"{name} imports {target}"
