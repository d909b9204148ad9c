"""The checks of `check_object_estimator`: each takes an `ObjectTask` and raises AssertionError."""

from __future__ import annotations

import copy
import pickle
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from mercer.learners.base import KernelLearner
from mercer.persistence import JUDGED, load, save
from mercer.samples import Samples, all_kinds
from mercer.selection.grid import KernelSearchCV
from mercer.testing.object_task import ObjectTask, containers, object_array, targets

# What a fitted model answers, and how the checks compare answers or expect an error.


#: some word of a message that says what to do
REMEDY = r"(?i)\b(give|fill|wrap|needs?|leave|call|split|add|make|use)\b"
METHODS = ("decision_function", "predict_proba", "predict", "transform", "score_samples")


def outputs(model: BaseEstimator, X: Any) -> dict[str, np.ndarray]:
    """What every method of a fitted model answers."""
    answers = {
        name: np.asarray(getattr(model, name)(X)) for name in METHODS if hasattr(model, name)
    }
    assert answers, f"{type(model).__name__} has none of the methods {METHODS}"
    return answers


def same(found: dict, expected: dict, what: str) -> None:
    """Equal up to rounding."""
    assert found.keys() == expected.keys(), f"{what}: methods {list(found)}, not {list(expected)}"
    for name, values in expected.items():
        if values.dtype.kind == "f":
            size = max(float(np.abs(values).max(initial=0)), 1e-300)
            assert_allclose(
                found[name], values, rtol=1e-6, atol=1e-6 * size, err_msg=f"{name}: {what}"
            )
        else:
            assert_array_equal(found[name], values, f"{name}: {what}")


def alike(found: dict, expected: dict, what: str) -> None:
    """Equal as far as a solver's tolerance, and centres or folds drawn anew, allow.

    Labels are compared where there are no values: a label flips where its value is about 0.
    """
    floats = {name for name, values in expected.items() if values.dtype.kind == "f"}
    for name, values in expected.items():
        if floats and name not in floats:
            continue
        if values.dtype.kind == "f":
            error = np.abs(found[name] - values).max()
            most = 0.05 * max(float(np.abs(values).max()), 1e-300)
            assert error <= most, f"{name}: {what} differs by {error:.3g} where {most:.3g} may be"
        else:
            share = float(np.mean(found[name] == values))
            assert share >= 0.9, f"{name}: {what} answers {share:.0%} of the samples alike"


def refused(call: Callable, errors: Any, what: str, says: str = REMEDY) -> None:
    """The call raises one of the errors, and its message says what to do, or what ``says`` is."""
    said = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # searches warn of fits that fail
        try:
            call()
        except errors as error:
            said = str(error)
        except Exception as error:
            raise AssertionError(f"{what} raised {type(error).__name__}: {error}") from error
    assert said is not None, f"{what} was not refused"
    assert re.search(says, said), f"{what}: the error names no remedy: {said}"


#: a parameter of some learners -> values to search
GRIDS = {"C": [0.5, 2.0], "nu": [0.2, 0.3], "alpha": [0.1, 1.0], "max_iter": [50, 60]}
#: of searches and cross_val_score: what fails is to be seen
RAISE: Any = "raise"


# --- what comes in ----------------------------------------------------------------------------


def check_containers(task: ObjectTask) -> None:
    """Lists, tuples, arrays and columns of frames give the same model and the same answers."""
    expected = outputs(task.fitted(), task.X)
    for name, wrapped in containers(task.X).items():
        same(outputs(task.fitted(wrapped), wrapped), expected, f"X as {name}")
    wrapped = targets(task.y)
    if wrapped is not None:
        same(outputs(task.fitted(y=wrapped), task.X), expected, "y as an array")


def check_one_sample(task: ObjectTask) -> None:
    """A sample is answered alike alone and among others."""
    model = task.fitted()
    expected = outputs(model, task.X)
    for i in (0, 2, len(task.X) - 1):
        one = outputs(model, [task.X[i]])
        same(one, {name: values[[i]] for name, values in expected.items()}, f"X[{i}] alone")


