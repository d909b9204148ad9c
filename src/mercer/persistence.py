"""Model files: written whole or not at all, and loading them runs no code.

A model file is a zip archive in the format of skops (JSON and npy members; no pickles) with one
more member, ``mercer.json``, that carries this library's version. `load` builds only types that
it can name: numpy, scipy and scikit-learn types that skops trusts, and this library's classes.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import mercer

__all__ = ["ModelFileError", "load", "save", "write_whole"]

FORMAT = 1
HEADER = "mercer.json"
# skops does not know this one by itself; it is data: three arrays and a shape
ALSO_TRUSTED = {"scipy.sparse._csr.csr_array", "sklearn.metrics._scorer._PassthroughScorer"}


class ModelFileError(ValueError):
    """A model file that cannot be written or read; the message says why and what to do."""


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        A Mercer learner, or a scikit-learn Pipeline or search around one.
    path : str or path
        By convention ``*.mercer``. An existing file is replaced, at the end and in one step.

    Raises
    ------
    ModelFileError
        The model holds something that could not be loaded without running code, such as a
        callable kernel; the message names it.
    OSError
        The file cannot be written (full disk, no permission); an existing file is then unchanged.

    See Also
    --------
    load : The inverse.

    Examples
    --------
    >>> import mercer, os, tempfile
    >>> model = mercer.KernelRidge(kernel="rbf").fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.mercer")
    ...     mercer.save(model, path)
    ...     mercer.load(path).predict([[1.0]]).shape
    (1,)
    """
    from skops.io import dumps

    try:
        content = io.BytesIO(dumps(model))
    except Exception as error:  # skops raises various types; each names what it met
        raise ModelFileError(
            f"{type(model).__name__} cannot be saved: {error}. Model files hold data only; "
            "replace what cannot be saved, or use pickle where you trust every reader."
        ) from error
    content.seek(0)
    refused = _refused_types(content)
    if refused:
        raise ModelFileError(
            f"{type(model).__name__} holds {', '.join(refused)}, which could not be loaded without "
            "running foreign code. Use a kernel object or name in place of a callable, or pickle "
            "where you trust every reader."
        )
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(HEADER, json.dumps({"format": FORMAT, "mercer": mercer.__version__}))
    write_whole(path, content.getvalue())


def load(path: str | os.PathLike) -> Any:
    """Read a model that `save` wrote. No code of the file's choosing runs.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ModelFileError
        The file is truncated, not a Mercer model, written by a newer version, or names types
        that are not this library's, scikit-learn's, scipy's or numpy's.
    """
    from skops.io import loads

    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    content = io.BytesIO(path.read_bytes())
    try:
        with zipfile.ZipFile(content) as archive:
            damaged = archive.testzip()
            header = json.loads(archive.read(HEADER)) if HEADER in archive.namelist() else None
    except (zipfile.BadZipFile, ValueError, OSError, EOFError) as error:
        raise ModelFileError(
            f"{str(path)!r} is not a Mercer model, or it is truncated: {error}. Copy or write it "
            "again."
        ) from error
    if header is None or not isinstance(header, dict) or "format" not in header:
        raise ModelFileError(
            f"{str(path)!r} is a zip archive but not a Mercer model: it lacks {HEADER}."
        )
    if damaged:
        raise ModelFileError(f"{str(path)!r} is damaged at {damaged!r}. Copy or write it again.")
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{str(path)!r} was written by mercer {header.get('mercer')} in format "
            f"{header['format']}; this is mercer {mercer.__version__}, which reads formats up to "
            f"{FORMAT}. Upgrade: pip install --upgrade mercer."
        )
    content.seek(0)
    try:
        refused = _refused_types(content)
    except Exception as error:  # what skops cannot parse ends in various types
        raise ModelFileError(f"{str(path)!r} is not a Mercer model: {error}.") from error
    if refused:
        raise ModelFileError(
            f"{str(path)!r} names types that Mercer does not load: {', '.join(refused)}. It was "
            "not made by mercer.save, or it was altered; nothing was loaded."
        )
    try:
        return loads(content.getvalue(), trusted=_types_to_trust(content))
    except Exception as error:
        raise ModelFileError(f"{str(path)!r} cannot be read: {error}.") from error


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file whole or not at all: temporary file beside it, fsync, rename.

    On any error (full disk, interruption) the temporary file is removed and a file that was there
    before is unchanged.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(path), None  # a full disk names no file
        raise


def _types_to_trust(content: io.BytesIO) -> list[str]:
    """The names in a skops archive that are classes of this library."""
    from skops.io import get_untrusted_types

    return [name for name in get_untrusted_types(data=content.getvalue()) if _is_own_class(name)]


def _refused_types(content: io.BytesIO) -> list[str]:
    from skops.io import get_untrusted_types

    names = get_untrusted_types(data=content.getvalue())
    return [name for name in names if not _is_own_class(name)]


def _is_own_class(name: str) -> bool:
    """Whether a dotted name is a class defined in this library (not merely reachable from it)."""
    if name in ALSO_TRUSTED:
        return True
    module, _, attribute = name.rpartition(".")
    if module.split(".")[0] != "mercer":
        return False
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module
