"""Banks that are fitted to the inputs: which kernels they hold, and what they see of a row."""

import numpy as np
import pytest
from scipy import sparse

import kernelhood as kh
from kernelhood.kernels import InputSummary


def fitted(X, bank=None, **known):
    weight = known.pop("weight", np.ones(X.shape[0]))
    return (bank or kh.AutoBank()).fitted(InputSummary.of(X, weight, **known))


@pytest.fixture
def points(rng):
    return rng.normal(size=(40, 3)) * [1.0, 5.0, 0.1] + [0.0, 2.0, -3.0]


def test_names_tell_columns_and_multiples_of_the_median_distance(points):
    bank = fitted(points, kh.AutoBank({"size": ["b", "c"]}), names=["a", "b", "c"])
    assert bank.names == [
        "linear",
        "quadratic",
        *(f"gaussian({spread})" for spread in ("0.5", "1", "2")),
        "linear[size]",
        *(f"gaussian({spread})[size]" for spread in ("0.5", "1", "2")),
        *(f"gaussian({spread})[{name}]" for name in "abc" for spread in ("0.5", "2")),
    ]
    assert bank[5:7].names == ["linear[size]", "gaussian(0.5)[size]"]


def test_kernels_are_those_of_standardised_columns(points):
    Z = (points - points.mean(axis=0)) / points.std(axis=0)
    bank, new = fitted(points), points[:5] + 0.1
    Z_new = (new - points.mean(axis=0)) / points.std(axis=0)
    stack = dict(zip(bank.names, bank(new, points), strict=True))
    np.testing.assert_allclose(stack["linear"], Z_new @ Z.T / 3.0, atol=1e-12)
    np.testing.assert_allclose(stack["quadratic"], (Z_new @ Z.T / 3.0 + 1.0) ** 2, atol=1e-12)
    apart = np.abs(Z[:, 1, None] - Z[:, 1])
    median = np.median(apart[np.triu_indices(40, 1)])
    expected = np.exp(-((Z_new[:, 1, None] - Z[:, 1]) ** 2) / (2.0 * (0.5 * median) ** 2))
    np.testing.assert_allclose(stack["gaussian(0.5)[1]"], expected, atol=1e-12)
    assert np.median(stack["gaussian(1)"]) == pytest.approx(np.exp(-0.5), abs=0.1)


def test_units_offsets_and_single_precision_change_nothing(points):
    stack = fitted(points)(points)
    np.testing.assert_allclose(fitted(1e4 * points + 1e6)(1e4 * points + 1e6), stack, atol=1e-9)
    rounded = points.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(fitted(rounded)(rounded), stack, atol=1e-5)


def test_a_row_of_weight_two_is_a_row_given_twice_in_any_order(points, rng):
    weight = rng.integers(1, 4, size=40)
    order = rng.permutation(np.repeat(np.arange(40), weight))
    np.testing.assert_allclose(
        fitted(points[order])(points),
        fitted(points, weight=weight.astype(float))(points),
        atol=1e-12,
    )


def test_constant_and_repeated_columns_are_left_out(points):
    wide = np.column_stack(
        [points, np.full(40, 1e6 / 3.0), 2.0 - 3.0 * points[:, 0], points[:, 1] > 2.0]
    )
    names = fitted(wide).names
    assert [name for name in names if "[3]" in name or "[4]" in name] == []
    assert [name for name in names if "[5]" in name] == ["gaussian(0.5)[5]"]
    assert fitted(points[:, :1]).names == fitted(points, kh.AutoBank(single_columns=False)).names
    assert fitted(np.ones((4, 2))).names == ["constant"]


def test_the_cap_keeps_the_columns_that_are_least_alike(rng):
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 8)) + 1e-3 * rng.normal(size=(100, 8))
    X = np.column_stack([X, rng.normal(size=100)])
    assert len(fitted(X, kh.AutoBank(max_kernels=14))) == 14
    bank = fitted(X, kh.AutoBank(max_kernels=8))
    assert len(bank) == 8
    assert "gaussian(0.5)[8]" in bank.names
    assert fitted(X, kh.AutoBank(max_kernels=3)).names == ["linear", "quadratic", "gaussian(0.5)"]


def test_a_sparse_matrix_is_scaled_and_stays_sparse(rng):
    X = sparse.random(50, 30, density=0.2, format="csr", random_state=0).tolil()
    X[:45, 3] = 5.0 + 0.1 * rng.normal(size=(45, 1))  # 0 is not its usual value
    X = X.tocsr()
    bank = fitted(X)
    assert bank.names == fitted(X, kh.AutoBank(single_columns=False)).names
    assert sparse.issparse(bank.prepared(X))
    dense = X.toarray()
    sizes = [size_of(column) if k != 3 else column.std() for k, column in enumerate(dense.T)]
    scaled = dense / np.array(sizes)
    scaled /= np.sqrt(np.sum(scaled.var(axis=0)))
    np.testing.assert_allclose(bank(X)[0], scaled @ scaled.T, atol=1e-12)
    np.testing.assert_allclose(bank(dense), bank(X), atol=1e-12)


def size_of(column, usual=0.0):
    """What a column is divided by in which most values are one."""
    others = column[column != usual]
    return max(column.std(), 0.5 * np.sqrt(np.mean((others - usual) ** 2)))


@pytest.fixture
def words(rng):
    """Counts of words, most of them rare, in texts of many lengths."""
    often = np.geomspace(0.02, 1.5, 24)
    return rng.poisson(np.exp(rng.normal(size=(60, 1))) * often).astype(float)


