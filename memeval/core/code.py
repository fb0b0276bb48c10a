"""Load the user's own code from references in YAML files, such as `./file.py:Name`."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from memeval.core.errors import ConfigError, MemevalError, ProviderError

Result = TypeVar("Result")


def load_object(reference: str, base: Path, where: str) -> Any:
    """Load the object for a reference such as `./file.py:Name`.

    The path is relative to `base`. The message of a ConfigError starts with `where`.
    """
    file, colon, name = reference.rpartition(":")
    if not colon or not file.endswith(".py") or not name.isidentifier():
        raise ConfigError(f"{where} is {reference!r}.", fix="Write ./file.py:Name.")
    path = (base / Path(file).expanduser()).resolve()
    if not path.is_file():
        raise ConfigError(f"{where}: there is no file {path}.", fix="Paths are relative to the YAML file.")
    module = _module(path, where)
    if not hasattr(module, name):
        known = [one for one in vars(module) if not one.startswith("_")]
        raise ConfigError(f"{where}: {path.name} has no {name}.", fix=f"It has: {', '.join(known) or 'nothing'}.")
    return getattr(module, name)


def _module(path: Path, where: str) -> Any:
    """Import the file under a unique module name. It is reimported only after a modification."""
    digest = hashlib.sha256(f"{path}\0{path.stat().st_mtime_ns}".encode()).hexdigest()[:16]
    name = f"memeval_own_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # dataclasses and pickle look up their module in sys.modules.
    sys.path.insert(0, str(path.parent))  # Allow imports of neighbouring files, as in a script.
    try:
        found.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if not isinstance(error, Exception):
            raise
        raise ConfigError(f"{where}: {path.name} can't be loaded: {place_of_fault(error)}.", fix="Correct that file.") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def place_of_fault(error: BaseException) -> str:
    """Describe an exception, including the file and line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{said.rstrip('.')} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else said


def guarded(name: str, what: str, call: Callable[[], Result]) -> Result:
    """Call the user's code.

    Exceptions from that code are raised as a ProviderError with the file and line. Memeval's own errors propagate unchanged.
    """
    try:
        return call()
    except MemevalError:
        raise
    except Exception as error:  # noqa: BLE001 - user code may raise anything
        raise ProviderError(f"{name}: {what} failed: {place_of_fault(error)}.", fix="Correct that code.") from error
