import gzip

import numpy as np
import pytest
from tiny_files import letter_line, letter_pixels

from kernelhood.datasets import DataFileError, load_letter

LETTERS = "aaaaaggggoooj"


@pytest.fixture
def path(folder):
    path = folder("letter") / "letter.data"
    path.write_text("".join(letter_line(n, letter) for n, letter in enumerate(LETTERS, start=1)))
    return path


@pytest.fixture
def home(path):
    return path.parents[1]


def test_tasks_hold_the_letters_and_their_pixels(home):
    data = load_letter(home, pairs=["a/g", "g/o"], n_samples=None)
    assert data.task_names == ["a/g", "g/o"]
    assert "".join(data.y[data.task == "a/g"]) == "aaaaagggg"
    assert "".join(data.y[data.task == "g/o"]) == "ggggooo"
    np.testing.assert_array_equal(data.X, [letter_pixels(int(n)) for n in data.sample_id])
    assert len(data.feature_names) == 128
    assert (data.feature_names[0], data.feature_names[-1]) == ("pixel_0_0", "pixel_15_7")


def test_tasks_that_share_a_letter_share_its_images(home):
    data = load_letter(home, pairs=["a/g", "a/o"], n_samples=2, random_state=0)
    first, second = (
        set(data.sample_id[(data.task == name) & (data.y == "a")]) for name in data.task_names
    )
    assert first == second
    assert len(first) == 2
    assert data.task_groups == {"a/g": {"a", "g"}, "a/o": {"a", "o"}}


def test_letter_with_too_few_images_gives_all(home):
    data = load_letter(home, pairs=["a/j"], n_samples=3, random_state=0)
    assert sorted(data.y) == ["a", "a", "a", "j"]


def test_draw_follows_the_seed(home):
    draws = [
        tuple(load_letter(home, pairs=["a/g"], n_samples=2, random_state=seed).sample_id)
        for seed in (0, 0, 1, 2, 3)
    ]
    assert draws[0] == draws[1]
    assert len(set(draws)) > 1


def test_gzipped_file_gives_the_same(path, home):
    plain = load_letter(home, pairs=["a/g"], random_state=0)
    path.with_suffix(".data.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    packed = load_letter(home, pairs=["a/g"], random_state=0)
    np.testing.assert_array_equal(plain.X, packed.X)


def test_cut_gzip_is_an_error(path, home):
    whole = gzip.compress(path.read_bytes())
    path.unlink()
    path.with_suffix(".data.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataFileError, match=r"letter\.data\.gz, line \d+: the gzip data"):
        load_letter(home)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("14\ta\t-1\n", "line 14: 134 columns and a closing tab expected, 3 columns found"),
        (letter_line(14, "a")[:-2] + "\n", "line 14: 134 columns"),
        (letter_line(14, "a", [0] * 127), "line 14: 134 columns .* 133 columns found"),
        (letter_line(14, "a", [0] * 127 + [2]), "line 14: a pixel is neither 0 nor 1"),
        (letter_line(14, "a", [0] * 127 + ["é"]), "line 14: a pixel is neither"),
        (letter_line(14, "ab"), "line 14: an id and a letter"),
        (letter_line(14, ""), "line 14: an id and a letter"),
        ("x" + letter_line(14, "a"), "line 14: an id and a letter"),
        (letter_line(1, "a"), "an id occurs twice"),
    ],
)
def test_damaged_line_is_named(path, home, line, problem):
    with path.open("a", encoding="utf-8") as file:
        file.write(line)
    with pytest.raises(DataFileError, match=problem):
        load_letter(home, pairs=["a/g"])


def test_empty_file(path, home):
    path.write_text("")
    with pytest.raises(DataFileError, match="no data"):
        load_letter(home)


def test_letter_that_the_file_lacks_is_named(home):
    with pytest.raises(ValueError, match="letter 'z'"):
        load_letter(home, pairs=["a/z"])


def test_published_counts(real_home):
    data = load_letter(real_home, random_state=0)
    assert data.task_names == ["c/e", "g/y", "m/n", "a/g", "i/j", "a/o", "f/t", "h/n"]
    sizes = {name: (data.task == name).sum() for name in data.task_names}
    assert sizes.pop("i/j") == 389
    assert set(sizes.values()) == {400}
    assert data.X.shape == (3_189, 128)
    assert set(np.unique(data.X)) == {0.0, 1.0}
    every = load_letter(real_home, n_samples=None, pairs=["i/j", "h/n"])
    assert {letter: (every.y == letter).sum() for letter in "ijhn"} == {
        "i": 4_913,
        "j": 189,
        "h": 861,
        "n": 5_024,
    }
