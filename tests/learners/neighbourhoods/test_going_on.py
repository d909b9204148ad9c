"""warm_start: a learnt neighbourhood goes on from the fit before, and never becomes worse."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    NeighbourhoodMachineClassifier as Classifier,
    NeighbourhoodMachineRegressor as Regressor,
)

QUICK = {"steps": 30, "hidden": 32, "scaling": "standard", "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(700, 3))
Y = np.floor(4 * X[:, 0]) * (X[:, 1] > 0.5) + 0.1 * RNG.normal(size=700)
NEW = RNG.uniform(size=(60, 3))


@parametrize_with_checks(
    [Regressor(**QUICK, warm_start=True), Classifier(**QUICK, warm_start=True)],
    expected_failed_checks=lambda model: {
        "check_pipeline_consistency": "it compares a first fit with a second one, which goes on"
    },
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def least(model, member=0):
    return model.validation_curve_[member][:, 1].min()


def same(one, two):
    """Whether two machines have the same networks and answers."""
    for a, b in zip(one.members_, two.members_, strict=True):
        assert_array_equal(a.network.parameters, b.network.parameters)
        assert a.temperature == b.temperature
    for a, b in zip(one.validation_curve_, two.validation_curve_, strict=True):
        assert_array_equal(a, b)
    assert_array_equal(one.predict(NEW), two.predict(NEW))


@pytest.mark.parametrize("Machine", [Regressor, Classifier])
def test_the_held_out_loss_falls_and_steps_add_up(Machine):
    y = Y if Machine is Regressor else (Y > 1).astype(int)
    model = Machine(**QUICK, warm_start=True).fit(X, y)
    first, held, curve = least(model), model.validation_rows_, model.validation_curve_[0]
    for round_ in (2, 3):
        before = least(model)
        model.fit(X, y)
        assert model.n_steps_ == [30 * round_]
        assert least(model) <= before
        assert_array_equal(model.validation_rows_, held)
        assert_array_equal(model.validation_curve_[0][: len(curve)], curve)
        assert (np.diff(model.validation_curve_[0][:, 0]) > 0).all()
    assert least(model) < first
    best = model.validation_curve_[0][:, 1].argmin()
    assert model.temperature_[0] == model.validation_curve_[0][best, 2]
    assert model.score(X, y) > 0.9


def test_the_same_calls_give_the_same_machine():
    one, two = (Regressor(**QUICK, warm_start=True, n_jobs=jobs) for jobs in (1, 2))
    for model in (one, two):
        model.fit(X, Y).fit(X, Y)
    same(one, two)
    fresh = Regressor(**QUICK, warm_start=True).fit(X, Y)
    same(fresh, Regressor(**QUICK).fit(X, Y))  # the first fit is that without a warm start
    with pytest.raises(AssertionError):
        same(fresh, one)


def test_without_a_warm_start_a_fit_begins_anew():
    model = Regressor(**QUICK).fit(X, Y)
    same(model.fit(X, Y), Regressor(**QUICK).fit(X, Y))
    assert model.n_steps_ == [30]


def test_it_goes_on_from_files_and_in_any_order_of_the_rows(tmp_path):
    model = Regressor(**QUICK, warm_start=True).fit(X, Y)
    mercer.save(model, tmp_path / "model.mercer")
    copies = [mercer.load(tmp_path / "model.mercer"), pickle.loads(pickle.dumps(model))]
    model.fit(X, Y)
    for copy in copies:
        same(copy.fit(X, Y), model)
    other = Regressor(**QUICK, warm_start=True).fit(X, Y)
    order = RNG.permutation(700)
    assert_allclose(other.fit(X[order], Y[order]).predict(NEW), model.predict(NEW), rtol=1e-9)
    assert_array_equal(X[order][other.rows_], X[model.rows_])


def test_a_seed_that_is_drawn_keeps_the_held_out_rows():
    """Others would have been trained on, and could not judge."""
    model = Regressor(**QUICK | {"random_state": None}, warm_start=True).fit(X, Y)
    held = model.validation_rows_
    assert_array_equal(model.fit(X, Y).validation_rows_, held)


def test_members_are_added():
    model = Regressor(**QUICK | {"scaling": "auto"}, n_members=2, warm_start=True).fit(X, Y)
    splits = [member.split for member in model.members_]
    model.set_params(n_members=3).fit(X, Y)
    assert model.n_steps_ == [60, 60, 30]
    assert [member.split for member in model.members_] == [*splits, 2]
    assert model.transform(NEW).shape == (60, 96)
    model.set_params(n_members=1, steps=10).fit(X, Y)  # none is dropped
    assert model.n_steps_ == [70, 70, 40]


@pytest.mark.full
def test_pruned_columns_stay():
    wide = np.hstack([X, RNG.uniform(size=(700, 12))])
    model = Regressor(**QUICK | {"steps": 100}, warm_start=True).fit(wide, Y)
    kept, importances = model.kept_columns_, model.importances_
    model.fit(wide, Y)
    assert model.kept_columns_ == kept
    assert model.importances_ == importances


def test_after_an_interrupt_it_goes_on():
    model = Regressor(**QUICK | {"steps": 120}, warm_start=True)

    def stop(entry):
        if entry["step"] == 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(progress=stop).fit(X, Y)
    assert model.n_steps_ == [60]
    before = least(model)
    model.set_params(progress=None).fit(X, Y)
    assert model.n_steps_ == [180]
    assert least(model) <= before
    steps = []

    def stop_again(entry):
        steps.append(entry["step"])
        raise KeyboardInterrupt

    before = least(model)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(progress=stop_again).fit(X, Y)
    assert steps[0] > 180
    assert least(model) <= before
    assert np.isfinite(model.predict(NEW)).all()


def test_no_held_out_rows():
    model = Regressor(**QUICK | {"validation_fraction": 0.0}, warm_start=True)
    first = model.fit(X, Y).members_[0].network.parameters.copy()
    model.fit(X, Y)
    assert model.n_steps_ == [60]
    assert not np.array_equal(model.members_[0].network.parameters, first)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": X[:600], "y": Y[:600]}, "continues with the rows of the last fit"),
        ({"X": X, "y": Y + 1e-3 * (np.arange(700) == 5)}, "continues with the rows"),
        ({"X": X + 1e-2 * (np.arange(700) == 5)[:, None], "y": Y}, "continues with the rows"),
        ({"X": X[:, :2], "y": Y}, "continues with the rows"),
        ({"X": X, "y": Y, "sample_weight": 1.0 + (np.arange(700) == 5)}, "continues with the rows"),
        ({"X": X, "y": Y, "width": 16}, "width=16 and hidden=32 with warm_start=True"),
    ],
)
def test_other_rows_and_sizes_are_refused(change, message):
    model = Regressor(**QUICK, warm_start=True).fit(X, Y)
    if "width" in change:
        model.set_params(width=change["width"])
    with pytest.raises(ValueError, match=message):
        model.fit(change["X"], change["y"], change.get("sample_weight"))
    model.set_params(warm_start=False).fit(change["X"], change["y"])


def test_weights_of_any_scale_are_the_same_rows():
    model = Regressor(**QUICK, warm_start=True).fit(X, Y)
    assert_allclose(model.fit(X, Y, np.full(700, 2.0)).n_steps_, [60])
