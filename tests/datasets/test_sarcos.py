import numpy as np
import pytest
from scipy.io import savemat

from kernelhood.datasets import DataFileError, load_sarcos

HEADER = ",".join(map(str, range(28))) + "\n"


def rows(first, last):
    """Return rows whose every cell tells its row and column."""
    return np.arange(first, last)[:, None] + np.arange(28) / 100


def write_csv(path, data):
    path.write_text(HEADER + "".join(",".join(map(str, row)) + "\n" for row in data.tolist()))


@pytest.fixture
def sarcos(folder):
    folder = folder("sarcos")
    savemat(folder / "sarcos_inv_test.mat", {"sarcos_inv_test": rows(0, 10)})
    write_csv(folder / "train_rows_a.csv", rows(8, 14))
    write_csv(folder / "train_rows_b.csv", rows(13, 20))
    return folder


@pytest.fixture
def home(sarcos):
    return sarcos.parent


def test_parts_are_joined_without_doubles(home):
    data = load_sarcos(home, n_samples=None, wide=True)
    np.testing.assert_array_equal(data.X, rows(0, 20)[:, :21])
    np.testing.assert_array_equal(data.y, rows(0, 20)[:, 21:])
    np.testing.assert_array_equal(data.sample_id, np.arange(20))
    assert data.task is None


def test_long_form_repeats_the_inputs_for_each_torque(home):
    wide = load_sarcos(home, n_samples=6, random_state=0, wide=True)
    long = load_sarcos(home, n_samples=6, random_state=0)
    assert long.X.shape == (42, 21)
    for column, name in enumerate(long.task_names):
        mine = long.task == name
        np.testing.assert_array_equal(long.X[mine], wide.X)
        np.testing.assert_array_equal(long.y[mine], wide.y[:, column])
        np.testing.assert_array_equal(long.sample_id[mine], wide.sample_id)


def test_wide_frame_names_the_torques(home):
    pytest.importorskip("pandas")
    data = load_sarcos(home, n_samples=None, wide=True, as_frame=True)
    assert list(data.y.columns) == data.task_names
    assert data.task is None


def test_draw_follows_the_seed(home):
    draws = [
        tuple(load_sarcos(home, n_samples=5, random_state=seed, wide=True).sample_id)
        for seed in (0, 0, 1)
    ]
    assert draws[0] == draws[1] != draws[2]
    assert len(set(draws[0])) == 5


def test_scale_standardises_inputs_only(home):
    raw = load_sarcos(home, n_samples=None, wide=True)
    data = load_sarcos(home, n_samples=None, wide=True, scale=True)
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), 1)
    np.testing.assert_array_equal(data.y, raw.y)


def test_official_file_is_used_alone(home, sarcos):
    savemat(sarcos / "sarcos_inv.mat", {"sarcos_inv": rows(100, 130)})
    data = load_sarcos(home, n_samples=None, wide=True)
    np.testing.assert_array_equal(data.X, rows(100, 130)[:, :21])


def test_too_many_samples(home):
    with pytest.raises(ValueError, match="n_samples=2000, but the files hold 20 rows"):
        load_sarcos(home)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEADER + "1,2,3\n", r"train_rows_a\.csv, line 2: 28 columns expected, 3 found"),
        (HEADER + ",".join(["x"] * 28) + "\n", r"train_rows_a\.csv, line 2: 'x' is not a finite"),
        (",".join(["1.5"] * 28) + "\n", r"train_rows_a\.csv, line 1: the header"),
    ],
)
def test_damaged_csv_names_the_line(home, sarcos, text, problem):
    (sarcos / "train_rows_a.csv").write_text(text)
    with pytest.raises(DataFileError, match=problem):
        load_sarcos(home)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (np.ones((5, 27)), r"has shape \(5, 27\), not \(n, 28\)"),
        (np.where(rows(0, 5) == 3, np.nan, rows(0, 5)), "row 4 holds"),
    ],
)
def test_damaged_mat(home, sarcos, data, problem):
    savemat(sarcos / "sarcos_inv_test.mat", {"sarcos_inv_test": data})
    with pytest.raises(DataFileError, match=problem):
        load_sarcos(home)


def test_published_counts(real_home):
    data = load_sarcos(real_home, random_state=0)
    assert data.X.shape == (14_000, 21)
    assert data.task_names == [f"torque {number}" for number in range(1, 8)]
    assert len(set(data.sample_id)) == 2_000
    wide = load_sarcos(real_home, n_samples=None, wide=True)
    if (real_home / "sarcos" / "sarcos_inv.mat").exists():
        pytest.skip("the official file is here: its parts are not read")
    assert wide.y.shape == (7_684, 7)
    # The first rows are the official test file, whose means are published.
    published = [13.69, -24.35, 11.36, 27.48, -0.79, -0.78, 4.16]
    np.testing.assert_allclose(wide.y[:4_449].mean(axis=0), published, atol=0.006)
