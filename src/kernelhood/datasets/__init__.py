"""The data sets of the paper, and tasks that need no download."""

from kernelhood.datasets._files import DataFileError, FetchError, check, fetch, get_data_home
from kernelhood.datasets.classification import (
    load_digits_tasks,
    load_landmine,
    load_letter,
    load_spam,
)
from kernelhood.datasets.regression import load_load, load_sarcos
from kernelhood.datasets.synthetic import make_multitask

__all__ = [
    "DataFileError",
    "FetchError",
    "check",
    "fetch",
    "get_data_home",
    "load_digits_tasks",
    "load_landmine",
    "load_letter",
    "load_load",
    "load_sarcos",
    "load_spam",
    "make_multitask",
]
