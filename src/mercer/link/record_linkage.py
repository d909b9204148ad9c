"""`RecordLinkage`: which records of one or two tables are the same thing."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import mercer
from mercer.estimator import estimator
from mercer.link.candidates import Pass
from mercer.link.kinds import ELSEWHERE, EQUAL, LEVELS, Shares
from mercer.link.learning import Evidence, LevelWeight, PairClass, compared_columns, learn
from mercer.link.link_columns import LinkColumn, checked_distances, checked_kinds, matched_columns
from mercer.link.model import Mixture, learn_scales
from mercer.link.pairs import Pairs, PairWeights, average_clusters, labelled_pairs, pairs_given
from mercer.link.records import LEAST as FEWEST, Comparer, Records
from mercer.link.stages import Kept, LinkStages
from mercer.persistence import (
    KeepsRecords,
    each,
    fields,
    floats,
    mapped_on,
    number,
    unread,
    whole,
)
from mercer.samples import (
    SamplesLike,
    check_count,
    check_flag,
    is_number,
    is_whole,
)
from mercer.tables import ReadTable
from mercer.threads import fitting, raise_if_stopped

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SURE = 50.0  # bits of a pair that a label says to match
#: shares without a warning: of the matches that may be no candidates, and of records in no pair
MISSED, UNSEEN = 0.05, 0.01


def _columns(model: RecordLinkage) -> int:
    return len(model.columns_)


@estimator
@fields(
    m_=floats(2, _columns), u_=floats(2, _columns), labels_=whole(),
    _tables=floats(3), _shares=floats(1), _matches=unread, _scales=floats(1), _passes=unread,
    expected_matches_=number(), missed_=number(), crowded_=number(), _aliases=each(whole()),
    _examples=each(whole(axes=2)),
)  # fmt: skip
class RecordLinkage(KeepsRecords, BaseEstimator):
    r"""Link tables: which records are the same person, firm or paper, without rules and labels.

    A pair of records is a match with the odds

    .. math:: \frac{p}{1 - p} = \frac{\lambda}{1 - \lambda} \prod_k \frac{m_k(l_k)}{u_k(l_k)},

    where :math:`l_k` is the level at which column k agrees, :math:`m_k` how often matches show it,
    :math:`u_k` how often random pairs do, and :math:`\lambda` the share of the matches among all
    pairs. All of them are learnt from the tables by EM, beside classes of relatives, which have
    something in common and are no matches: members of a household, branches of a firm. Equal values
    weigh more where few records have them.

    Parameters
    ----------
    columns : list or dict, optional
        The columns to compare: names, or names of the first table and those of the second. None
        means all that both tables have, by name or by their values.
    kind : dict, optional
        What a column is: "category", "name", "text", "digits", "date", "number" or "drop".
    distances : dict, optional
        Distances or kernels of columns whose cells are samples of any kind: sets, vectors, series,
        graphs, molecules, places. Two cells agree the more, the fewer random pairs are as near.
    threshold : float from 0 to 1, default=0.5
        The least probability of a match.
    one_to_one : bool, default=False
        Whether each record of two tables has one match at most: the surest are taken first.
    relatives : int >= 0, default=4
        Classes of pairs that have something in common and may be no matches.
    max_block : int >= 2, default=50
        A part that more records share finds no pairs.
    pairs_per_record : float > 0, default=40
        Most pairs that are compared, for each record.

    Attributes
    ----------
    pairs_ : Pairs
        The matches: rows, probabilities, match weights, and the weight and level of each column.
    near_ : Pairs
        All pairs with a probability of 0.01 and more.
    labels_ : ndarray of shape (n,)
        The cluster of each record, by average link of the match weights; of two tables the records
        of the first come first.
    columns_ : list of LinkColumn
        How each column is compared, in the order of their names.
    left_out_ : list of LinkColumn
        Columns that are not compared, and why.
    m_, u_ : ndarray of shape (d, 8)
        How often matches, and random pairs, show each level of each column.
    n_candidates_ : int
        Pairs that were compared.
    expected_matches_ : float
        Matches among all pairs, as the model estimates.
    missed_ : float
        The share of simulated matches that no pass finds.
    crowded_ : float
        The share of the records of which each part is shared by more than ``max_block`` records, so
        that no pass compares them.
    n_iter_ : int
        Rounds of EM.

    See Also
    --------
    mercer.deduplicate : Documents that are nearly equal.

    Notes
    -----
    Candidates are pairs that share a rare part of one column, or parts of two: the passes are
    chosen by simulated errors, so that no rules are needed. It takes O(n) pairs, at most
    ``pairs_per_record`` for each record, and about 16 d bytes for each. Whether columns agree
    mostly in matches is not in the data: it is assumed that they agree in at least half of them. So
    where all members of a household agree in most columns, households may be found in place of
    persons; ``labels`` say what is meant. With labels the weights of the columns get factors, which
    are shrunk to 1: few labels change little.

    A pair has the same weight alone as among others. The order of rows and columns, and ``n_jobs``,
    change nothing. A model holds no values of the tables, but their hashes and frequencies.

    Warns
    -----
    UserWarning
        One column alone is compared; or many matches may be missed.

    References
    ----------
    Fellegi & Sunter, "A theory for record linkage", JASA 64, 1969; Winkler, "String comparator
    metrics and enhanced decision rules in the Fellegi-Sunter model of record linkage", 1990, and
    "Using the EM algorithm for weight computation in the Fellegi-Sunter model", 1988.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer import RecordLinkage
    >>> from mercer.datasets import registers
    >>> A, B, truth = registers(600, seed=0)
    >>> model = RecordLinkage(one_to_one=True).fit(pd.DataFrame(A), pd.DataFrame(B))
    >>> found = set(zip(model.pairs_.left.tolist(), model.pairs_.right.tolist()))
    >>> right = found & set(map(tuple, truth.tolist()))
    >>> len(right) / len(truth) > 0.95, len(right) / len(found) > 0.95
    (True, True)
    """

    columns: Mapping | Sequence | None = None
    _: KW_ONLY
    kind: Mapping | None = None
    distances: Mapping | None = None
    threshold: float = 0.5
    one_to_one: bool = False
    relatives: int = 4
    max_block: int = 50
    pairs_per_record: float = 40.0
    n_jobs: int | None = None

    records: ClassVar[dict[str, type]] = {"columns_": LinkColumn, "left_out_": LinkColumn}

    def __sklearn_is_fitted__(self) -> bool:
        return "pairs_" in vars(self)

    # --- fit --------------------------------------------------------------------------------------

    @fitting
    def fit(
        self,
        A: Any,
        B: Any = None,
        *,
        pairs: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        work: Any = None,
        executor: Any = None,
        task: tuple[int, int] = (0, 1),
    ) -> Self:
        """Link the records of a table A, or those of A with those of B.

        Parameters
        ----------
        A, B : data frame, or array of shape (n, d)
        pairs : array of shape (k, 2), optional
            Rows of pairs whose truth is known.
        labels : array of shape (k,), optional
            Whether each of them is a match.
        work : str or path, optional
            A folder in which passes, candidates and levels are kept, so that a fit to the same
            tables that was killed goes on.
        executor : object with a method map, client of Dask or function, optional
            What runs the tasks that find and compare candidates, in processes that see the folder
            ``work``: an executor of `concurrent.futures`, or a function that maps as ``map`` does.
        task : (int, int), default=(0, 1)
            The number of this process, from 0, and how many fit the same model with the same
            ``work``: they share the tasks, and each gets the model.

        Raises
        ------
        ValueError, TypeError
            The tables have no column in common, or fewer than 20 records; labels contradict each
            other, or name rows that are not there; ``task`` is no number below how many there are;
            ``executor`` or ``task`` is given without ``work``, or both are.
        """
        self._check_parameters()
        task, mapped = checked_task(task), mapped_on(executor)
        name = "executor" if mapped is not None else "task" if task[1] > 1 else None
        if work is None and name is not None:
            raise ValueError(f"{name}: give work, a folder that all its processes see.")
        if mapped is not None and task[1] > 1:
            raise ValueError(f"task={task}: an executor is given, too; give one of them.")
        tables = read_tables(A, B)
        self._check_sides(tables)
        rows = sum(map(len, tables))
        if rows < FEWEST:
            raise ValueError(
                f"{rows} records are given, while a minimum of {FEWEST} is required: what matches "
                "have in common is learnt from many pairs. Give more records."
            )
        asked = matched_columns(tables[0], tables[1] if len(tables) > 1 else None, self.columns)
        kinds = checked_kinds(self.kind, asked)
        known = labelled_pairs(pairs, labels, tables)
        self._samples = checked_distances(self.distances, {column.name for column in asked})
        records = Records.read(tables, asked, kinds, self.n_jobs, samples=self._samples).checked()
        raise_if_stopped()
        ranks, kept = records.ranks(), Kept(work, self._plan(records), task[1] > 1)
        stages = LinkStages(
            records, kept, ranks, cap=int(self.max_block), n_jobs=self.n_jobs,
            per_record=float(self.pairs_per_record), task=task,
        )  # fmt: skip
        candidates = stages.run(mapped)
        left, right, self.crowded_ = candidates.left, candidates.right, candidates.crowded
        raise_if_stopped()
        records, passes, comparer, levels = compared_columns(
            records, ranks, stages.comparer, candidates, int(self.relatives)
        )
        self._keep_columns(records, passes, comparer.shares)
        learnt = learn(records, comparer, levels, left, right, ranks, int(self.relatives))
        self._keep_learnt(learnt, records)
        sure = None if known is None else self._learn_labels(records, comparer, known)
        found = self._weights.scored(records, learnt.levels, left, right, learnt.patterns)
        if known is not None and sure is not None:
            asked = known[0] << 32 | (known[1] - records.first)
            found = found[~np.isin(found.left << 32 | found.right, asked)].with_others(sure)
        self.near_, self.n_candidates_ = found, len(left)
        self._finish(records)
        self._warn(records)
        return self

    def _keep_columns(
        self, records: Records, passes: list[Pass], shares: Sequence[Shares | None]
    ) -> None:
        """What later tables are read and compared by."""
        self.columns_, self.left_out_ = records.specs, records.left_out
        self._words, self._passes = shares, [tuple(one) for one in passes]  # of which files know
        self._values = [
            Shares.of(column.hashes, column.counts, column.counts.sum()) if column.kind.counts
            else None
            for column in records.columns
        ]  # fmt: skip
        self.missed_ = passes[-1].missed if passes else 1.0

    def _keep_learnt(self, learnt: Evidence, records: Records) -> None:
        """What pairs are weighed by."""
        mixture = learnt.mixture
        self._tables, self._shares, self._matches = mixture.tables, mixture.shares, mixture.matches
        self.m_, self.u_, self.n_iter_ = mixture.m, mixture.u, mixture.rounds
        self._aliases, self._examples = learnt.aliases, learnt.examples
        self.expected_matches_ = mixture.prior * records.pairs
        self._scales = np.ones(len(records.columns) + 2)
        self._scales[-1] = 0.0  # bits that labels add

    def _plan(self, records: Records) -> dict[str, Any]:
        """All that candidates and their levels depend on."""
        digest = hashlib.sha256()
        for column in records.columns:
            digest.update(column.codes.tobytes() + column.hashes.tobytes())
        return {
            "mercer": mercer.__version__, "columns": [vars(spec) for spec in records.specs],
            "first": records.first, "max_block": int(self.max_block),
            "pairs_per_record": float(self.pairs_per_record), "tables": digest.hexdigest(),
            "distances": repr(self.distances),
        }  # fmt: skip

    def _finish(self, records: Records) -> None:
        self.pairs_ = self._chosen(self.near_, records)
        self.labels_ = average_clusters(
            self.near_ if not self.one_to_one else self.pairs_, records.n, records.first,
            float(self.threshold),
        )  # fmt: skip

    def _chosen(self, found: Pairs, records: Records) -> Pairs:
        """The matches among pairs."""
        found = found.above(float(self.threshold))
        if self.one_to_one:
            found = found.one_to_one(records.first, records.n - records.first)
        return found

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        check_count("max_block", self.max_block, optional=False)
        if self.max_block < 2:
            raise ValueError(f"max_block={self.max_block}: give an integer >= 2.")
        check_flag("one_to_one", self.one_to_one)
        relatives = self.relatives
        if isinstance(relatives, bool) or not is_number(relatives) or relatives not in range(9):
            raise ValueError(f"relatives={relatives!r}: give an integer from 0 to 8.")
        if not (is_number(self.threshold) and 0 <= self.threshold <= 1):
            raise ValueError(f"threshold={self.threshold!r}: give a number from 0 to 1.")
        budget = self.pairs_per_record
        if not (is_number(budget) and 0 < budget < np.inf):
            raise ValueError(f"pairs_per_record={budget!r}: give a number > 0.")

    def _check_sides(self, tables: list[ReadTable]) -> None:
        if self.one_to_one and len(tables) == 1:
            raise ValueError(
                "one_to_one=True is for two tables: give B, or one_to_one=False for the groups of "
                "records within one table."
            )

    def _warn(self, records: Records) -> None:
        """Say what makes the result less sure than it looks."""
        own = [spec for spec in records.specs if not spec.source]
        said = ""
        if len(own) == 1:
            said = (
                f"Only {own[0].name!r} is compared. With one column, similar records cannot be "
                "told from identical ones: give more columns."
            )
        elif self.missed_ > MISSED:
            said = (
                f"About {self.missed_:.0%} of the matches may not be among the pairs that were "
                "compared, because few columns differ independently. Give more columns, larger "
                "blocks (max_block) or more pairs of each record (pairs_per_record)."
            )
        if self.crowded_ > UNSEEN:
            said += (
                f" {self.crowded_:.1%} of the records were compared with no other, because more "
                f"than {self.max_block} records share each of their parts. Give larger blocks "
                "(max_block) or more columns."
            )
        if said:
            warnings.warn(said.strip(), UserWarning, stacklevel=4)

    # --- scores -----------------------------------------------------------------------------------

    @property
    def _mixture(self) -> Mixture:
        return Mixture(self._tables, self._shares, self._matches, self.n_iter_)

    @property
    def _weights(self) -> PairWeights:
        return PairWeights(self._mixture, self._values, self._scales)

    # --- labels -----------------------------------------------------------------------------------

    def _learn_labels(
        self, records: Records, comparer: Comparer, known: tuple[np.ndarray, ...]
    ) -> Pairs:
        """Learn from labels; returns the labelled pairs that match, which are sure."""
        left, right, truth = known
        levels = comparer.levels(left, right)
        parts = self._weights.parts(records, levels, left, right)
        self._scales[:-1], self._scales[-1] = learn_scales(parts, truth)
        own = self._weights.scored(records, levels, left, right, least=-1.0)
        own.probability[:], own.weight[:] = 1.0, np.maximum(own.weight, SURE)
        return own[truth]

    # --- new tables -------------------------------------------------------------------------------

    def predict(self, A: SamplesLike, B: SamplesLike | None = None) -> Pairs:
        """The matches in new tables, by the same model.

        Candidates are found by the same passes. Tables of any size will do.

        Returns
        -------
        pairs : Pairs
        """
        check_is_fitted(self)
        tables = read_tables(A, B)
        self._check_sides(tables)
        records = self._read_new(tables)
        stages = LinkStages(
            records, Kept(), cap=int(self.max_block), n_jobs=self.n_jobs,
            comparer=Comparer(records, self.n_jobs, self._words, self._aliases),
        )  # fmt: skip
        _, left, right, levels, _ = stages.run_passes(self._all_passes)
        return self._chosen(self._weights.scored(records, levels, left, right), records)

    def score_pairs(self, pairs: ArrayLike, A: SamplesLike, B: SamplesLike | None = None) -> Pairs:
        """Probabilities and weights of given pairs of rows, (k, 2), candidates or not."""
        check_is_fitted(self)
        tables = read_tables(A, B)
        rows = pairs_given(pairs, tables)
        records = self._read_new(tables)
        left, right = rows[:, 0], rows[:, 1] + records.first
        comparer = Comparer(records, self.n_jobs, self._words, self._aliases)
        levels = comparer.levels(left, right)
        return self._weights.scored(records, levels, left, right, least=-1.0)

    def _read_new(self, tables: list[ReadTable]) -> Records:
        columns, samples = self.columns_, self._samples
        return Records.read(tables, columns, {}, self.n_jobs, known=True, samples=samples)

    # --- what was learnt --------------------------------------------------------------------------

    @property
    def weights_(self) -> list[LevelWeight]:
        """The weight of each level of each column that was seen, largest first in each column."""
        check_is_fitted(self)
        bits = self._mixture.weights
        return [
            LevelWeight(spec.name, LEVELS[level], float(self.m_[k, level]),
                        float(self.u_[k, level]), float(bits[k, level]))
            for k, spec in enumerate(self.columns_)
            for level in (EQUAL, 4, 3, 2, 1, ELSEWHERE, 0)
            if self.u_[k, level] > 0
        ]  # fmt: skip

    @property
    def classes_(self) -> list[PairClass]:
        """The classes of pairs: matches, relatives, and random pairs."""
        check_is_fitted(self)
        total = self.expected_matches_ / max(self._mixture.prior, 1e-300)
        names = [spec.name for spec in self.columns_]
        return [
            PairClass(
                float(share * total), bool(match),
                dict(zip(names, table[:, [4, EQUAL]].sum(axis=1).tolist())), rows,
            )
            for table, share, match, rows in zip(
                self._tables, self._shares, self._matches, [*self._examples, np.empty((0, 2), int)]
            )
        ]  # fmt: skip

    @property
    def passes_(self) -> list[tuple[str, int, float]]:
        """What pairs share to be compared, about how many do, and the share of simulated matches
        that neither this pass nor one before it finds."""
        check_is_fitted(self)
        names = [spec.name for spec in self.columns_]
        return [(one.said(names), one.pairs, one.missed) for one in self._all_passes]

    @property
    def _all_passes(self) -> list[Pass]:
        kept: Any = self._passes
        return [Pass(*one) for one in kept]


def checked_task(task: Any) -> tuple[int, int]:
    """The number of a process, from 0, and how many there are."""
    pair = isinstance(task, (tuple, list)) and len(task) == 2 and all(map(is_whole, task))
    if not (pair and 0 <= task[0] < task[1]):
        raise ValueError(
            f"task={task!r}: give the number of this process, from 0, and how many share the work, "
            "as in (0, 8) for the first of eight and (7, 8) for the last."
        )
    return int(task[0]), int(task[1])


def read_tables(A: SamplesLike, B: SamplesLike | None) -> list[ReadTable]:
    """One or two tables."""
    return [ReadTable.of(table) for table in (A, B) if table is not None]
