"""Model files: saved, and loaded without running any code from the file.

A model file is a zip archive in the format of skops (JSON and npy members; no pickles) with one
more member, ``mercer.json``, that carries this library's version. Nothing in it is compressed.
`load` checks that the members are what they claim to be, and builds only types that it can name:
see `mercer.persistence.archives`, `mercer.persistence.schema` and `mercer.persistence.trust`.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mercer
from mercer.persistence.archives import check_members, one_reader, read_header
from mercer.persistence.field_rules import check_fields
from mercer.persistence.json_texts import ModelFileError, read_json, reason
from mercer.persistence.own_objects import mark_own
from mercer.persistence.schema import DEPTH, SCHEMA, check_schema
from mercer.persistence.trust import (
    installed_only,
    may_be_trusted,
    skops_io,
    sorted_types,
    trusted_names,
    why_unloadable,
)
from mercer.persistence.whole_files import open_regular, write_whole

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

FORMAT = 1
HEADER = "mercer.json"


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        A Mercer learner, or a scikit-learn Pipeline or search around one. It may hold objects of
        classes that other packages define at the top level of a module: a kernel of your own,
        say. `load` then needs their names.
    path : str or path
        The file, usually ``*.mercer``. An existing file is replaced, at the end and in one step.

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
    write_whole(path, model_bytes(model))


def load(path: str | os.PathLike, *, trusted: Iterable[str | type] = ()) -> Any:
    """Read a model that `save` wrote. No code from the file runs.

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
        ``trusted`` is not a list, or an entry is not a class, cannot be imported, or belongs to a
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
    with open_regular(path) as file:
        content = file.read()
    model = read_unchecked(content, path, allowed)
    try:
        check_fields(model)
    except ValueError as error:
        raise _unreadable(path, error) from error
    return model


# --- writing -------------------------------------------------------------------------------------


def model_bytes(model: BaseEstimator) -> bytes:
    """The bytes that `save` writes.

    Raises
    ------
    ModelFileError
        The reasons are those of `save`.
    """
    with installed_only():
        return _written(model)


def _written(model: BaseEstimator) -> bytes:
    """The bytes of a file of a model, after a check that they could be loaded."""
    name = type(model).__name__
    archived = io.BytesIO()
    try:
        content = _described(model)
        own, foreign = sorted_types(content)
        with zipfile.ZipFile(archived, "w") as archive:
            _copy_members(content, archive)
            archive.writestr(HEADER, json.dumps({"format": FORMAT, "mercer": mercer.__version__}))
        with zipfile.ZipFile(archived) as archive:
            # what would be refused by load is refused now
            foreign = sorted({*foreign, *check_schema(archive, [HEADER])})
    except Exception as error:  # skops raises various types; each names what it met
        raise _unsaved(name, error) from error
    never = [f"{each} ({why})" for each in foreign if (why := why_unloadable(each))]
    if never:
        part = "Save its best_estimator_ alone, or use " if _can_be_parted(model) else "Use "
        raise ModelFileError(
            f"{name} holds {', '.join(never)}, which could not be loaded without running foreign "
            f"code. {part}a kernel object or name in place of a callable, and define your own "
            "classes at the top level of a module that can be imported; or use pickle where you "
            "trust every reader."
        )
    if foreign:
        try:
            with one_reader:
                _constructed(content, own + foreign)
        except Exception as error:
            raise ModelFileError(
                f"{name} cannot be saved: the file could not be read back ({error}). Objects of "
                f"{', '.join(foreign)} must be restorable from their attributes alone, and one "
                "is not: keep plain values in its place, or give its class __getstate__ and "
                "__setstate__; or use pickle where you trust every reader."
            ) from error
    return archived.getvalue()


class _Archive(zipfile.ZipFile):
    """An archive that skops may ask for each array whether it has a member, without a list."""

    def namelist(self) -> Any:
        return self.NameToInfo.keys()


