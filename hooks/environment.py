"""Find memoryd's own Python environment. This module only reads; plugin/build.py builds the environment."""

import json
import os
import re
import sys

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

OLDEST = (3, 11)
MARKER = "memoryd-ready"
INTERPRETER = "interpreter"
SOURCES = ("memoryd", "memeval", "pyproject.toml", "README.md", "LICENSE")
DIGESTED = (".py", ".toml", ".json", ".md", ".yaml")


def plugin_root() -> str:
    """Return the absolute path of the plugin's root folder."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def launcher_path() -> str:
    """Return the path of the Python launcher."""
    return os.path.join(plugin_root(), "plugin", "launcher.py")


def data_folder(env: "Mapping[str, str]", home: str) -> str:
    """Return the plugin's private folder. If the launcher was run by hand, this is a folder in the user's home folder."""
    return env.get("CLAUDE_PLUGIN_DATA") or os.path.join(home, "plugin")


def bin_python(folder: str) -> str:
    """Return the interpreter of a virtual environment."""
    return os.path.join(folder, "Scripts", "python.exe") if sys.platform == "win32" else os.path.join(folder, "bin", "python")


def version(root: str) -> str:
    """Return the version of the plugin's sources."""
    with open(os.path.join(root, "pyproject.toml"), encoding="utf-8") as stream:
        match = re.search(r'^version = "([^"]+)"', stream.read(), re.MULTILINE)
    return match.group(1) if match else "0"


def source_files(root: str) -> "list[str]":
    """Return the relative paths of all files that the package is built from, sorted."""
    found = [name for name in SOURCES if os.path.isfile(os.path.join(root, name))]
    for package in SOURCES:
        for folder, folders, files in os.walk(os.path.join(root, package)):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            found += [os.path.relpath(os.path.join(folder, name), root) for name in files if not name.endswith(".pyc")]
    return sorted(found)


def venv_folder(env: "Mapping[str, str]", home: str, root: str) -> str:
    """Return the environment's folder for these sources. Its name includes a digest, because the sources may change in place."""
    import hashlib

    digest = hashlib.sha256()
    for name in source_files(root):
        if name.endswith(DIGESTED) and name != "README.md":
            with open(os.path.join(root, name), "rb") as stream:
                digest.update(name.encode() + b"\0" + stream.read() + b"\0")
    return os.path.join(data_folder(env, home), f"venv-{version(root)}-{digest.hexdigest()[:12]}")


def developer_python(root: str) -> "str | None":
    """Return the interpreter of a development clone (`make install`), or None."""
    venv = os.path.join(root, ".venv")
    python = bin_python(venv)
    if not os.path.exists(python):
        return None
    places = [os.path.join(venv, "Lib", "site-packages")]
    library = os.path.join(venv, "lib")
    if os.path.isdir(library):
        places += [os.path.join(library, name, "site-packages") for name in os.listdir(library)]
    installed = re.compile(r"memoryd-.*\.dist-info$")
    return python if any(installed.match(name) for p in places if os.path.isdir(p) for name in os.listdir(p)) else None


def installed_package(root: str) -> "tuple[str, str] | None":
    """Return the interpreter and the package's folder that `memoryd install-claude` recorded, or None for another installation.

    Such a plugin uses the environment from which it was installed, and has no sources to build another one.
    """
    try:
        with open(os.path.join(root, INTERPRETER), encoding="utf-8") as stream:
            python, package = stream.read().splitlines()[:2]
    except (OSError, ValueError):
        return None
    return python, package


def package_problem(root: str) -> str:
    """Return why the environment of an installed package can't be used. Empty if it can be used."""
    installed = installed_package(root)
    if installed is None or all(map(os.path.exists, installed)):
        return ""
    return (
        f"memoryd was removed from the environment of {installed[0]}. Install it again and run 'memoryd install-claude',"
        " or remove the plugin: claude plugin uninstall memoryd@memoryd"
    )


def find_ready(env: "Mapping[str, str]", home: str) -> "str | None":
    """Return the interpreter that can run memoryd now, or None."""
    if env.get("MEMORYD_PYTHON"):
        return env["MEMORYD_PYTHON"]
    root = plugin_root()
    installed = installed_package(root)
    if installed:
        return None if package_problem(root) else installed[0]
    python = developer_python(root)
    if python:
        return python
    folder = venv_folder(env, home, root)
    python = bin_python(folder)
    return python if os.path.exists(os.path.join(folder, MARKER)) and os.path.exists(python) else None


def read_status(env: "Mapping[str, str]", home: str) -> "dict[str, Any]":
    """Return the status of the last build (state, message, since, attempts, retry_at). Empty if there was no build."""
    try:
        with open(os.path.join(data_folder(env, home), "setup.json"), encoding="utf-8") as stream:
            value = json.load(stream)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def on_path(name: str) -> "str | None":
    """Return the first executable with that name on PATH, or None."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name + (".exe" if sys.platform == "win32" else ""))
        if folder and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def python_candidates() -> "list[str]":
    """Return the interpreters that may be recent enough, starting with the running one.

    Callers must try each one, because a shim may be broken.
    """
    names = ["python3"] + [f"python3.{minor}" for minor in range(20, OLDEST[1] - 1, -1)] + ["python"]
    return [sys.executable] + [path for path in map(on_path, names) if path]


def no_python() -> bool:
    """Return whether no installed Python seems able to build the environment."""
    named = any(on_path(f"python3.{minor}") for minor in range(OLDEST[1], 21))
    return sys.version_info[:2] < OLDEST and not named and not on_path("uv")
