"""Which types a model file may name: those that are known to be safe, this library's own classes,
and the classes of other packages that the user names in ``trusted=``.

The module of such a class is imported because the user names it, never because a file does.
Imports while a file is read or written are of what is installed, never from the current folder:
Python looks for a module there first, in most ways in which it is started. Whoever loads a file
does not expect that a ``pickle.py`` or ``numpydoc.py`` beside it is run. skops, which reads and
writes model files, is imported so when it is first needed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from inspect import isabstract
from threading import RLock, get_ident
from types import BuiltinFunctionType, FunctionType
from typing import Any

from mercer.persistence.own_objects import own_class
from mercer.persistence.schema import JUDGED
from mercer.persistence.values import VALUES, register_values

#: what skops asks for to write its models, which Mercer's files never hold
UNREAD = {"quantile_forest"}
#: whose folders stay searched, even where one is the current folder (as on some servers)
PACKAGES = ("mercer", "numpy", "scipy", "sklearn")


class _Finder:
    """What Python asks for a module before all others; it answers in `installed_only` alone."""

    def __init__(self) -> None:
        self.here = threading.local()  # other threads import what they like

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if path is not None or not getattr(self.here, "depth", 0):
            return None  # a part of a package is searched in the package
        others: list[Any] = [finder for finder in sys.meta_path if finder is not self]
        for finder in others if name not in UNREAD else ():
            folders = installed_folders() if finder is PathFinder else None
            spec = finder.find_spec(name, folders, target)
            if spec is not None:
                return spec
        raise ModuleNotFoundError(f"No module named {name!r} is installed", name=name)


FINDER = _Finder()


@contextmanager
def installed_only() -> Iterator[None]:
    """In this thread, find no module in the current folder, nor in one that is named from there."""
    if sys.meta_path[0] is not FINDER:  # a new list, because other threads may walk through the old
        sys.meta_path = [FINDER, *(finder for finder in sys.meta_path if finder is not FINDER)]
    here = FINDER.here
    here.depth = getattr(here, "depth", 0) + 1
    try:
        yield
    finally:
        here.depth -= 1


def installed_folders() -> list[str]:
    """The entries of ``sys.path`` that are whole paths of folders other than the current one."""
    files = [getattr(sys.modules.get(name), "__file__", None) for name in PACKAGES]
    folders = {os.path.dirname(os.path.dirname(os.path.realpath(file))) for file in files if file}
    refused = {os.path.realpath(os.curdir)} - folders
    return [
        entry
        for entry in sys.path
        if isinstance(entry, str) and os.path.isabs(entry)
        if os.path.realpath(entry) not in refused
    ]


LOCK = RLock()
#: packages whose functions in compiled code do not say where they are from
SILENT = ("numpy", "scipy")


def skops_io() -> Any:
    """The module `skops.io`.

    To know all estimators, skops would import the whole of scikit-learn, and all that this tries to
    import. Here it learns of none: `mercer.persistence.trust` knows them by name.
    """
    with LOCK, installed_only():
        if "skops.io" not in sys.modules:
            _import_skops()
        import skops.io

        register_values()
    return skops.io


def _import_skops() -> None:
    """Import skops without the import of all of scikit-learn that it would start."""
    import sklearn.utils

    importing, all_estimators = get_ident(), sklearn.utils.all_estimators

    def none_of_them(*args: Any, **kwargs: Any) -> list:
        if get_ident() != importing:
            return all_estimators(*args, **kwargs)
        # skops asks for functions next
        sys.modules["skops.io._utils"].whichmodule = module_of  # type: ignore[attr-defined]
        return []

    sklearn.utils.all_estimators = none_of_them
    try:
        import skops.io  # noqa: F401
    finally:
        sklearn.utils.all_estimators = all_estimators


def module_of(found: Any, name: str) -> str:
    """The module that a class or a function belongs to.

    skops asks every module that is loaded, and those that import their parts when they are asked
    for would import what has the name.
    """
    module = getattr(found, "__module__", None)
    if module is not None:
        return module
    for module, content in sys.modules.copy().items():
        known = module.partition(".")[0] in SILENT and content is not None
        if known and vars(content).get(name) is found:
            return module
    return "__main__"


# skops does not know these by itself. They are data: their objects are made by taking attributes
# as they are, and run no code but their own.
ALSO_TRUSTED = {
    "builtins.frozenset",
    "numpy.dtype",
    "numpy.number",  # in make_column_selector(dtype_include=np.number)
    "scipy.sparse._csr.csr_array",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._MultimetricScorer",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split._CVIterableWrapper",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
}
# Public names that may stand in a search: how it splits rows, and functions that make numbers of
# arrays. Not trusted: distributions of scipy, which write programs of their attributes; and
# splines, whose compiled code believes what the attributes say about memory.
PUBLIC = {
    "sklearn.model_selection": (
        "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut LeavePGroupsOut LeavePOut "
        "PredefinedSplit RepeatedKFold RepeatedStratifiedKFold ShuffleSplit StratifiedGroupKFold "
        "StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit"
    ),
    "sklearn.metrics": (
        "accuracy_score average_precision_score balanced_accuracy_score brier_score_loss "
        "d2_absolute_error_score d2_brier_score d2_log_loss_score d2_pinball_score "
        "explained_variance_score f1_score fbeta_score jaccard_score log_loss matthews_corrcoef "
        "max_error mean_absolute_error mean_absolute_percentage_error mean_gamma_deviance "
        "mean_pinball_loss mean_poisson_deviance mean_squared_error mean_squared_log_error "
        "median_absolute_error precision_score r2_score recall_score roc_auc_score "
        "root_mean_squared_error root_mean_squared_log_error top_k_accuracy_score"
    ),
    "sklearn.feature_selection": (
        "chi2 f_classif f_regression mutual_info_classif mutual_info_regression r_regression"
    ),
}
# Modules of scikit-learn in which its public estimators are. A model may hold them all; their parts
# are judged one by one, so that a forest, whose trees are not trusted, is refused all the same.
ESTIMATORS = (
    "calibration cluster compose covariance cross_decomposition decomposition "
    "discriminant_analysis dummy ensemble feature_extraction feature_extraction.image "
    "feature_extraction.text feature_selection frozen gaussian_process impute isotonic "
    "kernel_approximation kernel_ridge linear_model manifold mixture model_selection multiclass "
    "multioutput naive_bayes neighbors neural_network pipeline preprocessing random_projection "
    "semi_supervised svm tree"
)
FUNCTIONS = (FunctionType, BuiltinFunctionType)


def sorted_types(content: bytes) -> tuple[list[str], list[str]]:
    """Names in a skops archive that skops does not trust: those that are safe, and others.

    `mercer.persistence.schema` has looked by then which of them are made in which way.
    """
    names = skops_io().get_untrusted_types(data=content)
    safe = [name for name in names if own_class(name) or is_known(name)]
    return safe, [name for name in names if name not in safe]


def is_known(name: str) -> bool:
    """Whether a dotted name is that of data, of a pure function or of an estimator, of numpy or
    scikit-learn."""
    module, _, attribute = name.rpartition(".")
    if name in ALSO_TRUSTED or name in VALUES:
        return True
    for package, names in PUBLIC.items():
        if module.startswith(f"{package}.") and attribute in names.split():
            found = getattr(import_module(package), attribute, None)
            return getattr(found, "__module__", None) == module
    return _is_estimator(module, attribute)


def _is_estimator(module: str, name: str) -> bool:
    """Whether a public module of scikit-learn shows an estimator that a module defines."""
    public = module.partition("._")[0]
    package, _, part = public.partition(".")
    if package != "sklearn" or part not in ESTIMATORS.split() or name.startswith("_"):
        return False
    from sklearn.base import BaseEstimator  # it is imported by then

    try:
        found = getattr(import_module(public), name, None)
    except ImportError:  # an older scikit-learn, or an estimator that is said to be experimental
        return False
    estimator = isinstance(found, type) and issubclass(found, BaseEstimator)
    return estimator and found.__module__ == module and not isabstract(found)


def may_be_trusted(name: str) -> bool:
    """Whether a name may be that of a class of another package; nothing is imported."""
    module = name.rpartition(".")[0]
    dotted = all(part.isidentifier() for part in name.split("."))
    return bool(module) and dotted and module.split(".")[0] not in JUDGED


def why_unloadable(name: str) -> str:
    """Why no user could load the class with this name in a model; empty where one could."""
    module, _, attribute = name.rpartition(".")
    found = getattr(sys.modules.get(module), attribute, None)
    if attribute.startswith("<") or isinstance(found, FUNCTIONS):
        return "a function"
    if module.split(".")[0] in JUDGED:
        return "not one of the types that are known to be safe"
    return "" if _home(found) == name else "not defined at the top level of a module"


def _home(found: object) -> str | None:
    """module.Name of a class that can be reached by it; None for everything else."""
    if not isinstance(found, type):
        return None
    module = sys.modules.get(found.__module__)
    reachable = getattr(module, found.__qualname__, None) is found
    return f"{found.__module__}.{found.__qualname__}" if reachable else None


def trusted_names(trusted: Any) -> list[str]:
    """The names that files have for the classes that the user trusts, which may be names too.

    Raises
    ------
    TypeError, ValueError
        The reasons are those of `mercer.load`.
    """
    if isinstance(trusted, (str, bytes, type)) or not isinstance(trusted, Iterable):
        example = trusted if isinstance(trusted, str) else "their.module.Kernel"
        raise TypeError(
            f"trusted={trusted!r}: give a list of classes or of their names, such as "
            f"trusted=[{example!r}]."
        )
    return [_trusted_name(entry) for entry in trusted]


def _trusted_name(entry: object) -> str:
    """The full name of a class that a user trusts, after a check that it may be trusted."""
    found = _imported(entry) if isinstance(entry, str) else entry
    if not isinstance(found, type):
        raise TypeError(
            f"trusted has {entry!r}, which is of type {type(found).__name__}, not a class: give "
            'classes or their names, such as "their.module.Kernel". A file that needs a function '
            "cannot be loaded."
        )
    name = _home(found)
    if name is None:
        raise ValueError(
            f"trusted has {entry!r}, which is not defined at the top level of a module: files "
            "cannot hold its objects. Move the class there, and save the model again."
        )
    if not (may_be_trusted(name) or name.startswith("mercer.")):
        raise ValueError(
            f"trusted has {entry!r}, which belongs to {name.split('.')[0]!r}: the types of that "
            "package that are safe to load are loaded without being named, and the others are "
            "never loaded. Give classes of other packages only."
        )
    return name


def _imported(name: str) -> Any:
    """The object with a dotted name that the user gave."""
    module, _, attribute = name.rpartition(".")
    if not module or not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(
            f"trusted has {name!r}: give the whole dotted name of a class, such as "
            '"their.module.Kernel".'
        )
    try:
        return getattr(import_module(module), attribute)
    except Exception as error:  # importing runs their code, which may raise anything
        raise ValueError(
            f"trusted has {name!r}, which cannot be imported: {error}. Install the package that "
            "defines the class, or put its folder on sys.path; a class of a program that was run "
            "(__main__) has to be defined in this program too, or moved to a module."
        ) from error
