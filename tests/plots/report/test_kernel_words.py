"""What the report says about kernels and distances."""

import re

import numpy as np
import pytest

import cases
from mercer import distances
from mercer.kernels import (
    RBF,
    ArcCosine,
    Convex,
    ExponentialPower,
    FromDistance,
    Laplacian,
    Layered,
    Linear,
    Match,
    Polynomial,
    TableKernel,
)
from mercer.plots.report.kernel import kernel_words


def test_kernels_in_words():
    assert kernel_words(Linear()).formula == "⟨x, z⟩"
    assert kernel_words(Polynomial(2, 0.5, 1)).formula == "(γ⟨x, z⟩ + c)²"
    words = kernel_words(0.5 * RBF(2.0) + Linear())
    assert words.formula == "0.5 · [exp(−γ ‖x − z‖²)] + ⟨x, z⟩"
    assert words.parameters == [("left kernel γ", "2")]  # the factor stands in the formula
    words = kernel_words(FromDistance(distances.Match(), 0.5))
    assert (words.formula, words.parameters) == ("exp(−γ ρ(x, z))", [("γ", "0.5")])
    words = kernel_words(Layered([ArcCosine(0, 3), RBF(2.0)], 2, Polynomial(2, 0.5)))
    assert words.formula == (
        "layers of [arc-cosine of degree 0, layers: 3; exp(−γ ‖x − z‖²)] "
        "on the features of (γ⟨x, z⟩ + c)²"
    )
    assert words.parameters == [("base c", "1"), ("base γ", "0.5"), ("depth", "2")]
    assert "layers" in words.meaning
    assert kernel_words(ArcCosine(2)).parameters == []
    kernel = Convex([RBF(0.1), RBF(1.0), RBF(10.0), Linear()])
    assert kernel_words(kernel).formula == "mean of exp(−γ ‖x − z‖²) … ⟨x, z⟩ (4 in all)"
    assert kernel_words(Laplacian(1.0)).meaning == (
        "Similarity is 1 for equal rows, falling exponentially with the sum of absolute "
        "differences."
    )
    assert kernel_words(ExponentialPower(1.0, 1.5)).formula == "exp(−‖x − z‖^1.5 / σ)"


@pytest.mark.spread(60)
@pytest.mark.parametrize("case", cases.KERNELS, ids=cases.name)
def test_every_public_kernel_says_what_it_means(case):
    kernel = case[0]
    assert kernel.meaning is not None
    words = kernel_words(kernel)
    assert words.meaning.startswith("Similarity is ")
    assert words.meaning.endswith(".")
    told = f"{words.formula} {words.meaning}"
    assert not re.search(r"\{|\}|\(x, z\) of|None|object at", told), told


@pytest.mark.parametrize("case", cases.DISTANCES, ids=cases.name)
def test_every_public_distance_says_what_it_means(case):
    assert case[0].meaning is not None
    words = kernel_words(FromDistance(case[0]))
    assert "{" not in words.meaning
    assert words.meaning.startswith("Similarity is 1 for equal samples, falling exponentially with")


def test_a_kernel_of_a_users_own_is_told_by_its_name_and_its_first_line():
    class Own(Linear):
        """As alike as
        `two rows` are. More follows.

        And more.
        """

        meaning = None

    words = kernel_words(0.5 * Own())
    assert words.formula == "0.5 · [Own(x, z)]"
    assert words.meaning == (
        "Similarity is what Own computes: As alike as two rows are. More follows."
    )
    Own.__doc__ = None
    assert kernel_words(Own()).meaning == "Similarity is what Own computes."


def test_the_parts_of_a_table_kernel_are_named_and_ordered_by_weight():
    kernel = TableKernel([(Laplacian(1.0), [0]), (Match(), [1])], "interactions", [0.5, 2.0])
    words = kernel_words(kernel, ["age", "sex"].__getitem__)
    assert [(p["columns"], p["weight"]) for p in words.parts] == [(["sex"], 2.0), (["age"], 0.5)]
    assert [p["formula"] for p in words.parts] == [
        "1 if x = z, else 0",
        "exp(−γ |x − z|), γ = 1",
    ]
    assert "wⱼ" in words.formula
    single = kernel_words(TableKernel([(RBF(2.0), [0, 1])]), ["age", "sex"].__getitem__)
    assert single.formula == "exp(−γ ‖x − z‖²)"
    assert single.meaning.endswith("It reads 2 columns together: age, sex.")


def test_a_learnt_map_is_told_with_the_columns_that_have_most_of_it():
    names = ["age", "height", "sex"].__getitem__
    factors = distances.MappedMinkowski([1.0, 3.0], 1.0)
    words = kernel_words(TableKernel([(ExponentialPower(2.0, 1.0, factors), [0, 1])]), names)
    assert words.formula == "exp(−‖W (x − z)‖₁ / σ)"
    assert "W multiplies each column by its own factor" in words.meaning
    assert words.meaning.endswith("Its squared weights belong to: height 90%, age 10%.")
    matrix = distances.MappedMinkowski([[1.0, 1.0], [0.0, 1.0]])
    kernel = TableKernel([(ExponentialPower(2.0, 1.5, matrix), [0, 1]), (Match(), [2])])
    found = {part["columns"][0]: part["map"] for part in kernel_words(kernel, names).parts}
    assert found["age"].startswith("W is a matrix")
    assert found["age"].endswith("height 67%, age 33%.")
    assert found["sex"] == ""
    alike = ExponentialPower(2.0, 1.5, distances.MappedMinkowski(0.3 * np.eye(2)))
    assert (
        "W stretches all directions alike."
        in kernel_words(TableKernel([(alike, [0, 1])]), names).meaning
    )


def test_only_parts_of_one_column_each_are_said_to_be_additive():
    alone = TableKernel([(Laplacian(1.0), [0]), (Match(), [1])], "sum")
    assert "do not act on one another" in kernel_words(alone, str).meaning
    together = TableKernel([(RBF(1.0), [0, 1]), (Laplacian(1.0), [0])], "sum")
    assert "do not act on one another" not in kernel_words(together, str).meaning