def _described(model: BaseEstimator) -> bytes:
    """The archive of `skops.io.dumps`, whose description has no blanks between its parts.

    Half of the description of a wide table would be blanks, which Python alone can write.
    """
    skops_io()
    from skops import __version__
    from skops.io._utils import SaveContext, get_state

    archived = io.BytesIO()
    with _Archive(archived, "w") as archive:
        context = SaveContext(zip_file=archive)
        state = get_state(model, context)
        state |= {"protocol": context.protocol, "_skops_version": __version__}
        archive.writestr(SCHEMA, json.dumps(state, separators=(",", ":")))
        context.clear_memo()
    return archived.getvalue()


def _can_be_parted(model: Any) -> bool:
    """Whether this is a search whose best model can be saved without it."""
    try:
        return bool(model_bytes(model.best_estimator_))
    except (AttributeError, ModelFileError):
        return False


def _unsaved(name: str, error: Exception) -> ModelFileError:
    return ModelFileError(
        f"{name} cannot be saved: {reason(error)}. Model files hold data only; "
        "replace what cannot be saved, or use pickle where you trust every reader."
    )


def _copy_members(content: bytes, archive: zipfile.ZipFile) -> None:
    """Copy the members of an archive of skops; sparse matrices, which it compresses, as they are.

    Zeros are compressed 1000 times. Where nothing is compressed, a file that would grow without
    limit can be told from a model.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        for name in source.namelist():
            member = source.read(name)
            if name.endswith(".npz"):
                unpacked = io.BytesIO()
                with zipfile.ZipFile(unpacked, "w") as inner:
                    _copy_members(member, inner)
                member = unpacked.getbuffer()
            archive.writestr(name, member)


# --- reading -------------------------------------------------------------------------------------


def read_unchecked(content: bytes, path: Path, allowed: list[str]) -> Any:
    """The content of a file, which `mercer.persistence.check_fields` still has to check.

    Errors name its path, and are those of `load`. ``allowed`` are the names of
    classes that the user trusts, from `trusted_names`.
    """
    with installed_only():
        return _build(content, path, allowed, _check(content, path))


def _check(content: bytes, path: Path) -> set[str]:
    """Refuse what is not a whole Mercer model of a format that this version reads.

    What is returned are names of types in it of which no objects are made as it asks for.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            check_members(archive, len(content))
            read_header(archive, HEADER, path, "a Mercer model", FORMAT)
            # reading a member whole compares its checksum, now and later
            return check_schema(archive, [HEADER])
    except (ModelFileError, MemoryError):
        raise
    except Exception as error:  # zipfile, skops, numpy and json raise various types
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ModelFileError:
    return ModelFileError(
        f"{str(path)!r} is not a Mercer model, or it is truncated or altered: {reason(error)}. "
        "Copy it again, or save the model again."
    )


def _build(content: bytes, path: Path, allowed: list[str], refusals: set[str]) -> Any:
    """The model in the archive, if all types that it names are Mercer's own or allowed."""
    try:
        own, foreign = sorted_types(content)
    except MemoryError:
        raise
    except Exception as error:  # what skops cannot parse ends in various types
        raise _unreadable(path, error) from error
    refused = [name for name in foreign if name not in allowed]
    never = sorted(refusals | {name for name in refused if not may_be_trusted(name)})
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
        with one_reader:
            trusted = own + [name for name in foreign if name in allowed]
            return _constructed(content, trusted)
    except MemoryError:
        raise
    except Exception as error:
        raise _unreadable(path, error) from error


def _constructed(content: bytes, trusted: list[str]) -> Any:
    """The object that an archive of skops describes, whose description has been checked."""
    skops_io()
    from skops.io._audit import audit_tree, get_tree
    from skops.io._utils import LoadContext

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        root = read_json(archive.read(SCHEMA), DEPTH)
        mark_own(root)
        tree = get_tree(root, LoadContext(archive, root["protocol"]), trusted)
        audit_tree(tree, trusted)
        return tree.construct()
