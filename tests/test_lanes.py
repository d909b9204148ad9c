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
        """The mark, as `spread` with its number."""
        found = [mark for mark in self.marks if mark.partition("(")[0] == name]
        return SimpleNamespace(args=[*map(int, found[0][7:-1])]) if found else None

    def add_marker(self, mark):
        self.marks.append(mark.name)


def test_what_a_case_of_the_full_lane_shows_is_shown_by_another():
    cases = [
        Case("full", learner="SVC", kind="strings"),
        Case(learner="SVC", kind="sets"),
        Case(learner="SVR", kind="strings"),
        Case(learner="SVR", kind="sets"),
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


def of_suite(estimators, checks, file="test_a.py"):
    cases = [Case(estimator=e, check=check) for e in estimators for check in checks]
    for case in cases:
        case.path = Path(file)
    leave_to_the_full_lane(cases)
    return [case.callspec.params for case in cases if "full" not in case.marks]


def test_each_file_takes_a_third_of_the_suite_and_each_class_some_of_it():
    estimators, checks = [SVC(), SVC(C=2), SVR()], [f"check {i}" for i in range(12)]
    quick = [of_suite(estimators, checks, f"test_{name}.py") for name in "abcdef"]
    for file in quick:
        assert len({given["check"] for given in file}) == len(file) == 4
        assert {type(given["estimator"]) for given in file} == {SVC, SVR}
    assert {given["check"] for file in quick for given in file} == {*checks}


def test_a_check_with_other_arguments_is_another():
    checks = [partial(print, kind=kind) for kind in range(6)]
    assert len(of_suite([SVC(C=1), SVC(C=2)], checks)) == 2


def test_cases_of_a_spread_test_are_at_even_distances():
    cases = [Case("spread(2)", number=i) for i in range(7)]
    leave_to_the_full_lane(cases)
    assert [i for i, case in enumerate(cases) if "full" not in case.marks] == [0, 3]


def test_of_a_long_table_each_test_takes_other_cases():
    quick = {}
    for name in ("test_a", "test_b", "test_c", "test_d"):
        cases = [Case(kernel=i) for i in range(75)]
        for case in cases:
            case.originalname = name
        leave_to_the_full_lane(cases)
        quick[name] = {i for i, case in enumerate(cases) if "full" not in case.marks}
        assert len(quick[name]) == 25
    assert set().union(*quick.values()) == {*range(75)}


def test_of_a_table_of_moderate_length_each_case_is_quick():
    cases = [Case(kernel=i) for i in range(47)]
    leave_to_the_full_lane(cases)
    assert not any(case.marks for case in cases)


def test_of_the_suite_on_objects_each_kind_and_each_class_is_quick():
    estimators = [(SVC(), "strings"), (SVC(), "sets"), (SVR(), "strings"), (SVR(), "sets")]
    cases = [
        Case(check=check) for e, kind in estimators for _, check in list(object_checks(e, kind))[:2]
    ]
    leave_to_the_full_lane(cases)
    assert ["full" in case.marks for case in cases[::2]] == [False, True, True, False]
    assert ["full" in case.marks for case in cases[1::2]] == [False, True, True, False]
