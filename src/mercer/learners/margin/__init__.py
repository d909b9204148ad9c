"""Support vector machines: SVC, SVR and NuSVC, NuSVR, OneClassSVM, LinearSVC, LinearSVR."""

from mercer.learners.margin.svc import SVC

__all__ = ["SVC"]