def check_order_of_new_samples(task: ObjectTask) -> None:
    """Answers stand in the order of the samples."""
    model, order = task.fitted(), permutation(len(task.X))
    expected = {name: values[order] for name, values in outputs(model, task.X).items()}
    same(outputs(model, [task.X[i] for i in order]), expected, "permuted samples")


def check_order_of_training_samples(task: ObjectTask) -> None:
    """The model does not depend on the order in which it got the samples."""
    order = permutation(len(task.X))
    y = None if task.y is None else [task.y[i] for i in order]
    model = task.fitted([task.X[i] for i in order], y)
    alike(outputs(model, task.X), outputs(task.fitted(), task.X), "a fit to permuted samples")


def check_duplicates(task: ObjectTask) -> None:
    """Every sample twice can be fitted, and equal samples are answered alike."""
    model = task.fitted(task.X * 2, None if task.y is None else task.y * 2)
    n = len(task.X)
    answers = outputs(model, task.X * 2)
    first = {name: values[:n] for name, values in answers.items()}
    same({name: values[n:] for name, values in answers.items()}, first, "the second copy")


def check_empty_and_unseen(task: ObjectTask) -> None:
    """Empty samples, and symbols that the training samples lack, get finite answers."""
    strange = [task.sample(text) for text in ("", "Q", "QQQ\0", "\N{SNOWMAN}" * 3, "abQ")]
    for name, values in outputs(task.fitted(), strange).items():
        if values.dtype.kind == "f":
            assert np.isfinite(values).all(), f"{name} of empty or unseen samples is {values}"


def check_samples_are_not_changed(task: ObjectTask) -> None:
    """Neither fit nor predict writes into X or y."""
    X, y = object_array(task.X), targets(task.y)
    before, before_y = copy.deepcopy(task.X), None if y is None else y.copy()
    X.flags.writeable = False
    model = task.fitted(X, y)
    outputs(model, X)
    assert X.tolist() == before, "fit or predict changed X"
    if y is not None:
        assert_array_equal(y, before_y, "fit changed y")


# --- scikit-learn's conventions ---------------------------------------------------------------


def check_parameters_are_not_changed(task: ObjectTask) -> None:
    """fit returns the estimator and leaves its parameters as they were."""
    model = task.fresh()
    before = {name: repr(value) for name, value in model.get_params().items()}
    assert model.fit(task.X, task.y) is model, "fit must return self"
    after = {name: repr(value) for name, value in model.get_params().items()}
    assert after == before, "fit changed parameters"


def check_clone_and_set_params(task: ObjectTask) -> None:
    """Clones of fitted and unfitted estimators are the same estimator."""
    model = task.fitted()
    expected = outputs(model, task.X)
    copied: Any = clone(model)
    same(outputs(copied.fit(task.X, task.y), task.X), expected, "a clone")
    again = task.fresh()
    again.set_params(**model.get_params(deep=False))
    same(outputs(again.fit(task.X, task.y), task.X), expected, "set_params(**get_params())")


