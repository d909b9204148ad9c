"""Kernel machines and nearest neighbours as ONNX graphs, for runtimes without Python.

A machine is a sum of kernels over stored rows (`KernelSum`), and a kernel on vectors is data
(`Formula`): so the graph is arithmetic, written here once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.distances import dense_rows
from mercer.kernels import Formula, Kernel, Product, Scaled, Sum
from mercer.learners.base import KernelSum, all_pairs
from mercer.learners.margin import SVR, ManyClasses, NuSVR
from mercer.learners.neighbours import KNeighborsClassifier, KNeighborsRegressor
from mercer.learners.ridge import (
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeClassifier,
)

OPSET = 18
IR_VERSION = 10  # which runtimes of 2024 read


class Graph:
    """Nodes and constants of a graph in one precision; calling it adds a node.

    Parameters
    ----------
    dtype : dtype
        float32 or float64, of all numbers.
    """

    def __init__(self, dtype: np.dtype):
        import onnx

        self.onnx, self.dtype = onnx, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node; returns the name of what it computes."""
        name = name or f"{operator.lower()}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(operator, list(inputs), [name], **attributes)
        self.nodes.append(node)
        return name

    def constant(self, values: Any) -> str:
        """The name of an array of floats, in the graph's precision, of whole numbers or texts."""
        values = np.asarray(values)
        values = values.astype(self.dtype) if values.dtype.kind == "f" else values
        values = values.astype(np.int64) if values.dtype.kind in "iub" else values
        values = values.astype(object) if values.dtype.kind == "U" else values
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def times(self, x: str, number: float) -> str:
        return x if number == 1 else self("Mul", x, self.constant(float(number)))

    def plus(self, x: str, number: float) -> str:
        return x if number == 0 else self("Add", x, self.constant(float(number)))

    def power(self, x: str, number: float) -> str:
        if number == 0.5:
            return self("Sqrt", x)
        return x if number == 1 else self("Pow", x, self.constant(float(number)))

    def total(self, x: str, axis: int, keep: bool = False) -> str:
        return self("ReduceSum", x, self.constant(np.array([axis])), keepdims=int(keep))


