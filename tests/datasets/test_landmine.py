import numpy as np
import pytest
from scipy.io import savemat
from tiny_files import cells, write_landmine

from kernelhood.datasets import DataFileError, load_landmine


@pytest.fixture
def path(folder):
    path = folder("landmine") / "LandmineData.mat"
    write_landmine(path)
    return path


@pytest.fixture
def home(path):
    return path.parents[1]


def test_full_data_keeps_every_row_of_every_cell(home):
    data = load_landmine(home, balanced=False)
    assert data.task_names == ["field 1", "field 2", "field 3"]
    assert [(data.task == name).sum() for name in data.task_names] == [10, 12, 5]
    assert [data.y[data.task == name].sum() for name in data.task_names] == [2, 3, 4]
    np.testing.assert_array_equal(data.X[data.task == "field 2"][:, 0], 100 + np.arange(12))
    np.testing.assert_array_equal(data.sample_id, np.arange(27))
    assert len(data.feature_names) == 9


def test_balanced_keeps_all_positives_and_as_many_negatives(home):
    full, data = load_landmine(home, balanced=False), load_landmine(home, random_state=0)
    for name, n_positive, n_negative in [("field 1", 2, 2), ("field 2", 3, 3), ("field 3", 4, 1)]:
        y = data.y[data.task == name]
        assert (y == 1).sum() == n_positive
        assert (y == 0).sum() == n_negative
    np.testing.assert_array_equal(data.X, full.X[data.sample_id])
    np.testing.assert_array_equal(data.y, full.y[data.sample_id])
    np.testing.assert_array_equal(data.task, full.task[data.sample_id])
    assert len(set(data.sample_id)) == len(data.sample_id)


def test_draw_follows_the_seed(home):
    draws = [tuple(load_landmine(home, random_state=seed).sample_id) for seed in (0, 0, 1, 2, 3)]
    assert draws[0] == draws[1]
    assert len(set(draws)) > 1
    fresh = {tuple(load_landmine(home).sample_id) for _ in range(10)}
    assert len(fresh) > 1


X, Y = np.ones((4, 9)), np.array([[0], [1], [0], [1]], dtype=np.uint8)


@pytest.mark.parametrize(
    ("feature", "label", "problem"),
    [
        (cells([X, X[:, :8]]), cells([Y, Y]), "cell 2 of 'feature' has shape"),
        (cells([X, X]), cells([Y, Y[:3]]), "cell 2 of 'label' has shape"),
        (cells([X, X]), cells([Y]), "2 cells of 'feature', 1 of 'label'"),
        (cells([X * np.nan]), cells([Y]), "cell 1 of 'feature' .* not finite"),
        (cells([X]), cells([Y * 2]), "cell 1 of 'label' .* other than 0 and 1"),
        (X, Y, "'feature' is not a row of cells"),
    ],
)
def test_wrong_structure_names_file_and_cell(path, home, feature, label, problem):
    savemat(path, {"feature": feature, "label": label})
    with pytest.raises(DataFileError, match=problem) as caught:
        load_landmine(home)
    assert str(path) in str(caught.value)


def test_published_counts(real_home):
    data = load_landmine(real_home, balanced=False)
    assert len(data.task_names) == 29
    assert data.X.shape == (14_820, 9)
    assert data.y.sum() == 904
    sizes = [(data.task == name).sum() for name in data.task_names]
    assert (sizes[0], sizes[28], min(sizes), max(sizes)) == (690, 449, 445, 690)
    foliage = np.isin(data.task, data.task_names[:15])
    assert (foliage.sum(), data.y[foliage].sum()) == (8_535, 446)
    grounds = [data.task_groups[name] for name in data.task_names]
    assert grounds == ["foliated"] * 15 + ["bare"] * 14
    balanced = load_landmine(real_home, random_state=0)
    assert (len(balanced.y), balanced.y.sum()) == (1_808, 904)
