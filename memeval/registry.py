"""Registries of parts (code) and specs (YAML files) by name.

Both built-in parts and plug-ins are registered with a decorator:

    @registry.provider("bm25")
    class Bm25Provider: ...

A registry is populated on first use by importing the modules of its package and then the entry points of its group
(`memeval.providers`, `memeval.benchmarks`, `memeval.judges`, `memeval.metrics`, `memeval.question_metrics`, `memeval.models`).

Specs of providers and benchmarks are searched in this order, and the first match wins: folders given by the caller,
folders in `MEMEVAL_CONFIG_PATH`, `./memeval.d`, `~/.config/memeval`, packages under the entry points
`memeval.configs`, `memeval/configs`. Each contains `providers/*.yaml` and `benchmarks/*.yaml`. Each file is named
after its spec.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.resources
import importlib.util
import os
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from memeval.core.errors import ConfigError
from memeval.specs import BenchmarkSpec, ProviderSpec, SuiteSpec, load_benchmark_spec, load_provider_spec, load_suite_spec

Part = TypeVar("Part", bound=Callable[..., Any])


class Registry:
    """A registry of one kind of part. Calling it with a name returns a decorator that registers a part."""

    def __init__(self, kind: str, package: str, group: str) -> None:
        self.kind = kind
        self.group = group
        self._package = package
        self._parts: dict[str, Any] = {}
        self._found = False
        self._lock = RLock()

    def __call__(self, name: str) -> Callable[[Part], Part]:
        """Return a decorator that registers a class or function as `name`. Raises ValueError if the name is taken."""

        def register(part: Part) -> Part:
            known = self._parts.setdefault(name, part)
            if known is not part and not _is_reload(known, part):
                raise ValueError(f"{self.kind} {name!r} is registered twice: {known!r} and {part!r}")
            self._parts[name] = part
            return part

        return register

    def get(self, name: str) -> Any:
        """Look up a part. Raises ConfigError with the nearest names."""
        self._find()
        try:
            return self._parts[name]
        except KeyError:
            raise unknown_name(self.kind, name, self.names()) from None

    def names(self) -> list[str]:
        """Return all names, sorted."""
        self._find()
        return sorted(self._parts)

    def __contains__(self, name: object) -> bool:
        self._find()
        return name in self._parts

    def _find(self) -> None:
        with self._lock:
            if self._found:
                return
            self._found = True
            try:
                _import_package(self._package)
                self._load_entry_points()
            except BaseException:
                self._found = False
                raise

    def _load_entry_points(self) -> None:
        for entry in importlib.metadata.entry_points(group=self.group):
            part = entry.load()
            if callable(part):
                self._parts.setdefault(entry.name, part)


def _is_reload(known: Any, part: Any) -> bool:
    """Return whether both are the same definition from a module imported twice."""
    names = [(getattr(one, "__module__", ""), getattr(one, "__qualname__", "")) for one in (known, part)]
    return names[0] == names[1] and bool(names[0][1])


def _import_package(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        return
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        if not module.name.rsplit(".", 1)[-1].startswith("__"):
            importlib.import_module(module.name)


def unknown_name(kind: str, name: str, known: list[str]) -> ConfigError:
    """Return the error for an unknown name. It lists the nearest names and all known names."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return ConfigError(f"There is no {kind} named {name!r}.", fix=f"{hint}Known: {', '.join(known) or 'none'}.")


provider = Registry("provider", "memeval.providers", "memeval.providers")
benchmark_loader = Registry("benchmark loader", "memeval.benchmarks", "memeval.benchmarks")
judge = Registry("judge", "memeval.judges", "memeval.judges")
metric = Registry("metric", "memeval.metrics", "memeval.metrics")
question_metric = Registry("metric of questions", "memeval.metrics", "memeval.question_metrics")
model = Registry("model", "memeval.models", "memeval.models")
"""Factories `(name, options) -> Model`, registered under the prefix before the first slash of a model name."""


SHORT_NAMES = {"longmemeval": "longmemeval-s"}
"""Common alternative names of benchmarks. A file of the same name takes precedence."""
BUILT_IN = Path(__file__).parent / "configs"
Spec = TypeVar("Spec", ProviderSpec, BenchmarkSpec, SuiteSpec)


@dataclass(frozen=True, slots=True)
class Catalog:
    """Finds specs. `environ` contains the variables available to files, and `own` contains providers without a file."""

    folders: tuple[Path, ...]
    environ: Mapping[str, str]
    own: Mapping[str, ProviderSpec] = field(default_factory=dict)

    @classmethod
    def default(cls, extra: Sequence[Path] = (), environ: Mapping[str, str] | None = None) -> Catalog:
        """Create a catalog of the folders listed above. Raises ConfigError if a folder in `extra` doesn't exist."""
        variables = os.environ if environ is None else environ
        for folder in extra:
            if not folder.is_dir():
                raise ConfigError(f"There is no folder {folder}.", fix="Correct --config-dir.")
        named = [Path(part).expanduser() for part in variables.get("MEMEVAL_CONFIG_PATH", "").split(os.pathsep) if part]
        own = [Path("memeval.d"), Path("~/.config/memeval").expanduser()]
        return cls((*extra, *named, *own, *_plugin_folders(), BUILT_IN), variables)

    def providers(self) -> dict[str, Path]:
        """Return the files of all providers by name, sorted."""
        return self._files("providers")

    def benchmarks(self) -> dict[str, Path]:
        """Return the files of all benchmarks by name, sorted."""
        return self._files("benchmarks")

    def suites(self) -> dict[str, Path]:
        """Return the files of all suites by name, sorted."""
        return self._files("suites")

    def suite(self, name: str) -> SuiteSpec:
        """Load a suite by name or file. Raises ConfigError."""
        return self._load("suite", name, self.suites(), load_suite_spec)

    def provider(self, name: str) -> ProviderSpec:
        """Load a provider by name or file. Raises ConfigError."""
        if name in self.own:
            return self.own[name]
        return self._load("provider", name, self.providers(), load_provider_spec)

    def benchmark(self, name: str) -> BenchmarkSpec:
        """Load a benchmark by name or file. Names may be written with underscores. Raises ConfigError."""
        known = self.benchmarks()
        name = next((one for one in (name, SHORT_NAMES.get(name), name.replace("_", "-")) if one in known), name)
        return self._load("benchmark", name, known, load_benchmark_spec)

    def _files(self, kind: str) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for folder in self.folders:
            for path in [*(folder / kind).glob("*.yaml"), *(folder / kind).glob("*.yml")]:
                found.setdefault(path.stem, path)
        return dict(sorted(found.items()))

    def _load(self, kind: str, name: str, files: Mapping[str, Path], load: Callable[[Path, Mapping[str, str]], Spec]) -> Spec:
        if name.endswith((".yaml", ".yml")):
            return load(Path(name), self.environ)
        if name not in files:
            raise unknown_name(kind, name, list(files))
        return load(files[name], self.environ)


def _plugin_folders() -> list[Path]:
    """Find the config folders of installed plug-ins. The value of the entry point is the package."""
    folders = []
    for entry in importlib.metadata.entry_points(group="memeval.configs"):
        folders.append(Path(str(importlib.resources.files(entry.module))))
    return folders
