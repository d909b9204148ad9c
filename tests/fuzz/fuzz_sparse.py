"""Bytes as sparse matrices whose arrays do not fit together.

`one_input` makes a small sparse matrix of any format, and then sets, cuts, lengthens or sorts the
arrays that it holds, or gives them another type, as careless programs and forged files do. What
`check_format` lets pass has the entries that a slow twin finds, in scipy's own hands and in a
native kernel; all else is refused by a ValueError that names what is wrong.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp

from fuzz.driver import Source, fuzz
from mercer.kernels import Intersection, Linear
from mercer.samples import check_format

FORMATS = ["csr", "csr", "csr", "csc", "coo", "bsr", "dia", "lil", "dok"]
NUMBERS = [0, 1, -1, 2, 3, 7, 2**31 - 1, -(2**31), 2**40, -(2**62)]
DTYPES = ["<f8", "<f4", "<i8", "<i4", "|b1", "<u4", "<c16", ">f8", "|i1"]


def matrix(s: Source):
    """A matrix of up to 5 rows and columns, as it should be."""
    n, d = 1 + s.below(5), 1 + s.below(5)
    dense = np.array([max(0, s.below(8) - 4) for _ in range(n * d)], float).reshape(n, d)
    dtype = s.one_of(DTYPES[:-2]) if s.below(4) == 3 else "<f8"
    array = sp.csr_array if s.below(2) else sp.csr_matrix
    form = s.one_of(FORMATS)
    return array(dense.astype(dtype)).asformat(form)


def altered(s: Source, A) -> None:
    """Make one of the arrays of a matrix wrong, in place."""
    parts = {
        "coo": ["data", "coords"], "dia": ["data", "offsets"], "lil": ["data", "rows"],
    }.get(A.format, ["data", "indices", "indptr"])  # fmt: skip
    if A.format == "dok":
        A._dict[s.one_of([(0, 0), (9, 0), (0, -1), (2**40, 1)])] = 1.0
        return
    name = s.one_of(parts)
    part = getattr(A, name)
    if name == "coords":
        at = s.below(2)
        A.coords = tuple(changed(s, each) if i == at else each for i, each in enumerate(part))
    elif A.format == "lil":
        part[s.below(len(part)) if len(part) else 0] = s.one_of(
            [[], [0], [9], [-1], [0, 0, 1], (1,)]
        )
    else:
        setattr(A, name, changed(s, part))


def changed(s: Source, array: np.ndarray) -> np.ndarray:
    way, found = s.below(9), array.copy()
    if way < 3 and found.size:
        wide = way == 2 and found.dtype.kind == "i"
        found = found.astype(np.int64) if wide else found
        with np.errstate(all="ignore"):
            found.reshape(-1)[s.below(100) % found.size] = np.array(s.one_of(NUMBERS)).astype(
                found.dtype
            )
    elif way == 3:
        found = found[: s.below(4)]
    elif way == 4:
        found = np.concatenate([found, found[: 1 + s.below(3)]])
    elif way == 5:
        found = found[::-1] if s.below(2) else np.sort(found, axis=0)
    elif way == 6:
        found = found[None]
    elif way == 7:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = found.astype(s.one_of(DTYPES))
    return found


def twin(A) -> np.ndarray | None:
    """The entries of a matrix whose arrays fit, added one by one; None of other formats."""
    if A.format not in ("csr", "csc", "coo"):
        return None
    out = np.zeros(A.shape, A.data.dtype if A.data.dtype != bool else int)
    if A.format in ("csr", "csc"):
        for line in range(len(A.indptr) - 1):
            for e in range(A.indptr[line], A.indptr[line + 1]):
                place = (line, A.indices[e]) if A.format == "csr" else (A.indices[e], line)
                out[place] += A.data[e]
    else:
        for i, j, value in zip(*A.coords, A.data):
            out[i, j] += value
    return out


def one_input(data: bytes) -> str:
    """Check one matrix; "right" or "refused"."""
    s = Source(data)
    A = matrix(s)
    for _ in range(s.below(3)):
        try:
            altered(s, A)
        except (ValueError, TypeError, AttributeError, IndexError):
            break  # scipy did not let it be set
    said = ""
    try:
        check_format(A)
    except ValueError as error:
        said = str(error)
    if said:
        assert "sparse matrix" in said
        return "refused"
    wanted = twin(A)
    try:
        found = A.toarray()
    except (ValueError, TypeError, OverflowError):
        return "refused by scipy"
    if wanted is not None and A.data.dtype.kind in "fi" and A.data.dtype.itemsize > 1:
        assert np.array_equal(found, wanted, equal_nan=True), (found, wanted)
    if (
        s.below(8) == 7
        and found.dtype.kind in "fi"
        and np.isfinite(found).all()
        and abs(found).max() < 1e6
    ):
        rows = found.astype(float)
        for kernel in (Linear(), Intersection()):
            try:
                K = kernel(A)
            except (ValueError, TypeError):
                continue
            if type(kernel) is Linear:
                assert np.allclose(K, rows @ rows.T, rtol=1e-5)
    return "right"


if __name__ == "__main__":
    fuzz(one_input)
