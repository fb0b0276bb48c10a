"""Which providers and benchmarks there are: YAML files in the user's folders, of plug-ins, and built in.

Searched in this order, the first of a name wins: folders that the caller names, those of `MEMEVAL_CONFIG_PATH`,
`./memeval.d`, `~/.config/memeval`, packages under the entry points `memeval.configs`, `memeval/configs`. Each holds
`providers/*.yaml` and `benchmarks/*.yaml`. The name of a file is the name of what it describes.
"""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from memeval.config import load_benchmark_spec, load_provider_spec
from memeval.errors import ConfigError
from memeval.registry import unknown_name
from memeval.specs import BenchmarkSpec, ProviderSpec

BUILT_IN = Path(__file__).parent / "configs"
Spec = TypeVar("Spec", ProviderSpec, BenchmarkSpec)


@dataclass(frozen=True, slots=True)
class Catalog:
    """Finds specs. `environ` gives the variables that files use."""

    folders: tuple[Path, ...]
    environ: Mapping[str, str]

    @classmethod
    def default(cls, extra: Sequence[Path] = (), environ: Mapping[str, str] | None = None) -> Catalog:
        """The folders above. A folder in `extra` that does not exist is a ConfigError."""
        variables = os.environ if environ is None else environ
        for folder in extra:
            if not folder.is_dir():
                raise ConfigError(f"There is no folder {folder}.", fix="Correct --config-dir.")
        named = [Path(part).expanduser() for part in variables.get("MEMEVAL_CONFIG_PATH", "").split(os.pathsep) if part]
        own = [Path("memeval.d"), Path("~/.config/memeval").expanduser()]
        return cls((*extra, *named, *own, *_plugin_folders(), BUILT_IN), variables)

    def providers(self) -> dict[str, Path]:
        """Files of providers by name, sorted."""
        return self._files("providers")

    def benchmarks(self) -> dict[str, Path]:
        """Files of benchmarks by name, sorted."""
        return self._files("benchmarks")

    def provider(self, name: str) -> ProviderSpec:
        """The provider of that name, or in that file. Raises ConfigError."""
        return self._load("provider", name, self.providers(), load_provider_spec)

    def benchmark(self, name: str) -> BenchmarkSpec:
        """The benchmark of that name, or in that file. Raises ConfigError."""
        return self._load("benchmark", name, self.benchmarks(), load_benchmark_spec)

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
    """Folders of installed packages that bring files: the entry point's value is the package."""
    folders = []
    for entry in importlib.metadata.entry_points(group="memeval.configs"):
        folders.append(Path(str(importlib.resources.files(entry.module))))
    return folders
