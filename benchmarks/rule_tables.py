"""Tables of rules and of steps, on which boosted trees are strong, made for benchmarks.

The endgame of king and rook against king is computed exactly by going backwards from all mates. The
drives are classes of boxes in a few hidden numbers, of which only powers and products are measured,
in columns of very different scales and with heavy tails. LightGBM is that of tables.py, with the
same seconds for its search.
"""

import time

import lightgbm
import numpy as np
import pandas as pd

from commands import command_on_rows
from harness import Section, options
from tables import boosted, score

SQUARES = 64
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
WORDS += ["eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"]


def _files_and_ranks(squares):
    return squares % 8, squares // 8


def _near() -> np.ndarray:
    """Whether a king can step from one square to another, (64, 64)."""
    x, y = _files_and_ranks(np.arange(SQUARES))
    gap = np.maximum(abs(x[:, None] - x), abs(y[:, None] - y))
    return gap == 1


def _attacks() -> np.ndarray:
    """Whether a rook attacks a square past a white king: [king, rook, square]."""
    s = np.arange(SQUARES)
    k, r, b = np.meshgrid(s, s, s, indexing="ij", sparse=True)
    found = np.zeros((SQUARES,) * 3, bool)
    for along, across in ((lambda q: q % 8, lambda q: q // 8), (lambda q: q // 8, lambda q: q % 8)):
        low, high = np.minimum(along(r), along(b)), np.maximum(along(r), along(b))
        line = (across(r) == across(b)) & (r != b)
        blocked = (across(k) == across(r)) & (low < along(k)) & (along(k) < high)
        found |= line & ~blocked
    return found


def endgame() -> tuple[pd.DataFrame, np.ndarray]:
    """White king, white rook and black king; black moves: in how many moves of White it is mate.

    Of the positions that are the same by a symmetry of the board one is kept: 28,056 rows.
    """
    near, attacks = _near(), _attacks()
    s = np.arange(SQUARES)
    k, r, b = np.meshgrid(s, s, s, indexing="ij", sparse=True)
    legal = (k != r) & (r != b) & (k != b) & ~near[k, b]  # with Black to move
    depth = np.full(legal.shape, -1)  # of positions with Black to move; -1: not known
    # Black's steps: to a square that neither king nor rook attacks; the rook may be taken
    steps = [np.flatnonzero(near[q]) for q in s]
    free = ~near[k, b] & (k != b) & ~attacks & (r != b)
    unprotected = ~near & ~np.eye(SQUARES, dtype=bool)  # [king, rook]
    escapes = np.zeros_like(legal)  # whether Black can take the rook
    moves = np.zeros(legal.shape, int)
    for q in s:
        moves[:, :, q] = free[:, :, steps[q]].sum(axis=2)
        escapes[:, :, q] = near[q][None, :] & unprotected
    depth[legal & attacks & (moves == 0) & ~escapes] = 0
    for turn in range(1, 40):
        won = depth >= 0
        # White to move wins in `turn` if some move leads to a position that is won for White
        white = np.zeros_like(legal)
        for q in s:  # the king steps to q
            white[steps[q]] |= won[q]
        for rook in s:  # the rook goes to `rook`: from each square on its lines, past the king
            reach = attacks[:, rook, :]  # [king, from]
            white |= reach[:, :, None] & won[:, rook, :][:, None, :]
        white &= (k != r) & (r != b) & (k != b) & ~near[k, b]
        # Black to move has lost if all moves lead there, and there is one
        lost = np.zeros_like(legal)
        for q in s:
            known = (white | ~free)[:, :, steps[q]].all(axis=2)
            lost[:, :, q] = known & (moves[:, :, q] > 0) & ~escapes[:, :, q]
        new = lost & legal & (depth < 0)
        if not new.any():
            break
        depth[new] = turn
    x, y = _files_and_ranks(s)
    triangle = (x <= 3) & (y <= x)
    first = np.where(x[:, None] == y[:, None], y <= x, True)  # [king, black king]
    kept = legal & triangle[k] & first[k, b]
    both = (x[k] == y[k]) & (x[b] == y[b])
    kept &= ~both | (y[r] <= x[r])
    white_king, rook, black_king = np.nonzero(kept)
    columns = {}
    for name, square in (("white_king", white_king), ("rook", rook), ("black_king", black_king)):
        columns[f"{name}_file"] = np.array(list("abcdefgh"))[x[square]]
        columns[f"{name}_rank"] = y[square] + 1
    found = depth[kept]
    words = np.array([*WORDS, "draw"])
    return pd.DataFrame(columns), words[found]


def drives(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Eleven classes, each of some boxes in six hidden numbers; 48 columns of their powers.

    Three quarters of the columns are products of powers of two or three hidden numbers, with noise
    of 5%; the others are heavy-tailed and say nothing. Their scales span six orders of magnitude.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.uniform(-1, 1, (rows, 6))
    # a tree of thresholds: each cell is cut at a value of one hidden number, 64 cells in the end
    cell = np.zeros(rows, int)
    for level in range(6):
        at, cut = rng.integers(0, 6, 2**level), rng.uniform(-0.4, 0.4, 2**level)
        cell = 2 * cell + (hidden[np.arange(rows), at[cell]] > cut[cell])
    y = rng.permutation(np.arange(64) % 11)[cell]
    X = np.empty((rows, 48))
    for j in range(36):
        powers = np.zeros(6)
        powers[rng.choice(6, rng.integers(2, 4), replace=False)] = rng.choice([-2, -1, 1, 2], 1)
        powers *= rng.uniform(0.3, 1.5, 6)
        X[:, j] = np.exp(hidden @ powers + 0.05 * rng.normal(size=rows))
    X[:, 36:] = rng.standard_t(1.5, (rows, 12))
    X *= 10 ** rng.uniform(-4, 2, 48)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(48)]), y.astype(str)


def numbered(X: pd.DataFrame) -> pd.DataFrame:
    """The same table with the letters of files as numbers."""
    letters = {letter: i + 1 for i, letter in enumerate("abcdefgh")}
    return X.apply(lambda column: column.map(letters) if column.dtype.kind not in "iu" else column)


def main() -> None:
    args = options(("--time", {"type": float, "default": 60.0}))
    section = Section(
        "rules and steps",
        f"Accuracy on 25% of the rows, with {args.time:g} s for each search; the seconds are those "
        "of the whole command, and those that LightGBM took.",
        ["data", "training rows", "mercer fit", "LightGBM, tuned", "seconds", "LightGBM s", "MB"],
    )
    if args.quick:
        sets = {"drives": drives(2000)}
    else:
        X, y = endgame()
        sets = {"endgame, letters": (X, y), "endgame, numbers": (numbered(X), y)}
        sets["drives"] = drives(20_000)
    for name, (X, y) in sets.items():
        order = np.random.default_rng(0).permutation(len(y))
        train, test = np.split(order, [int(0.75 * len(y))])
        parts = X.iloc[train], y[train], X.iloc[test], "classification", args.time
        run = command_on_rows(*parts)
        predicted = run.predicted.to_numpy()
        began = time.perf_counter()
        found = [score(y[test], p, "classification") for p in (predicted, boosted(*parts))]
        others = time.perf_counter() - began
        cells = [f"{value:.4f}" for value in found]
        cells += [f"{value:.0f}" for value in (run.seconds, others, run.megabytes)]
        section.row(name, f"{len(train):,}", *cells)
    section.note(f"LightGBM {lightgbm.__version__}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