def test_a_column_that_mostly_has_one_value_counts_by_how_often_it_has_not(words):
    X = words[:, 12:] + 3.0  # the usual value is 3
    expected = [size_of(column, 3.0) for column in X.T]
    known = InputSummary.of(X, np.ones(60))
    assert np.sum(known.size > known.scale) >= 3
    np.testing.assert_allclose(known.size, np.where(known.size > known.scale, expected, X.std(0)))
    rare, even = np.repeat([0.0, 1.0], [57, 3]), np.repeat([0.0, 1.0], [30, 30])
    both = InputSummary.of(np.column_stack([rare, even, 1e200 * rare]), np.ones(60))
    np.testing.assert_allclose(both.size, [0.5, 0.5, 0.5e200])
    holes = np.where(np.arange(60) % 7 == 3, np.nan, rare)
    known = InputSummary.of(holes[:, None], np.ones(60))
    assert known.size[0] == pytest.approx(size_of(holes[~np.isnan(holes)]))


def test_words_have_kernels_of_their_directions_and_rare_ones_none_of_their_own(words):
    bank = fitted(words)
    rare = InputSummary.of(words, np.ones(60))
    rare = np.flatnonzero(rare.size > 1.000001 * rare.scale)
    assert 12 < len(rare) < 24
    assert [name for name in bank.names if "directions" in name] == [
        "linear[directions]",
        "quadratic[directions]",
        *(f"gaussian({spread})[directions]" for spread in ("0.5", "1", "2")),
    ]
    assert {f"gaussian(0.5)[{column}]" for column in range(24)} & set(bank.names) == {
        f"gaussian(0.5)[{column}]" for column in range(24) if column not in rare
    }
    assert not any("directions" in name for name in fitted(words[:, :12]).names)
    assert not any("directions" in name for name in fitted(words + 0.01 * np.cos(
        np.arange(60 * 24)).reshape(60, 24)).names)  # fmt: skip


def test_directions_are_those_of_the_centred_rows(words):
    bank = fitted(words)
    Z = bank.prepared(words)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    Z /= np.linalg.norm(Z, axis=1)[:, None]
    stack = dict(zip(bank.names, bank(words), strict=True))
    np.testing.assert_allclose(stack["linear[directions]"], Z @ Z.T, atol=1e-12)
    apart = np.linalg.norm(Z[:, None] - Z, axis=2)
    once = np.unique(words, axis=0, return_index=True)[1]
    among = apart[np.ix_(once, once)][np.triu_indices(len(once), 1)]
    expected = np.exp(-0.5 * (apart / np.median(among)) ** 2)
    np.testing.assert_allclose(stack["gaussian(1)[directions]"], expected, atol=1e-10)


def test_units_and_offsets_of_words_change_nothing_either(words, rng):
    stack, scale = fitted(words)(words), 2.0 ** rng.integers(-9, 9, size=24)
    other = words * scale + 2.0**12
    np.testing.assert_allclose(fitted(other)(other), stack, atol=1e-9)
    weight = rng.integers(1, 4, size=60)
    order = rng.permutation(np.repeat(np.arange(60), weight))
    twice, weighted = fitted(words[order]), fitted(words, weight=weight.astype(float))
    assert twice.names == weighted.names
    np.testing.assert_allclose(twice(words)[:5], weighted(words)[:5], atol=1e-12)


def test_categories_are_equal_or_not_and_unknown_ones_equal_nothing(points):
    table = np.column_stack([points, np.arange(40) % 3])
    bank = fitted(table, coded=[3])
    at = bank.names.index("equality[3]")
    same = table[:, 3, None] == table[:, 3]
    np.testing.assert_array_equal(bank(table)[at], same)
    unknown = table[:4].copy()
    unknown[:, 3] = -1
    np.testing.assert_array_equal(bank(unknown, table)[at], 0.0)
    np.testing.assert_array_equal(bank(unknown)[at], 0.0)
    by_hand = fitted(table, kh.AutoBank(categorical=[3]))
    assert by_hand.names == bank.names
    np.testing.assert_array_equal(by_hand(table), bank(table))


def test_missing_values_are_means_with_a_kernel_of_their_own(points):
    holes, filled = points.copy(), points.copy()
    holes[::4, 1] = np.nan
    filled[::4, 1] = np.nanmean(holes[:, 1])
    bank = fitted(holes)
    at = bank.names.index("missing[1]")
    gone = np.arange(40) % 4 == 0
    np.testing.assert_array_equal(bank(holes)[at], gone[:, None] == gone)
    linear = bank(holes)[0]
    Z = (filled - filled.mean(axis=0)) / np.nanstd(holes, axis=0)
    np.testing.assert_allclose(linear, Z @ Z.T / 3.0, atol=1e-12)


def test_given_kernels_see_means_for_missing_values(points):
    holes = points.copy()
    holes[3, 0] = np.nan
    bank = kh.KernelBank([kh.Linear(), kh.Gaussian(1.0, columns=[2])])
    known = InputSummary.of(holes, np.ones(40))
    found = bank.imputed(known)
    holes_filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    np.testing.assert_allclose(found(holes)[:2], bank(holes_filled), atol=1e-12)
    assert found.names[2] == "missing[0]"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"columns": ["a"]}, "must map a name"),
        ({"columns": {"a": []}}, "without columns"),
        ({"spreads": [0.0]}, "spreads of AutoBank"),
        ({"column_spreads": []}, "column_spreads of AutoBank"),
        ({"max_kernels": 0}, "max_kernels of AutoBank"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        kh.AutoBank(**settings)


@pytest.mark.parametrize("columns", [{"g": ["z"]}, {"g": [7]}])
def test_columns_that_do_not_exist_are_named(points, columns):
    with pytest.raises(ValueError, match="columns"):
        fitted(points, kh.AutoBank(columns), names=["a", "b", "c"])
