import numpy as np
import pytest
from scipy import sparse

from kernelhood.datasets import DataFileError, load_spam


def name_of(user):
    return f"task_b_u{user:02d}_eval_lab.tf"


@pytest.fixture
def spam(folder):
    """Write 15 inboxes: word 5 is in every mail, word 900 in every second, 7 in the first box."""
    folder = folder("spam_ecml2006")
    for user in range(15):
        rare = " 7:3" if user == 0 else ""
        text = f"1 5:{user + 1}{rare} 900:2\n-1 5:1\n"
        (folder / name_of(user)).write_text(text)
    return folder


@pytest.fixture
def home(spam):
    return spam.parent


def test_raw_counts_stand_in_the_columns_of_their_words(home):
    data = load_spam(home, counts="raw")
    assert data.feature_names == ["word 5", "word 7", "word 900"]
    assert data.X.shape == (30, 3)
    np.testing.assert_array_equal(data.X[:4], [[1, 3, 2], [1, 0, 0], [2, 0, 2], [1, 0, 0]])
    np.testing.assert_array_equal(data.y, [1, -1] * 15)
    assert data.task_names[0] == "user 00"
    assert list(data.task[:3]) == ["user 00", "user 00", "user 01"]
    np.testing.assert_array_equal(data.sample_id, np.arange(30))


def test_transforms_of_counts(home):
    raw = load_spam(home, counts="raw").X
    np.testing.assert_array_equal(load_spam(home).X, np.log1p(raw))
    np.testing.assert_array_equal(load_spam(home, counts="binary").X, raw > 0)


def test_lengths_and_rarity_can_be_taken_out(home):
    raw, log = (load_spam(home, counts=name).X for name in ("raw", "log"))
    relative = load_spam(home, counts="relative").X
    words = raw.sum(axis=1)
    np.testing.assert_allclose(relative.sum(axis=1), words > 0)
    np.testing.assert_allclose(relative * words[:, None], raw, atol=1e-12)
    weighted = log * np.log(len(raw) / (raw > 0).sum(axis=0))
    size = np.linalg.norm(weighted, axis=1, keepdims=True)
    expected = weighted / np.where(size > 0.0, size, 1.0)
    np.testing.assert_allclose(load_spam(home, counts="tfidf").X, expected, atol=1e-12)
    assert np.isfinite(expected).all()


def test_most_frequent_words_go_by_mails_not_by_counts(home, spam):
    (spam / name_of(3)).write_text("1 5:1 8:10000\n-1 5:1\n")
    assert load_spam(home, n_words=2).feature_names == ["word 5", "word 900"]
    # Words 7 and 8 are in one mail each: the smaller id comes first.
    assert load_spam(home, n_words=3).feature_names == ["word 5", "word 7", "word 900"]


def test_sparse_output_is_equal(home):
    matrix = load_spam(home, sparse_output=True).X
    assert sparse.issparse(matrix)
    assert matrix.format == "csr"
    np.testing.assert_array_equal(matrix.toarray(), load_spam(home).X)


def test_sparse_frame(home):
    pytest.importorskip("pandas")
    frame = load_spam(home, sparse_output=True, as_frame=True).X
    np.testing.assert_array_equal(frame.to_numpy(), load_spam(home).X)


def test_mail_without_words_is_a_row_of_zeros(home, spam):
    (spam / name_of(14)).write_text("1\n-1 5:1\n")
    assert not load_spam(home).X[28].any()


@pytest.mark.parametrize(
    "line",
    [
        "2 5:1",
        "0 5:1",
        "1 5:1 6",
        "1 5:x",
        "1 5:-1",
        "1  5:1",
        "spam",
        "",
        "1 6:1 5:1",
        "1 5:1 5:1",
        "1 0:1",
        "1 5:0",
        "1 99999999999999999999:1",
        "1 5:1\t6:1",
    ],
)
def test_damaged_line_is_named(home, spam, line):
    (spam / name_of(2)).write_text(f"1 5:1\n{line}\n-1 5:1\n")
    with pytest.raises(DataFileError, match=r"u02_eval_lab\.tf, line 2: "):
        load_spam(home)


def test_ids_may_fall_from_one_mail_to_the_next(home, spam):
    (spam / name_of(2)).write_text("1 900:1\n-1 5:1 \n")
    assert load_spam(home).X.shape == (30, 3)


def test_empty_file(home, spam):
    (spam / name_of(2)).write_text("")
    with pytest.raises(DataFileError, match="no data"):
        load_spam(home)


def test_missing_inbox_is_named(home, spam):
    (spam / name_of(9)).unlink()
    with pytest.raises(FileNotFoundError, match="u09"):
        load_spam(home)


def test_published_counts(real_home):
    data = load_spam(real_home, sparse_output=True)
    assert data.X.shape == (6_000, 1_000)
    assert len(data.task_names) == 15
    for name in data.task_names:
        y = data.y[data.task == name]
        assert (len(y), (y == 1).sum(), (y == -1).sum()) == (400, 200, 200)
    raw = load_spam(real_home, n_words=200_000, counts="raw", sparse_output=True)
    assert raw.X.shape[1] == 37_120
    assert raw.feature_names[-1] == "word 152543"
    assert raw.X.max() == 1_119
