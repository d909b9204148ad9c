"""Parameters are documented once, in the order of the signature, whoever wrote their words."""

import inspect
import re
import subprocess
import sys
from dataclasses import KW_ONLY, field

import pytest
from sklearn.base import BaseEstimator, clone

import mercer
from mercer.estimator import SHARED, documented, estimator, parameter_sections

ROOMS = (mercer, mercer.deep, mercer.distances, mercer.kernels, mercer.search)


def public_estimators():
    found = {}
    for room in ROOMS:
        for name in room.__all__:
            # these need torch, and have the same decorator
            if name.startswith(("ConvolutionalDeep", "Attention")):
                continue
            value = getattr(room, name)
            if inspect.isclass(value) and issubclass(value, BaseEstimator):
                found[value] = None
    return [cls for cls in found if not inspect.isabstract(cls) and _parameters(cls)]


def _parameters(cls):
    return [name for name in inspect.signature(cls).parameters if name not in ("args", "kwargs")]


@pytest.mark.parametrize("cls", public_estimators(), ids=lambda cls: cls.__name__)
def test_every_parameter_of_a_public_class_is_documented_in_order(cls):
    entries, parameters = parameter_sections(cls)[1], _parameters(cls)
    assert sorted(entries) == sorted(parameters)
    # an entry for several parameters stands where the first of them does
    first = [parameters.index(name) for name, entry in entries.items() if entry.startswith(name)]
    assert first == sorted(first)


def test_formulas_of_docstrings_are_as_they_were_written():
    wrong = []
    for cls in public_estimators():
        for parent in cls.__mro__:  # a parent's attributes are shown with those of its children
            text = parent.__doc__ or ""
            if parent.__module__.startswith("mercer") and re.search(r"[\x00-\x09\x0b-\x1f]", text):
                wrong.append(parent.__name__)  # "\\tau" in a docstring without r is a tabulator
    assert wrong == []


class Parent(BaseEstimator):
    """A parent.

    Parameters
    ----------
    width : float > 0
        The width of all.
    n_jobs : int
        Threads of the parent.
    """


class Child(Parent):
    """A child.

    Parameters
    ----------
    depth : int, default=2
        Its own words,

        - and a list of them.

    Attributes
    ----------
    found_ : int
    """

    width: float = 0.5
    depth: int = 2
    kernel: str = "rbf"
    n_jobs: int | None = None
    memory: int | None = None


def test_words_come_from_the_class_then_its_parents_then_the_table():
    made = estimator(type("Made", (Child,), dict(vars(Child))))
    assert made.__doc__.splitlines()[4:11] == [
        "width : float > 0, default=0.5",
        "    The width of all.",
        "depth : int, default=2",
        "    Its own words,",
        "",
        "    - and a list of them.",
        'kernel : kernel object, name, "precomputed" or callable, default="rbf"',
    ]
    assert "Threads of the parent." in made.__doc__
    assert made.__doc__.endswith("\n\nAttributes\n----------\nfound_ : int")
    assert list(parameter_sections(made)[1]) == ["width", "depth", "kernel", "n_jobs", "memory"]


def test_attributes_of_the_parents_stand_after_those_of_the_class_which_replace_them():
    class Base:
        """A base.

        Attributes
        ----------
        found_, lost_ : int
            Of the base.
        far_ : float
        """

    class Near(Base):
        """Nearer.

        Attributes
        ----------
        far_ : str
        """

    heading = "Made.\n\nParameters\n----------\n\nAttributes\n----------\n"
    own = "Made.\n\nAttributes\n----------\nfound_ : bool"
    made = documented(type("Made", (Near,), {"__doc__": own}))
    assert made.__doc__ == f"{heading}found_ : bool\nfar_ : str\nlost_ : int\n    Of the base."
    made = documented(type("Made", (Near,), {"__doc__": "Made.\n\nNotes\n-----\nNo words."}))
    assert made.__doc__ == (
        f"{heading}far_ : str\nfound_, lost_ : int\n    Of the base.\n\nNotes\n-----\nNo words."
    )


@pytest.mark.parametrize("name", ["heigth", "depht"])
def test_a_parameter_without_words_and_words_without_a_parameter_are_refused(name):
    class Wrong(Parent):
        """Wrong.

        Parameters
        ----------
        depht : int
        """

    Wrong.__init__ = lambda self, heigth=1: None
    with pytest.raises(TypeError, match=name):
        documented(Wrong)


def test_a_decorated_parent_hands_its_parameters_on_after_those_of_the_class():
    @estimator
    class Base(BaseEstimator):
        """A base.

        Parameters
        ----------
        width : float > 0
            The width of all.
        """

        _: KW_ONLY
        kernel: str = "rbf"
        width: float = 0.5
        n_jobs: int | None = None
        found_: float = field(init=False)

    @estimator
    class Made(Base):
        """Made.

        Parameters
        ----------
        depth : int, default=2
            Its own words.
        """

        gamma: int | None = 1
        _: KW_ONLY
        depth: int = 2
        kernel: str = "linear"
        degree: int = 3

    assert [(p.name, p.default) for p in inspect.signature(Made).parameters.values()] == [
        ("gamma", 1), ("depth", 2), ("kernel", "linear"), ("degree", 3), ("width", 0.5),
        ("n_jobs", None),
    ]  # fmt: skip
    assert "width : float > 0, default=0.5\n    The width of all." in Made.__doc__
    assert 'kernel : kernel object, name, "precomputed" or callable, default="linear"\n' in (
        Made.__doc__
    )
    assert clone(Made(4, depth=5)).get_params() == {
        "gamma": 4, "depth": 5, "kernel": "linear", "degree": 3, "width": 0.5, "n_jobs": None,
    }  # fmt: skip


def test_an_estimator_is_cloned_and_shown_by_its_fields():
    model = mercer.KernelRidge(2.0, kernel="rbf")
    assert repr(model) == repr(clone(model)) == "KernelRidge(alpha=2.0, kernel='rbf')"
    assert model != clone(model)  # as scikit-learn has it, not as dataclasses do
    assert hash(model) != hash(clone(model))


def test_all_words_of_the_table_are_used():
    said = "".join(inspect.getdoc(cls) for cls in public_estimators())
    for entry in SHARED.strip().split("\n"):
        assert entry.split(" : ")[0].strip() in said


def test_public_classes_exist_without_docstrings():
    code = "import mercer, mercer.deep; [getattr(mercer, name) for name in mercer.__all__]"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
