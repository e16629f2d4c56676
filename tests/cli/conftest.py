"""Models that the tests of the commands share."""

import pytest

from kernelhood.cli import main
from tests.cli.tables import plain_table

for name in ("pandas", "pyarrow", "skops"):
    pytest.importorskip(name)


@pytest.fixture(scope="session")
def shops(tmp_path_factory):
    """Fit a table of shops by the command; return the folder of shops.csv and model.skops."""
    folder = tmp_path_factory.mktemp("shops")
    plain_table().to_csv(folder / "shops.csv", index=False)
    words = "--task shop --target sold --groups region --holdout 0.25"
    arguments = ["fit", str(folder / "shops.csv"), "--out", str(folder / "model.skops")]
    assert main([*arguments, *words.split()]) == 0
    return folder


@pytest.fixture
def say(capsys):
    """Run a command in this process; return its exit code, output and errors."""

    def run(*arguments):
        code = main([str(one) for one in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
