"""Model files: written whole or not at all, and no code of the file's choosing runs on loading.

A model file is a zip archive in the format of skops (JSON and npy members; no pickles) with one
more member, ``mercer.json``, that carries this library's version. `load` builds only types that
it can name: numpy, scipy and scikit-learn types that skops trusts, this library's classes, and
the classes of other packages that the user names in ``trusted=``. The module of such a class is
imported because the user names it, never because a file does.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import IO, Any

import mercer

__all__ = [
    "ModelFileError",
    "load",
    "read_header",
    "save",
    "trusted_names",
    "write_whole",
    "written_whole",
]

FORMAT = 1
HEADER = "mercer.json"
# skops does not know this one by itself; it is data: three arrays and a shape
ALSO_TRUSTED = {"scipy.sparse._csr.csr_array", "sklearn.metrics._scorer._PassthroughScorer"}
# of these, what is safe is on a list already; the rest (subprocess.Popen, functools.partial,
# scikit-learn's trees) is not, and no user has to know why
JUDGED = {"mercer", "numpy", "scipy", "sklearn", "skops", *sys.stdlib_module_names}
FUNCTIONS = (FunctionType, BuiltinFunctionType)


class ModelFileError(ValueError):
    """A model file that cannot be written or read; the message says why and what to do."""


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        A Mercer learner, or a scikit-learn Pipeline or search around one. It may hold objects of
        classes that other packages define at the top level of a module: a kernel of your own,
        say. `load` then needs their names.
    path : str or path
        By convention ``*.mercer``. An existing file is replaced, at the end and in one step.

    Raises
    ------
    ModelFileError
        The model holds something that could never be loaded from data alone, such as a function
        or an object of a class that is defined inside a function; the message names it.
    OSError
        The file cannot be written (full disk, no permission); an existing file is then unchanged.

    See Also
    --------
    load : The inverse.

    Notes
    -----
    Where the model holds classes of other packages, the file is read back before it is written
    to disk, so that a class whose objects cannot be made from their attributes is found now.

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
    from skops.io import dumps, loads

    name = type(model).__name__
    try:
        content = dumps(model)
    except Exception as error:  # skops raises various types; each names what it met
        raise ModelFileError(
            f"{name} cannot be saved: {error}. Model files hold data only; "
            "replace what cannot be saved, or use pickle where you trust every reader."
        ) from error
    own, foreign = _sorted_types(content)
    never = [f"{each} ({why})" for each in foreign if (why := _why_unloadable(each))]
    if never:
        raise ModelFileError(
            f"{name} holds {', '.join(never)}, which could not be loaded without running foreign "
            "code. Use a kernel object or name in place of a callable, and define your own "
            "classes at the top level of a module that can be imported; or use pickle where you "
            "trust every reader."
        )
    if foreign:
        try:
            loads(content, trusted=own + foreign)
        except Exception as error:
            raise ModelFileError(
                f"{name} cannot be saved: the file could not be read back ({error}). Objects of "
                f"{', '.join(foreign)} must be restorable from their attributes alone, and one "
                "is not: keep plain values in its place, or give its class __getstate__ and "
                "__setstate__; or use pickle where you trust every reader."
            ) from error
    archived = io.BytesIO(content)
    with zipfile.ZipFile(archived, "a") as archive:
        archive.writestr(HEADER, json.dumps({"format": FORMAT, "mercer": mercer.__version__}))
    write_whole(path, archived.getvalue())


def load(path: str | os.PathLike, *, trusted: Iterable[str | type] = ()) -> Any:
    """Read a model that `save` wrote. No code of the file's choosing runs.

    Parameters
    ----------
    path : str or path
    trusted : list of str or classes, optional
        Classes of other packages that the file may hold beside those of Mercer, scikit-learn,
        scipy and numpy: the classes themselves, or their names, as ``"their.module.Kernel"``.
        Their modules are imported, and their objects are made with values from the file, so name
        them only for files whose source you trust. Without it such a file is refused, and the
        message gives the list to write here.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ModelFileError
        The file is truncated, not a Mercer model, written by a newer version, or names types
        that are neither allowed in every file nor in ``trusted``. Nothing was loaded then.
    TypeError, ValueError
        ``trusted`` is no list, or an entry is not a class, cannot be imported, or belongs to a
        package whose safe types are known already. The file was not opened then.

    See Also
    --------
    save : The inverse.

    Examples
    --------
    A model with a kernel that ``their/module.py`` defines is loaded by
    ``mercer.load("model.mercer", trusted=["their.module.Kernel"])``. One name is a list too:

    >>> import mercer
    >>> mercer.load("model.mercer", trusted="their.module.Kernel")
    Traceback (most recent call last):
    TypeError: trusted='their.module.Kernel': give a list of classes or of their names, such as
    trusted=['their.module.Kernel'].
    """
    allowed = trusted_names(trusted)
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    content = path.read_bytes()
    _check_archive(content, path)
    return _build(content, path, allowed)


def _check_archive(content: bytes, path: Path) -> None:
    """Refuse what is no whole Mercer model of a format that this version reads."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            damaged = archive.testzip()
            read_header(archive, HEADER, path, "a Mercer model", FORMAT)
    except ModelFileError:
        raise
    except Exception as error:  # zipfile, its decompressors and json raise various types
        raise ModelFileError(
            f"{str(path)!r} is not a Mercer model, or it is truncated: {error}. Copy or write it "
            "again."
        ) from error
    if damaged:
        raise ModelFileError(f"{str(path)!r} is damaged at {damaged!r}. Copy or write it again.")


