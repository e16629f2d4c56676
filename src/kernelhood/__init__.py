"""Multi-task learning with learned kernels."""
