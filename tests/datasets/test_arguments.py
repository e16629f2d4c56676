import numpy as np
import pytest

from kernelhood.datasets import (
    load_digits_tasks,
    load_landmine,
    load_letter,
    load_load,
    load_sarcos,
    load_spam,
    make_multitask,
)

LOADERS = [load_landmine, load_letter, load_spam, load_sarcos, load_load]

BAD = [
    (load_landmine, {"balanced": "yes"}, TypeError),
    (load_letter, {"n_samples": 0}, ValueError),
    (load_letter, {"n_samples": 2.5}, TypeError),
    (load_letter, {"pairs": []}, ValueError),
    (load_letter, {"pairs": "c/e"}, TypeError),
    (load_letter, {"pairs": ["c/c"]}, ValueError),
    (load_letter, {"pairs": ["c/E"]}, ValueError),
    (load_letter, {"pairs": ["c"]}, ValueError),
    (load_letter, {"pairs": [("c", "e")]}, ValueError),
    (load_letter, {"pairs": ["c/e", "c/e"]}, ValueError),
    (load_digits_tasks, {"pairs": ["3/x"]}, ValueError),
    (load_digits_tasks, {"as_frame": None}, TypeError),
    (load_spam, {"counts": "words"}, ValueError),
    (load_spam, {"n_words": True}, TypeError),
    (load_spam, {"sparse_output": 1}, TypeError),
    (load_sarcos, {"scale": "standard"}, TypeError),
    (load_sarcos, {"n_samples": -1}, ValueError),
    (load_load, {"zones": [0]}, ValueError),
    (load_load, {"zones": [21]}, ValueError),
    (load_load, {"zones": 3}, TypeError),
    (load_load, {"zones": [1, 1]}, ValueError),
    (load_load, {"lags": 0}, ValueError),
    (load_load, {"lags": [0, 1]}, ValueError),
    (load_load, {"lags": [-1]}, ValueError),
    (load_load, {"lags": True}, TypeError),
    (load_load, {"lags": None}, TypeError),
    (load_load, {"calendar": ["decade"]}, ValueError),
    (load_load, {"calendar": None}, TypeError),
    (load_load, {"n_samples": "all"}, TypeError),
    (make_multitask, {"n_tasks": 0}, ValueError),
    (make_multitask, {"n_kernels_true": 10}, ValueError),
    (make_multitask, {"relatedness": 1.5}, ValueError),
    (make_multitask, {"relatedness": float("nan")}, ValueError),
    (make_multitask, {"relatedness": "high"}, TypeError),
    (make_multitask, {"noise": -0.1}, ValueError),
    (make_multitask, {"noise": float("inf")}, ValueError),
    (make_multitask, {"kind": "ranking"}, ValueError),
    (make_multitask, {"task_sizes": [5, 5]}, ValueError),
    (make_multitask, {"task_sizes": 5}, ValueError),
    (make_multitask, {"task_sizes": [5, 5, 5, 5, 1]}, ValueError),
    (make_multitask, {"n_samples": 1}, ValueError),
    (make_multitask, {"n_outliers": 6}, ValueError),
]


@pytest.mark.parametrize(("function", "arguments", "kind"), BAD)
def test_bad_argument_is_named_before_anything_is_read(function, arguments, kind, monkeypatch):
    # A home that does not exist: reading would end in a FileNotFoundError.
    monkeypatch.setenv("KERNELHOOD_DATA", "/nonexistent")
    with pytest.raises(kind, match=next(iter(arguments))):
        function(**arguments)


@pytest.mark.parametrize("loader", LOADERS)
def test_missing_file_names_path_and_command(loader, tmp_path):
    name = loader.__name__.removeprefix("load_")
    with pytest.raises(FileNotFoundError, match=f"kernelhood data fetch {name}") as caught:
        loader(tmp_path)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("arguments", [{"as_frame": 2}, {"random_state": "seed"}])
def test_common_arguments_are_checked_by_every_loader(loader, arguments):
    with pytest.raises((TypeError, ValueError)):
        loader("/nonexistent", **arguments)


def test_arrays_serve_as_sequences():
    digits = load_digits_tasks(pairs=np.array(["0/1", "2/3"]))
    assert digits.task_names == ["0/1", "2/3"]