def to_onnx(model: Any) -> Any:
    """The model as an ONNX graph, whose answers are the model's to rounding in its precision.

    Parameters
    ----------
    model : fitted estimator
        SVC, NuSVC, SVR, NuSVR, KernelRidge, KernelRidgeClassifier, KernelLogisticRegression,
        GaussianProcessRegressor (its mean), KNeighborsClassifier or KNeighborsRegressor, on
        vectors. The kernel has a formula, or is made of such by sums, products and factors;
        neighbours are those of a weighted Minkowski distance.

    Returns
    -------
    onnx.ModelProto
        The input is "X", (n, d), in the precision of ``model.X_fit_``. The outputs are
        "variable", as of ``predict``, of a regressor; "label" and "scores" of a classifier. Scores
        are those of ``decision_function``, or of ``predict_proba`` where that needs no calibration.

    Raises
    ------
    ImportError
        onnx is not installed: ``pip install "mercer[onnx]"``.
    TypeError, ValueError
        The model has no such graph; the message says why.

    Notes
    -----
    A prediction takes O(m d) operations for m stored rows. Neighbours, and kernels of a distance
    other than the Euclidean one, need n m d numbers at a time: give a runtime some rows at once.
    Search is exact, whatever ``algorithm`` is, also "lsh"; of neighbours whose distances are equal
    up to rounding the graph may take others. A root of the Euclidean distance magnifies rounding,
    in the model as in the graph: of rows that are stored, k(x, x) of Matern(0.5) or of
    Laplacian(metric="euclidean") is 1 to 1e-7 in float64, 1e-3 in float32, and that of
    ExponentialPower(power=0.5) is 1 to 3e-4 and 3e-2.

    References
    ----------
    Open Neural Network Exchange, operator set 18, 2022: https://onnx.ai/onnx/operators.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC, to_onnx
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> graph = to_onnx(SVC(gamma=1.0).fit(X, ["a", "a", "b", "b"]))
    >>> from onnx.reference import ReferenceEvaluator
    >>> ReferenceEvaluator(graph).run(["label"], {"X": X[:1]})
    [array(['a'], dtype=object)]
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError('to_onnx needs onnx: pip install "mercer[onnx]".') from error
    if issubclass(type(model), BaseEstimator):
        check_is_fitted(model)
    outputs = _answers(model)
    stored = model.X_fit_
    graph = Graph(np.dtype(stored.dtype))
    answers = outputs(graph)
    helper, types = onnx.helper, onnx.TensorProto
    real = helper.np_dtype_to_tensor_dtype(graph.dtype)
    made = []
    for name, (shape, kind) in answers.items():
        tensor = {"f": real, "i": types.INT64, "u": types.INT64, "b": types.INT64}.get(kind, 8)
        made.append(helper.make_tensor_value_info(name, tensor, ["n", *shape]))
    given = helper.make_tensor_value_info("X", real, ["n", stored.shape[1]])
    body = helper.make_graph(graph.nodes, type(model).__name__, [given], made, graph.constants)
    made = helper.make_model(
        body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
        producer_name="mercer",
    )  # fmt: skip
    onnx.checker.check_model(made)
    return made


# --- kernels ----------------------------------------------------------------------------------


def _exponential(graph: Graph, t: str, numbers: Mapping[str, float]) -> str:
    return graph("Exp", graph.times(graph.power(t, numbers["power"]), -numbers["rate"]))


def _rational(graph: Graph, t: str, numbers: Mapping[str, float]) -> str:
    spread = graph.plus(graph.times(graph.power(t, numbers["power"]), numbers["rate"]), 1.0)
    return graph.power(spread, -numbers["alpha"])


def _matern(graph: Graph, t: str, numbers: Mapping[str, float]) -> str:
    """Nodes for the Matérn profile."""
    u = graph.times(graph.power(t, numbers["power"]), numbers["rate"])
    falling = graph("Exp", graph.times(u, -1.0))
    if numbers["nu"] == 0.5:
        return falling
    rising = graph.plus(u, 1.0)
    if numbers["nu"] == 2.5:
        rising = graph("Add", rising, graph.times(graph.power(u, 2.0), 1 / 3))
    return graph("Mul", rising, falling)


def _linear(graph: Graph, t: str, numbers: Mapping[str, float]) -> str:
    return graph.plus(graph.times(t, numbers["gamma"]), numbers["coef0"])


#: profile of a formula -> what it does to the coordinate t
PROFILES: dict[str, Callable[[Graph, str, Mapping[str, float]], str]] = {
    "identity": lambda graph, t, numbers: t,
    "polynomial": lambda graph, t, n: graph.power(_linear(graph, t, n), n["degree"]),
    "tanh": lambda graph, t, numbers: graph("Tanh", _linear(graph, t, numbers)),
    "exponential": _exponential,
    "rational": _rational,
    "matern": _matern,
}


def _distances(graph: Graph, formula: Formula, x: str, Z: np.ndarray) -> str:
    """Σ |x - z|^p of each pair, (n, m), which is 0 of equal rows."""
    rows = graph("Unsqueeze", x, graph.constant(np.array([1])))
    gaps = _scaled(graph, formula.scaling, graph("Sub", rows, graph.constant(Z[None])))
    return graph.total(graph.power(graph("Abs", gaps), float(formula.p)), 2)


def _by_products(graph: Graph, formula: Formula, x: str, Z: np.ndarray) -> str:
    """‖x - z‖² = ‖x‖² + ‖z‖² - 2 <x, z> of each pair, (n, m), without n m d numbers."""
    Z = formula.rows(Z)
    middle = Z.mean(axis=0)  # differences of large numbers lose digits
    Z, x = Z - middle, graph("Sub", _scaled(graph, formula.scaling, x), graph.constant(middle))
    squares = graph.total(graph("Mul", x, x), 1, keep=True)
    both = graph("Add", squares, graph.constant(np.square(Z).sum(axis=1)[None]))
    products = graph.times(graph("MatMul", x, graph.constant(Z.T)), -2.0)
    return graph("Max", graph("Add", both, products), graph.constant(0.0))


def _coordinates(graph: Graph, formula: Formula, x: str, Z: np.ndarray) -> str:
    """Nodes for distances or inner products with stored rows."""
    Z = Z.astype(np.float64)
    if formula.coordinates == "distance":
        return (_by_products if formula.p == 2 else _distances)(graph, formula, x, Z)
    Z, x = formula.rows(Z), _scaled(graph, formula.scaling, x)
    if formula.coordinates == "cosine":
        lengths = np.linalg.norm(Z, axis=1, keepdims=True)
        Z = np.divide(Z, lengths, out=np.zeros_like(Z), where=lengths > 0)
        length = graph("Sqrt", graph.total(graph("Mul", x, x), 1, keep=True))
        x = graph("Div", x, graph("Max", length, graph.constant(np.finfo(graph.dtype).tiny)))
    return graph("MatMul", x, graph.constant(Z.T))


def _scaled(graph: Graph, scaling: Any, x: str) -> str:
    if scaling is None:
        return x
    operator = "Mul" if scaling.ndim == 1 else "MatMul"
    return graph(operator, x, graph.constant(np.asarray(scaling, np.float64).T))


@singledispatch
def _kernel(kernel: Kernel, graph: Graph, Z: np.ndarray) -> str:
    """K between new rows and stored ones, (n, m)."""
    formula = kernel.formula
    if formula is None:
        raise ValueError(
            f"{kernel!r} has no formula, which a graph of ONNX could compute: give a kernel that "
            "has one, or sums, products and factors of such. k ** 2 is k * k, and Convex([k, l], "
            "[a, b]) is a * k + b * l."
        )
    known = formula.profile in PROFILES and formula.lengths == 0
    if formula.profile == "matern":
        known = formula.parameters["nu"] in (0.5, 1.5, 2.5)
    if not known or formula.coordinates not in ("distance", "product", "cosine"):
        raise ValueError(
            f"{kernel!r} is not among the kernels that a graph of ONNX is made of: those with the "
            f"profiles {sorted(PROFILES)} of a distance, a product or a cosine (Matern with ν = "
            "1/2, 3/2 and 5/2)."
        )
    t = _coordinates(graph, formula, "X", Z)
    return graph.times(PROFILES[formula.profile](graph, t, formula.parameters), formula.factor)


@_kernel.register
def _sum(kernel: Sum, graph: Graph, Z: np.ndarray) -> str:
    return graph("Add", _kernel(kernel.left, graph, Z), _kernel(kernel.right, graph, Z))


@_kernel.register
def _product(kernel: Product, graph: Graph, Z: np.ndarray) -> str:
    return graph("Mul", _kernel(kernel.left, graph, Z), _kernel(kernel.right, graph, Z))


@_kernel.register
def _factor(kernel: Scaled, graph: Graph, Z: np.ndarray) -> str:
    return graph.times(_kernel(kernel.kernel, graph, Z), kernel.factor)


# --- answers ----------------------------------------------------------------------------------

Answers = Callable[[Graph], dict[str, tuple[list[int], str]]]


@singledispatch
def _answers(model: BaseEstimator) -> Answers:
    """A function that adds the outputs to a graph, and returns their shapes and kinds."""
    raise TypeError(
        f"model: {type(model).__name__} has no graph of ONNX: give SVC, NuSVC, SVR, NuSVR, "
        "KernelRidge, KernelRidgeClassifier, KernelLogisticRegression, GaussianProcessRegressor, "
        "KNeighborsClassifier or KNeighborsRegressor; of a pipeline its last step."
    )


def _values(found: KernelSum, graph: Graph) -> str:
    """The outputs of a `KernelSum`, (n, outputs)."""
    K = _kernel(found.kernel, graph, np.asarray(dense_rows(found.stored)))
    values = graph("MatMul", K, graph.constant(found.coef))
    return graph("Add", values, graph.constant(found.offset))


def _check_vectors(model: BaseEstimator, reads: Any) -> None:
    if not reads.coordinates:
        raise TypeError(
            f"{type(model).__name__} reads {reads.name}, and a graph of ONNX computes with vectors "
            "alone."
        )


@_answers.register(SVR)
@_answers.register(NuSVR)
@_answers.register(KernelRidge)
@_answers.register(KernelRidgeClassifier)
@_answers.register(GaussianProcessRegressor)
def _machine(model: Any) -> Answers:
    """Nodes for the answers of a kernel machine."""
    found = model.kernel_sum()
    _check_vectors(model, model.kernel_.reads)

    def regression(graph: Graph) -> dict[str, tuple[list[int], str]]:
        return _numbers(graph, _values(found, graph), found.coef.shape[1], model)

    def classes(graph: Graph) -> dict[str, tuple[list[int], str]]:
        return _labels(graph, _values(found, graph), model)

    return classes if is_classifier(model) else regression


@_answers.register
def _support_vectors(model: ManyClasses) -> Answers:
    """Nodes for the answers of a support vector machine, by votes of pairs."""
    if len(model.classes_) == 2 or model.multi_class != "ovo":
        return _machine(model)
    found, k = model.machine_sum(), len(model.classes_)
    _check_vectors(model, model.kernel_.reads)
    first, second = np.zeros((2, found.coef.shape[1], k))
    pairs = np.array(all_pairs(k))
    first[np.arange(len(pairs)), pairs[:, 0]] = second[np.arange(len(pairs)), pairs[:, 1]] = 1

    def votes(graph: Graph) -> dict[str, tuple[list[int], str]]:
        values = _values(found, graph)
        won = graph("Cast", graph("GreaterOrEqual", values, graph.constant(0.0)), to=_code(graph))
        lost = graph.plus(graph.times(won, -1.0), 1.0)
        counts = graph(
            "Add",
            graph("MatMul", won, graph.constant(first)),
            graph("MatMul", lost, graph.constant(second)),
        )
        sums = graph("MatMul", values, graph.constant(first - second))
        below = graph.times(graph.plus(graph("Abs", sums), 1.0), 3.0)
        scores = graph("Add", counts, graph("Div", sums, below))
        ordered = values if model.decision_function_shape == "ovo" else scores
        width = len(pairs) if model.decision_function_shape == "ovo" else k
        graph("Identity", ordered, name="scores")
        best = graph("ArgMax", scores if model.break_ties else counts, axis=1, keepdims=0)
        return _named(graph, best, model.classes_) | {"scores": ([width], "f")}

    return votes


@_answers.register
def _logistic(model: KernelLogisticRegression) -> Answers:
    """Nodes for classes and probabilities of logistic regression."""
    found = model.kernel_sum()
    _check_vectors(model, model.kernel_.reads)

    def chances(graph: Graph) -> dict[str, tuple[list[int], str]]:
        f = _values(found, graph)
        if found.coef.shape[1] == 1:
            f = graph("Concat", graph.times(f, 0.0), f, axis=1)
        graph("Softmax", f, axis=1, name="scores")
        best = graph("ArgMax", f, axis=1, keepdims=0)
        return _named(graph, best, model.classes_) | {"scores": ([len(model.classes_)], "f")}

    return chances


@_answers.register(KNeighborsClassifier)
@_answers.register(KNeighborsRegressor)
def _neighbours(model: Any) -> Answers:
    """Nodes for the answers of the nearest neighbours."""
    metric = model.distance_
    _check_vectors(model, metric.reads)
    norm = metric.norm
    if norm is None or model.weights not in ("uniform", "distance") or not model.n_neighbors_:
        raise ValueError(
            f"metric={metric!r}, weights={model.weights!r}, n_neighbors={model.n_neighbors!r}: a "
            'graph of ONNX has neighbours by a Minkowski distance, weights "uniform" or '
            '"distance", and a number of neighbours.'
        )
    _refuse_several(model)
    targets, k = model.stored_targets(), int(model.n_neighbors_)
    Z = np.asarray(dense_rows(model.X_fit_), np.float64)
    formula = Formula("identity", {}, "distance", norm.p, norm.linear_map)

    def answers(graph: Graph) -> dict[str, tuple[list[int], str]]:
        D = _distances(graph, formula, "X", Z)
        near, places = (f"near_{i}" for i in range(2))
        node = graph.onnx.helper.make_node(
            "TopK", [D, graph.constant(np.array([k]))], [near, places], axis=1, largest=0, sorted=1
        )
        graph.nodes.append(node)
        rows = graph(
            "Gather", graph.constant(targets.astype(np.float64)), places
        )  # (n, k, columns)
        if model.weights == "distance":
            W = _inverse(graph, graph.power(near, 1 / float(norm.p)))
            rows = graph("Mul", rows, graph("Unsqueeze", W, graph.constant(np.array([2]))))
            whole = graph.total(W, 1, keep=True)
        else:
            whole = graph.constant(float(k))
        sums = graph.total(rows, 1)
        if not is_classifier(model):
            return _numbers(graph, graph("Div", sums, whole), targets.shape[1], model)
        graph("Div", sums, graph.total(sums, 1, keep=True), name="scores")
        best = graph("ArgMax", sums, axis=1, keepdims=0)
        return _named(graph, best, model.classes_) | {"scores": ([len(model.classes_)], "f")}

    return answers


def _inverse(graph: Graph, distances: str) -> str:
    """1 / ρ in units of the nearest; rows at distance 0 leave nothing to the others."""
    zero = graph.constant(0.0)
    none = graph("Cast", graph("Equal", distances, zero), to=_code(graph))
    nearest = graph("ReduceMin", distances, graph.constant(np.array([1])), keepdims=1)
    shares = graph("Div", nearest, graph("Max", distances, graph.constant(_tiny(graph))))
    return graph("Where", graph("Greater", nearest, zero), shares, none)


def _tiny(graph: Graph) -> float:
    return float(np.finfo(graph.dtype).tiny)


def _code(graph: Graph) -> int:
    """The type of the graph's numbers, as ONNX numbers it."""
    return graph.onnx.helper.np_dtype_to_tensor_dtype(graph.dtype)


