"""The lanes themselves: what of a test is left to the full lane."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

from lanes import covering, few, leave_to_the_full_lane
from mercer import SVC, SVR
from mercer.testing import object_checks


def test_every_value_is_shown_and_none_much_more_often_than_others():
    cases = {(learner, kind): (learner, kind) for learner in "abcdef" for kind in "xyz"}
    chosen = covering(cases)
    assert len(chosen) == 6  # one kind for each learner
    assert {learner for learner, _ in chosen} == set("abcdef")
    kinds = [kind for _, kind in chosen]
    assert {kinds.count(kind) for kind in "xyz"} == {2}


def test_one_estimator_shows_its_class():
    assert covering({"SVC()": ("SVC",), "SVC(C=2)": ("SVC",), "SVR()": ("SVR",)}) == {
        "SVC()",
        "SVR()",
    }


def test_the_first_of_few_are_quick():
    marks = [[mark.name for mark in case.marks] for case in few(2, [1, (2,), 3, 4])]
    assert marks == [[], [], ["full"], ["full"]]


class Case:
    """As much of a collected test as the lanes read."""

    path = cls = None
    originalname = "test"

    def __init__(self, *marks, **arguments):
        self.marks, self.callspec = list(marks), SimpleNamespace(params=arguments)

    def get_closest_marker(self, name):
        return name in self.marks or None

    def add_marker(self, mark):
        self.marks.append(mark.name)


def test_what_a_case_of_the_full_lane_shows_is_shown_by_another():
    cases = [
        Case("thinned", "full", learner="SVC", kind="strings"),
        Case("thinned", learner="SVC", kind="sets"),
        Case("thinned", learner="SVR", kind="strings"),
        Case("thinned", learner="SVR", kind="sets"),
    ]
    leave_to_the_full_lane(cases)
    assert ["full" in case.marks for case in cases] == [True, False, False, True]


def test_pages_are_left_to_the_full_lane_unless_they_are_named():
    pages = [Path("docs/ridge.rst"), Path("docs/svm.rst")]
    cases = [SimpleNamespace(path=path, marks=[]) for path in pages]
    for case in cases:
        case.add_marker = lambda mark, marks=case.marks: marks.append(mark.name)
    leave_to_the_full_lane(cases, pages[1:])
    assert [case.marks for case in cases] == [["full"], []]


def test_each_check_of_the_suite_is_quick_for_one_class_and_each_class_has_some():
    estimators = [SVC(), SVC(C=2), SVR()]
    cases = [Case(estimator=e, check=c) for e in estimators for c in ("clone", "repr", "pickle")]
    leave_to_the_full_lane(cases)
    quick = [case.callspec.params for case in cases if "full" not in case.marks]
    assert sorted(given["check"] for given in quick) == ["clone", "pickle", "repr"]
    assert {type(given["estimator"]) for given in quick} == {SVC, SVR}


def test_a_check_with_other_arguments_is_another():
    checks = [partial(print, kind=kind) for kind in ("ones", "zeros")]
    cases = [Case(estimator=SVC(C=C), check=check) for C in (1, 2) for check in checks]
    leave_to_the_full_lane(cases)
    assert sum("full" not in case.marks for case in cases) == 2


def test_of_the_suite_on_objects_each_kind_and_each_class_is_quick():
    estimators = [(SVC(), "strings"), (SVC(), "sets"), (SVR(), "strings"), (SVR(), "sets")]
    cases = [
        Case(check=check) for e, kind in estimators for _, check in list(object_checks(e, kind))[:2]
    ]
    leave_to_the_full_lane(cases)
    assert ["full" in case.marks for case in cases[::2]] == [False, True, True, False]
    assert ["full" in case.marks for case in cases[1::2]] == [False, True, True, False]
