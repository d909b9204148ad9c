"""Support vector machines: SVC, SVR, NuSVC, NuSVR, OneClassSVM, LinearSVC, LinearSVR, quantiles."""

from mercer.learners.margin.linear_machines import LinearSVC
from mercer.learners.margin.many_classes import ManyClasses
from mercer.learners.margin.svc import SVC
from mercer.learners.margin.svr import SVR, NuSVR

__all__ = ["SVC", "SVR", "LinearSVC", "ManyClasses", "NuSVR"]
