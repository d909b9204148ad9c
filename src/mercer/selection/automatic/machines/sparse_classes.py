"""Machines of classes that are linear in many features, such as the words of texts.

Their time grows with the values that are not 0, where that of kernel matrices grows with the square
of the rows. A linear support vector machine is the kernel machine with the inner product of the
features, solved without its matrix. Complement naive Bayes (Rennie et al. 2003) compares how often
each part occurs outside of each class; it is often the best one for topics. Logistic regression
is for embeddings, whose directions often tell. Their outputs are calibrated on rows that were held
out, with a shift for each class.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.naive_bayes import ComplementNB

from mercer.learners.margin import LinearSVC
from mercer.selection.automatic.machines.linear import fit_logistic

TOLERANCE = 1e-2  # of the support vector machine


class Weighed(NamedTuple):
    """What a fit to explicit features has found."""

    coef: np.ndarray  # (p, outputs)
    intercept: np.ndarray  # (outputs,)
    dual: np.ndarray  # (n, outputs)
    scale: np.ndarray  # (p,)


def fit_margins(F: Any, y: np.ndarray, w: np.ndarray, C: float) -> Weighed:
    """One linear support vector machine against the rest for each class, with squared losses."""
    learner = LinearSVC(C=C, tol=TOLERANCE, random_state=0).fit(F, y, w)
    coef, intercept = learner.coef_.T, learner.intercept_
    if len(learner.classes_) == 2:
        coef, intercept = np.hstack([-coef, coef]), np.concatenate([-intercept, intercept])
    signs = np.where(y[:, None] == learner.classes_, 1.0, -1.0)
    beyond = np.maximum(0, 1 - signs * (F @ coef + intercept))
    dual = 2 * C * w[:, None] * signs * beyond  # where the derivative of the objective is 0
    return Weighed(coef, intercept, dual, np.ones(F.shape[1]))


def fit_bayes(F: Any, y: np.ndarray, w: np.ndarray, alpha: float) -> Weighed:
    """Complement naive Bayes, whose counts have ``alpha`` added.

    A row adds to the output of its class, in first order, the products of its values and those of
    the new row divided by how often each part occurs.
    """
    learner = ComplementNB(alpha=alpha).fit(F, y, w)
    k = len(learner.classes_)
    dual = w[:, None] * ((y[:, None] == learner.classes_) - 1 / k)
    scale = 1 / (learner.feature_all_ + alpha)
    return Weighed(learner.feature_log_prob_.T, np.zeros(k), dual, scale)


#: machine -> how it is fitted with a setting, and the settings it chooses from
SPARSE_CLASSES = {
    "margins": (fit_margins, (1.0,)),
    "bayes": (fit_bayes, (0.1, 0.3, 1.0)),
    # of unit vectors; on 8 splits of 200 vectors of 768 numbers .821, .858, .867 right
    "logistic": (fit_logistic, (1.0, 10.0, 100.0)),
}
#: machine -> what it is in words
IN_WORDS = {
    "margins": "linear support vector machine, C = {:g},",
    "bayes": "complement naive Bayes, {:g} added to each count,",
    "logistic": "logistic regression, C = {:g},",
}