def check_second_fit(task: ObjectTask) -> None:
    """A second fit forgets the first, whatever it was to."""
    model = task.fitted()
    expected = outputs(model, task.X)
    half = [*task.X[: len(task.X) // 3], *task.X[-len(task.X) // 3 :]]
    y = None if task.y is None else [*task.y[: len(task.y) // 3], *task.y[-len(task.y) // 3 :]]
    model.fit(half, y)
    same(outputs(model.fit(task.X, task.y), task.X), expected, "a fit after another")


def check_no_columns(task: ObjectTask) -> None:
    """Objects have no columns: no n_features_in_ other than 1, and no names of another fit."""
    model: Any = task.fitted()
    kernel = getattr(model, "kernel", None)
    if kernel is not None and isinstance(task.estimator, KernelLearner):
        vectors = [[float(i), 1.0] for i in range(len(task.X))]
        model.set_params(kernel="rbf").fit(vectors, task.y)
        model.set_params(kernel=kernel).fit(task.X, task.y)
    columns = getattr(model, "n_features_in_", 1)
    assert columns == 1, f"n_features_in_ is {columns} after a fit to objects"
    assert not hasattr(model, "feature_names_in_"), "feature_names_in_ after a fit to a list"


def check_not_fitted(task: ObjectTask) -> None:
    """Predicting before fit raises NotFittedError."""
    model = task.fresh()
    for name in METHODS:
        if hasattr(model, name):
            refused(lambda name=name: getattr(model, name)(task.X), NotFittedError, name)


def check_pickle_and_files(task: ObjectTask) -> None:
    """Pickles and model files give the same answers."""
    model = task.fitted()
    expected = outputs(model, task.X)
    same(outputs(pickle.loads(pickle.dumps(model)), task.X), expected, "a pickle")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mercer"
        save(model, path)
        loaded = load(path, trusted=classes_to_trust(model))
        same(outputs(loaded, task.X), expected, "a model file")


def check_pipeline(task: ObjectTask) -> None:
    """The last step of a pipeline, behind one that passes its samples on."""
    pipe = make_pipeline(FunctionTransformer(), task.fresh()).fit(task.X, task.y)
    same(outputs(pipe, task.X), outputs(task.fitted(), task.X), "a pipeline")


def check_cross_validation(task: ObjectTask) -> None:
    """cross_val_score on lists and on arrays of objects, of what predicts."""
    if not hasattr(task.estimator, "predict"):
        return
    scores = {
        name: cross_val_score(
            task.fresh(), X, targets(task.y), cv=3, scoring=scoring(task), error_score=RAISE
        )
        for name, X in (("list", task.X), ("array", object_array(task.X)))
    }
    assert np.isfinite(scores["list"]).all(), f"scores are {scores['list']}"
    assert_allclose(scores["array"], scores["list"], err_msg="scores of an array of objects")


def check_searches(task: ObjectTask) -> None:
    """GridSearchCV and KernelSearchCV over a parameter of the learner."""
    grid = {name: GRIDS[name] for name in task.fresh().get_params(deep=False) if name in GRIDS}
    if not grid or not hasattr(task.estimator, "predict"):
        return
    name = next(iter(grid))
    found = [
        Search(task.fresh(), {name: grid[name]}, cv=3, scoring=scoring(task), error_score=RAISE)
        .fit(task.X, targets(task.y))
        for Search in (GridSearchCV, KernelSearchCV)
    ]  # fmt: skip
    plain, shared = [search.cv_results_["mean_test_score"] for search in found]
    assert np.isfinite(plain).all(), f"scores are {plain}"
    assert_allclose(shared, plain, atol=1e-2, err_msg="scores of KernelSearchCV")
    for search in found:
        answers = search.predict(task.X) if hasattr(search, "predict") else task.X
        assert len(answers) == len(task.X)


def check_weights(task: ObjectTask) -> None:
    """Weights mean repetition: 2 is the sample twice, 0 its absence, and None is 1."""
    if not has_fit_parameter(task.fresh(), "sample_weight"):
        return
    n = len(task.X)
    w = np.ones(n)
    same(
        outputs(task.fitted(sample_weight=w), task.X),
        outputs(task.fitted(sample_weight=None), task.X), "weights of 1",
    )  # fmt: skip
    w[1::5], w[3::5] = 2.0, 0.0
    rows = np.repeat(np.arange(n), w.astype(int))
    y = None if task.y is None else [task.y[i] for i in rows]
    repeated = task.fitted([task.X[i] for i in rows], y)
    weighted = task.fitted(sample_weight=w)
    alike(outputs(weighted, task.X), outputs(repeated, task.X), "weights in place of repetition")


# --- what is refused --------------------------------------------------------------------------


def check_what_is_no_list_of_samples(task: ObjectTask) -> None:
    """A single str, a dict or a set as X, nothing at all and an empty list are refused."""
    model = task.fitted()
    for X in ("a text", b"bytes", {"a": task.X}, set("abc"), None):
        refused(lambda X=X: task.fresh().fit(X, task.y), (TypeError, ValueError), f"fit to {X!r}")
        refused(lambda X=X: outputs(model, X), (TypeError, ValueError), f"answers for {X!r}")
    empty = r"\bempty\b|\b0\b"
    refused(lambda: task.fresh().fit([], task.y), ValueError, "fit to []", empty)
    refused(lambda: outputs(model, []), ValueError, "answers for []", empty)


def check_missing_entries(task: ObjectTask) -> None:
    """None and NaN among the samples are refused; estimators with the tag allow_nan read them."""
    model = task.fitted()
    for missing in (None, float("nan")):
        X = [*task.X[:-1], missing]
        if get_tags(task.estimator).input_tags.allow_nan:
            assert all(len(values) == len(X) for values in outputs(task.fitted(X), X).values())
            continue
        refused(lambda X=X: task.fresh().fit(X, task.y), TypeError, f"fit with {missing}")
        refused(lambda X=X: outputs(model, X), TypeError, f"answers with {missing}")


def check_mixed_and_other_kinds(task: ObjectTask) -> None:
    """str and bytes mixed, numbers, and samples of another kind than in fit are refused."""
    model = task.fitted()
    others = {str: b"ab", bytes: "ab", list: "ab", set: "ab"}
    other = others.get(task.form, "ab")
    X = [*task.X[:-1], other]
    wrong = (TypeError, ValueError)
    refused(lambda: task.fresh().fit(X, task.y), wrong, f"fit with {other!r} among the samples")
    refused(lambda: outputs(model, X), wrong, f"answers with {other!r} among the samples")
    refused(lambda: outputs(model, [other, other]), wrong, f"answers for {other!r}")
    refused(lambda: outputs(model, np.eye(3) + 0.5), wrong, "answers for a matrix")


def check_lengths_of_x_and_y(task: ObjectTask) -> None:
    """Targets and weights of another length than X are refused."""
    if task.y is not None:
        y = task.y[:-1]
        few = f"{len(y)}"
        refused(lambda: task.fresh().fit(task.X, y), ValueError, "fit with too few targets", few)
    if has_fit_parameter(task.fresh(), "sample_weight"):
        w = np.ones(len(task.X) + 1)
        refused(
            lambda: task.fresh().fit(task.X, task.y, sample_weight=w), ValueError,
            "fit with too many weights", f"{len(w)}",
        )  # fmt: skip


CHECKS = (
    check_containers,
    check_one_sample,
    check_order_of_new_samples,
    check_order_of_training_samples,
    check_duplicates,
    check_empty_and_unseen,
    check_samples_are_not_changed,
    check_parameters_are_not_changed,
    check_clone_and_set_params,
    check_second_fit,
    check_no_columns,
    check_not_fitted,
    check_pickle_and_files,
    check_pipeline,
    check_cross_validation,
    check_searches,
    check_weights,
    check_what_is_no_list_of_samples,
    check_missing_entries,
    check_mixed_and_other_kinds,
    check_lengths_of_x_and_y,
)


# --- what they share ----------------------------------------------------------------------------


def permutation(n: int) -> list[int]:
    return np.random.default_rng(0).permutation(n).tolist()


def classes_to_trust(model: BaseEstimator) -> list[type]:
    """The classes of a model, of its parameters, and of kinds of samples that `load` does not know
    by itself."""
    chosen = [kernel for kind in all_kinds() for kernel in kind.make_kernels()]
    parts = [model, *chosen]
    classes = {type(part) for each in parts for part in (each, *each.get_params().values())}
    classes |= {encoded for kind in all_kinds() for encoded in kind.encoded}
    return [found for found in classes if found.__module__.split(".")[0] not in JUDGED]


def scoring(task: ObjectTask) -> Any:
    """The learner's own score; without targets, the share of samples that it takes for usual."""
    if task.y is not None:
        return "accuracy" if is_classifier(task.estimator) else None
    return _usual


def _usual(model: Any, X: Samples, y: object = None) -> float:
    return float(np.mean(np.asarray(model.predict(X)) == 1))
