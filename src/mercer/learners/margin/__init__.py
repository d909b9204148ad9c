"""Support vector machines: SVC, SVR, NuSVC, NuSVR, OneClassSVM, LinearSVC, LinearSVR, quantiles."""

from mercer.learners.margin.linear_svc import LinearSVC
from mercer.learners.margin.svc import SVC

__all__ = ["SVC", "LinearSVC"]
