"""Which passes are made, and which pairs they find."""

import warnings

import numpy as np
import pandas as pd

from link.test_record_linkage import fitted, tables
from mercer import RecordLinkage
from mercer.link import LinkColumn, candidates
from mercer.link.candidates import Views, simulated
from mercer.link.records import Records
from mercer.tables import ReadTable


def test_simulated_matches_of_a_column_do_not_depend_on_other_columns():
    """Each column is damaged by a stream of its own, whatever its place and its neighbours."""
    A, _, _ = tables()
    columns = {"last_name": "name", "born": "date", "street": "name", "place": "name"}
    drawn, rates = np.arange(300), np.linspace(0.05, 0.6, 300)

    def caught(*names):
        table = [ReadTable.of(A)]
        read = [LinkColumn(name, name, columns[name], [""]) for name in names]
        coded = Records.read(table, read, {}, 1, known=True).columns
        views = Views(coded, 50, lambda k: coded[k].kind.views(coded[k]))
        places = [(k, view.label) for k in range(len(coded)) for view in views.made(k)]
        passes = [(place,) for place in places] + [
            (x, y) for x in places for y in places if coded[x[0]].name < coded[y[0]].name
        ]
        found = simulated(views, {one: views.cost(one) for one in passes}, drawn, rates)
        named = [tuple((names[k], label) for k, label in one) for one in passes]
        return dict(zip(named, found.tolist()))

    whole = caught("born", "last_name", "place", "street")
    assert 0.2 < np.mean(list(whole.values())) < 0.8
    for names in (("last_name", "born"), ("place", "last_name"), ("street",)):
        for one, own in caught(*names).items():
            assert own == whole[one]
    once = np.array([whole[(name, "="),] for name in columns])
    assert abs(np.corrcoef(once)[np.triu_indices(4, 1)]).max() < 0.25  # and not the same ones


def test_a_pass_finds_at_most_the_share_of_records_that_it_reaches():
    """However many pairs it has for each record of the smaller table."""
    A, B, _ = tables()
    given = [ReadTable.of(A), ReadTable.of(B)]
    read = [LinkColumn("last_name", "last_name", "name", [""])]
    coded = Records.read(given, read, {}, 1, known=True).columns
    views = Views(coded, 50, lambda k: coded[k].kind.views(coded[k]))
    one, smaller = ((0, "="),), min(len(A), len(B))
    drawn, share = np.arange(len(A)).repeat(10), 0.6
    few, all_of_them, many = (
        simulated(views, {one: (int(part * smaller), share)}, drawn, np.zeros(len(drawn)))
        for part in (1 / 8, 1 / 4, 4)
    )
    assert abs(few.mean() - share / 2) < 0.05
    assert abs(many.mean() - share) < 0.05
    assert np.array_equal(many, all_of_them)


def test_passes_cost_no_more_pairs_than_are_allowed():
    A, B, _ = tables()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that much is missed
        for most in (0.5, 2, 5):
            model = RecordLinkage(pairs_per_record=most).fit(A, B)
            found = sum(pairs for _, pairs, _ in model.passes_)
            assert 0 < found <= most * (len(A) + len(B))
            assert model.n_candidates_ <= found
    assert sum(pairs for _, pairs, _ in fitted().passes_) > 5 * (len(A) + len(B))


def test_of_many_records_passes_that_find_little_are_left_out(monkeypatch):
    A, B, _ = tables()
    monkeypatch.setattr(candidates, "MANY", 100)
    monkeypatch.setattr(candidates, "UNCAUGHT", 0.0)
    monkeypatch.setattr(candidates, "WORTH", np.inf)  # once few are left, nothing is worth it
    missed = [one[2] for one in RecordLinkage().fit(A, B).passes_]
    assert missed[-1] < candidates.FEW_LEFT <= missed[-2]
    monkeypatch.setattr(candidates, "WORTH", 0.0)
    assert len(RecordLinkage().fit(A, B).passes_) > len(missed)


def test_keys_that_are_counted_in_part_find_the_same_pairs(monkeypatch):
    """Of many records one of so many keys is counted, and a pass may find more than was thought."""
    both = pd.concat(tables()[:2], ignore_index=True)
    whole = RecordLinkage().fit(both)
    monkeypatch.setattr(candidates, "PARTS", ((10, 1), (10_000, 4)))
    monkeypatch.setattr(candidates, "ROOM", (0.1, 1))
    part = RecordLinkage().fit(both)
    one, other = ({*zip(m.pairs_.left.tolist(), m.pairs_.right.tolist())} for m in (whole, part))
    assert len(one ^ other) < 0.05 * len(one)
    assert 0 < part.missed_ < 0.02
