"""The SVM of dense or evaluated kernels: pair steps, and an interior point where they stall."""
