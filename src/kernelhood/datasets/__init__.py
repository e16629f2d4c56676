"""The data sets of the paper, and tasks that need no download."""

from kernelhood.datasets._files import DataFileError, FetchError, check, fetch, get_data_home
from kernelhood.datasets.landmine import load_landmine
from kernelhood.datasets.letter import load_letter
from kernelhood.datasets.load import load_load
from kernelhood.datasets.sarcos import load_sarcos
from kernelhood.datasets.spam import load_spam
from kernelhood.datasets.synthetic import load_digits_tasks, make_multitask

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
