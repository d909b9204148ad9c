"""How alike: kernels on vectors, categories, strings, sets and tables, and their algebra."""

from mercer.kernels.algebra import Convex, Exponential, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel, Radial
from mercer.kernels.categories import Match
from mercer.kernels.dot import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.edit import EditRBF
from mercer.kernels.from_distance import FromDistance
from mercer.kernels.histograms import ChiSquared, HistogramIntersection
from mercer.kernels.mercer import MercerCheck, check_mercer, repair
from mercer.kernels.names import FromCallable, as_kernel
from mercer.kernels.query_key import QueryKey
from mercer.kernels.radial import (
    RBF,
    ExponentialPower,
    Laplacian,
    LpqLaplace,
    Matern,
    RationalQuadratic,
)
from mercer.kernels.sets import DerivedSubsets, Dice, Intersection, Jaccard
from mercer.kernels.subsets import ANOVA, AllSubsets
from mercer.kernels.tables import On, TableKernel
from mercer.kernels.transforms import Centred, Mapped, Modulated, Normalised

__all__ = [
    "ANOVA",
    "RBF",
    "AllSubsets",
    "Centred",
    "ChiSquared",
    "Convex",
    "Cosine",
    "DerivedSubsets",
    "Dice",
    "EditRBF",
    "Exponential",
    "ExponentialPower",
    "FromCallable",
    "FromDistance",
    "HistogramIntersection",
    "Intersection",
    "Jaccard",
    "Kernel",
    "Laplacian",
    "Linear",
    "LpqLaplace",
    "Mapped",
    "Match",
    "Matern",
    "MercerCheck",
    "Modulated",
    "Normalised",
    "On",
    "Polynomial",
    "Power",
    "Product",
    "QueryKey",
    "Radial",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Sum",
    "TableKernel",
    "as_kernel",
    "check_mercer",
    "repair",
]
