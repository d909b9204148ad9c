"""Checks of an estimator on strings or sets, in the manner of scikit-learn's check_estimator.

`check_object_estimator` runs them all, `object_checks` yields them one by one and
`parametrize_with_object_checks` makes a test of each. What they ask is in `object_checks.py`;
here is how they are chosen, and the samples that they use when none are given.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial, update_wrapper
from typing import Any

from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector
from sklearn.utils import get_tags

from mercer.samples import SamplesLike
from mercer.testing.object_checks import CHECKS
from mercer.testing.object_task import ObjectTask

EACH = 14  # samples of each class, of those that are made here
#: what samples are made of texts
MAKERS: dict[str, Callable[[str], Any]] = {
    "strings": str,
    "bytes": str.encode,
    "tokens": list,
    "sets": set,
}


def check_object_estimator(
    estimator: BaseEstimator,
    samples: Any,
    y: Sequence | None = None,
    *,
    expected_failures: object = None,
) -> None:
    """Check that an estimator takes samples that are objects, and says so where it cannot.

    Parameters
    ----------
    estimator : estimator
        Not yet fitted, with a kernel on objects. It is cloned for each check.
    samples : {"strings", "bytes", "tokens", "sets"}, callable or list
        What to fit to: samples that are made here, of texts; for samples of a kind of your own,
        give a function that makes one of a text, for example a graph of its letters. Or a list of
        at least 12 strings, bytes, lists of tokens or sets of strings, some of them alike within a
        class.
    y : sequence, optional
        Targets of the samples; by default two classes, or numbers, the first half and the second.
    expected_failures : dict, optional
        Name of a check -> why it must fail. It is not run.

    Raises
    ------
    AssertionError
        A check found something else; the message says what.

    Notes
    -----
    Fits to lists, tuples, arrays of objects and columns of pandas, polars and arrow (those that
    are installed) must give the same model; so must fits within pipelines and searches, of clones
    and of files. Weights mean repetition. A str, a dict or a set as X, missing entries, mixed
    types and other kinds than in ``fit`` are refused with a remedy.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Kernel
    >>> class SameLength(Kernel):
    ...     kind = "strings"
    ...     def block(self, X, Z):
    ...         return (X.lengths[:, None] == Z.lengths).astype(X.dtype)
    >>> names = [name for name, check in object_checks(KernelRidge(kernel=SameLength()), "strings")]
    >>> names[:2]
    ['check_containers', 'check_one_sample']
    """
    for _, check in object_checks(estimator, samples, y, expected_failures=expected_failures):
        check()


def object_checks(
    estimator: BaseEstimator,
    samples: SamplesLike,
    y: Sequence | None = None,
    *,
    expected_failures: Any = None,
) -> Iterator[tuple[str, Callable]]:
    """(name, check) of all checks that suit an estimator; a check is called without arguments.

    Parameters are those of `check_object_estimator`.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import Spectrum
    >>> checks = dict(object_checks(SVC(kernel=Spectrum(2)), "strings"))
    >>> checks["check_one_sample"]()
    """
    task = object_task(estimator, samples, y)
    for check in CHECKS:
        if check.__name__ not in (expected_failures or {}):
            yield check.__name__, update_wrapper(partial(check, task), check)


def parametrize_with_object_checks(
    cases: Sequence, *, expected_failures: Callable | None = None
) -> Callable:
    """Decorator of a pytest test with the argument ``check``: one test for each case and check.

    Parameters
    ----------
    cases : list of (estimator, samples) or (estimator, samples, y)
    expected_failures : callable, optional
        Estimator -> dict as in `check_object_estimator`.

    Examples
    --------
    In a test module::

        @parametrize_with_object_checks([(MyLearner(kernel=MyKernel()), "strings")])
        def test_objects(check):
            check()
    """
    import pytest

    tests = []
    for estimator, samples, *y in cases:
        known = expected_failures(estimator) if expected_failures else None
        kind = samples if isinstance(samples, str) else getattr(samples, "__name__", "samples")
        name = " ".join(repr(estimator).split())
        tests += [
            pytest.param(check, id=f"{name}-{kind}-{of}")
            for of, check in object_checks(estimator, samples, *y, expected_failures=known)
        ]
    return pytest.mark.parametrize("check", tests)


def object_task(estimator: BaseEstimator, samples: Any, y: Sequence | None = None) -> ObjectTask:
    """What the checks are run on."""
    maker = MAKERS.get(samples) if isinstance(samples, str) else samples
    if maker is None:
        raise ValueError(
            f"samples={samples!r}: give one of {list(MAKERS)}, a function of a text, or a list."
        )
    if callable(maker):
        X = [maker(text) for text in made_texts()]
    else:
        X, maker = list(samples), None
    if y is None and _has_targets(estimator):
        half = len(X) // 2
        if is_classifier(estimator):
            y = ["left"] * half + ["right"] * (len(X) - half)
        else:
            y = [-1.0 + 0.01 * (i % 3) + 2 * (i >= half) for i in range(len(X))]
    return ObjectTask(estimator, X, None if y is None else list(y), maker)


def _has_targets(estimator: BaseEstimator) -> bool:
    """Whether ``fit`` reads y, which outlier detectors and many transformers do not."""
    tags = get_tags(estimator)
    transforms = tags.transformer_tags is not None and not hasattr(estimator, "predict")
    return not is_outlier_detector(estimator) and (tags.target_tags.required or not transforms)


def made_texts() -> list[str]:
    """Two classes of words of different letters, with an overlap.

    One is repeated, one empty, and one has characters beyond ASCII.
    """
    draw = random.Random(0)
    texts = [
        "".join(draw.choices(letters, k=draw.randint(3, 12)))
        for letters in ("aabbcde", "edccvwxyz")
        for _ in range(EACH)
    ]
    texts[1], texts[2], texts[-1] = texts[0], "", "vwéz\N{GRINNING FACE}"
    return texts
