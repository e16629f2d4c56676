"""The SVM with kernels of low rank: a linear SVM whose features are scaled by the weights."""

from kernelhood.solvers.low_rank.svm import low_rank_hessian, solve_low_rank_svm

__all__ = ["low_rank_hessian", "solve_low_rank_svm"]
