"""Learners whose weights of many kernels are learnt: classification and regression."""