def read_header(
    archive: zipfile.ZipFile, name: str, path: Path, wanted: str, newest: int, hint: str = ""
) -> dict:
    """The JSON header of an archive, if this version reads its format.

    Parameters
    ----------
    name : str
        The member that holds the header.
    path, wanted : path, str
        The file, and what it should be; for messages.
    newest : int
        The newest format that this version reads.
    hint : str
        What to do if the file is something else.

    Raises
    ------
    ModelFileError
        There is no header, or the file has a newer format.
    """
    header = json.loads(archive.read(name)) if name in archive.namelist() else None
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ModelFileError(
            f"{str(path)!r} is a zip archive but not {wanted}: it lacks {name}, or this gives no "
            f"format.{hint}"
        )
    if header["format"] > newest:
        raise ModelFileError(
            f"{str(path)!r} was written by mercer {header.get('mercer')} in format "
            f"{header['format']}; this is mercer {mercer.__version__}, which reads formats up to "
            f"{newest}. Upgrade: pip install --upgrade mercer."
        )
    return header


def _build(content: bytes, path: Path, allowed: list[str]) -> Any:
    """The model in the archive, if all types that it names are Mercer's own or allowed."""
    from skops.io import loads

    try:
        own, foreign = _sorted_types(content)
    except Exception as error:  # what skops cannot parse ends in various types
        raise ModelFileError(f"{str(path)!r} is not a Mercer model: {error}.") from error
    refused = [name for name in foreign if name not in allowed]
    never = [name for name in refused if not _may_be_trusted(name)]
    if never:
        raise ModelFileError(
            f"{str(path)!r} names types that Mercer does not load: {', '.join(map(repr, never))}. "
            "It was not made by mercer.save, or it was altered; nothing was loaded."
        )
    if refused:
        raise ModelFileError(
            f"{str(path)!r} holds types of other packages: {', '.join(refused)}. Nothing was "
            "loaded. Only if you trust the source of this file, and know these classes, name them "
            f"as trusted: mercer.load({str(path)!r}, trusted={sorted({*allowed, *refused})!r})."
        )
    try:
        return loads(content, trusted=own + [name for name in foreign if name in allowed])
    except Exception as error:
        raise ModelFileError(f"{str(path)!r} cannot be read: {error}.") from error


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file whole or not at all, as `written_whole` does."""
    with written_whole(path) as file:
        file.write(content)


@contextmanager
def written_whole(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of ``path`` when it is complete.

    It is a temporary file beside ``path``, which is synchronised and renamed at the end. On any
    error (full disk, interruption) it is removed, and a file that was there before is unchanged.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
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


# --- which types a file may name ---------------------------------------------------------------


def _sorted_types(content: bytes) -> tuple[list[str], list[str]]:
    """Names in a skops archive that skops does not trust: classes of this library, and others."""
    from skops.io import get_untrusted_types

    names = get_untrusted_types(data=content)
    own = [name for name in names if _is_own_class(name)]
    return own, [name for name in names if name not in own]


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


def _may_be_trusted(name: str) -> bool:
    """Whether a name may be that of a class of another package; nothing is imported."""
    module = name.rpartition(".")[0]
    dotted = all(part.isidentifier() for part in name.split("."))
    return bool(module) and dotted and module.split(".")[0] not in JUDGED


def _why_unloadable(name: str) -> str:
    """Why no user could load what stands in a model under this name; empty where one could."""
    module, _, attribute = name.rpartition(".")
    found = getattr(sys.modules.get(module), attribute, None)
    if attribute.startswith("<") or isinstance(found, FUNCTIONS):
        return "a function"
    if module.split(".")[0] in JUDGED:
        return "not one of the types that are known to be safe"
    return "" if _home(found) == name else "not defined at the top level of a module"


def _home(found: Any) -> str | None:
    """module.Name of a class that can be reached by it; None for everything else."""
    if not isinstance(found, type):
        return None
    module = sys.modules.get(found.__module__)
    reachable = getattr(module, found.__qualname__, None) is found
    return f"{found.__module__}.{found.__qualname__}" if reachable else None


def trusted_names(trusted: Any) -> list[str]:
    """The names that files have for the classes that the user trusts, which may be names too.

    Raises
    ------
    TypeError, ValueError
        As `load` does for its argument.
    """
    if isinstance(trusted, (str, bytes, type)) or not isinstance(trusted, Iterable):
        example = trusted if isinstance(trusted, str) else "their.module.Kernel"
        raise TypeError(
            f"trusted={trusted!r}: give a list of classes or of their names, such as "
            f"trusted=[{example!r}]."
        )
    return [_trusted_name(entry) for entry in trusted]


def _trusted_name(entry: Any) -> str:
    found = _imported(entry) if isinstance(entry, str) else entry
    if not isinstance(found, type):
        raise TypeError(
            f"trusted has {entry!r}, which is a {type(found).__name__}, not a class: give classes "
            'or their names, such as "their.module.Kernel". A file that needs a function cannot '
            "be loaded."
        )
    name = _home(found)
    if name is None:
        raise ValueError(
            f"trusted has {entry!r}, which is not defined at the top level of a module: files "
            "cannot hold its objects. Move the class there, and save the model again."
        )
    if not (_may_be_trusted(name) or _is_own_class(name)):
        raise ValueError(
            f"trusted has {entry!r}, which belongs to {name.split('.')[0]!r}: the types of that "
            "package that are safe to load are loaded without being named, and the others are "
            "never loaded. Give classes of other packages only."
        )
    return name


def _imported(name: str) -> Any:
    """What a dotted name that the user gave stands for."""
    module, _, attribute = name.rpartition(".")
    if not module or not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(
            f"trusted has {name!r}: give the whole dotted name of a class, such as "
            '"their.module.Kernel".'
        )
    try:
        return getattr(import_module(module), attribute)
    except Exception as error:  # importing runs their code, which may raise anything
        raise ValueError(
            f"trusted has {name!r}, which cannot be imported: {error}. Install the package that "
            "defines the class, or put its folder on sys.path; a class of a program that was run "
            "(__main__) has to be defined in this program too, or moved to a module."
        ) from error
