"""Wrong arrays are refused by the loops of spanning trees and clusters."""

import numpy as np
import pytest

from mercer import _native


def refused(call, right, wrong):
    call(*right.values())
    for changes in wrong:
        with pytest.raises(ValueError, match="must"):
            call(*(right | changes).values())


def test_known_neighbours():
    n = 4
    right = {
        "near": np.ones((n, 2)), "near_ids": np.ones((n, 2), np.int64), "core": np.zeros(n),
        "part": np.arange(n), "first": np.zeros(n, np.int64), "lengths": np.full(n, np.inf),
        "ids": np.full(n, -1), "limits": np.full(n, np.inf),
    }  # fmt: skip
    wrong = [
        {"near_ids": np.full((n, 2), 4)}, {"near_ids": np.ones((n, 1), np.int64)},
        {"part": np.full(n, 4)}, {"first": np.full(n, -1)}, {"ids": np.full(n, 4)},
        {"limits": np.zeros(3)}, {"core": np.zeros(5)},
    ]  # fmt: skip
    refused(_native.reach_listed, right, wrong)


def test_joined_parts():
    right = {
        "a": np.array([0, 1]), "b": np.array([2, 2]), "part": np.arange(3),
        "joins": np.empty(2, bool),
    }  # fmt: skip
    wrong = [
        {"a": np.array([0, 3])}, {"b": np.array([-1, 2])}, {"joins": np.empty(1, bool)},
        {"part": np.array([1, 1, 2])},
    ]  # fmt: skip
    refused(_native.join_parts, right, wrong)


def test_condensed_trees():
    n = 3
    right = {
        "a": np.array([0, 1]), "b": np.array([1, 2]), "lengths": np.array([1.0, 2.0]), "least": 2,
        "home": np.empty(n, np.int64), "fell": np.empty(n), "above": np.empty(n, np.int64),
        "birth": np.empty(n), "sizes": np.empty(n, np.int64),
    }  # fmt: skip
    wrong = [
        {"b": np.array([1, 3])}, {"a": np.array([0, 2]), "b": np.array([2, 0])},
        {"lengths": np.ones(3)}, {"least": 1}, {"above": np.empty(2, np.int64)},
    ]  # fmt: skip
    refused(_native.condense, right, wrong)


def test_medoids():
    right = {"D": np.ones((4, 4)), "medoids": np.array([0, 2]), "most": 2}
    wrong = [
        {"D": np.ones((4, 3))}, {"medoids": np.array([0])}, {"medoids": np.array([0, 4])},
        {"medoids": np.array([1, 1])}, {"medoids": np.array([-1, 1])},
    ]  # fmt: skip
    refused(_native.faster_pam, right, wrong)