def _numbers(graph: Graph, f: str, outputs: int, model: Any) -> dict[str, tuple[list[int], str]]:
    """The output of a regressor, which has the shape of its predictions."""
    flat = model.predict(model.X_fit_[:1]).ndim == 1
    if flat:
        graph("Squeeze", f, graph.constant(np.array([1])), name="variable")
    else:
        graph("Identity", f, name="variable")
    return {"variable": ([] if flat else [outputs], "f")}


def _labels(graph: Graph, f: str, model: Any) -> dict[str, tuple[list[int], str]]:
    """The outputs of a classifier by decision values, one for two classes, or one for each."""
    _refuse_several(model)
    k = len(model.classes_)
    if k == 2:
        graph("Squeeze", f, graph.constant(np.array([1])), name="scores")
        positive = graph("Greater", "scores", graph.constant(0.0))
        best = graph("Cast", positive, to=graph.onnx.TensorProto.INT64)
    else:
        graph("Identity", f, name="scores")
        best = graph("ArgMax", f, axis=1, keepdims=0)
    return _named(graph, best, model.classes_) | {"scores": ([] if k == 2 else [k], "f")}


def _refuse_several(model: Any) -> None:
    if is_classifier(model) and model.predict(model.X_fit_[:1]).ndim == 2:
        raise ValueError("several labels for each row have no graph of ONNX: fit a model to each.")


def _named(graph: Graph, best: str, classes: np.ndarray) -> dict[str, tuple[list[int], str]]:
    """The output "label", of whole numbers, or of texts."""
    classes = np.asarray(classes)
    if classes.dtype.kind not in "iubU":
        texts = all(isinstance(each, str) for each in classes.tolist())
        if not texts:
            raise ValueError(
                f"classes_={classes!r}: labels of ONNX are whole numbers or texts: fit to these."
            )
        classes = classes.astype(str)
    if classes.dtype.kind == "u" and classes.max() > np.iinfo(np.int64).max:
        raise ValueError(
            f"classes_={classes!r}: whole numbers of ONNX are below 2**63, and {classes.max()} is "
            "not: fit to smaller ones, or to texts."
        )
    graph("Gather", graph.constant(classes), best, name="label")
    return {"label": ([], classes.dtype.kind)}
