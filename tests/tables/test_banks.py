"""Kernels of one's own for the features of a table."""

import pytest

import kernelhood as kh
from kernelhood.tables import TableEncoder
from kernelhood.tables.banks import make_bank

pd = pytest.importorskip("pandas")


@pytest.fixture
def encoder():
    frame = pd.DataFrame({"wind": [1.0, 2.0, 4.0], "rain": [0.0, 3.0, 1.0], "sun": [1.0, 0.0, 5.0]})
    return TableEncoder().fit(frame)


def test_a_description_becomes_a_kernel_on_the_features_of_its_columns(encoder):
    bank = make_bank(
        [
            {"type": "gaussian", "spread": 0.5, "columns": ["rain", "sun"], "directions": True},
            {"type": "linear", "normalized": True},
            {"type": "polynomial", "degree": 3, "normalized": True, "directions": True},
        ],
        encoder,
    )
    assert list(bank) == [
        kh.Directions(kh.Gaussian(0.5, columns=[1, 2])),
        kh.Normalized(kh.Linear()),
        kh.Directions(kh.Normalized(kh.Polynomial(3))),
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"type": "cubic"}, "needs a type among"),
        ({"type": "linear", "direction": True}, "'direction' is no setting of a linear kernel"),
        ({"type": "linear", "columns": ["snow"]}, "'snow' is no feature"),
        ({"type": "gaussian", "spread": -1.0}, "spread must be finite and positive"),
    ],
)
def test_what_is_no_kernel_is_named(encoder, given, message):
    with pytest.raises(ValueError, match=message):
        make_bank([given], encoder)
