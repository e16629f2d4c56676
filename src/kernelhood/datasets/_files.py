"""Which files each data set needs, and where they are: on this computer and in the net."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HOME_VARIABLE = "KERNELHOOD_DATA"
BASE_URL = "https://raw.githubusercontent.com"


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds one sub-folder for each data set.

    Parameters
    ----------
    data_home : path-like or None, default=None
        The folder itself. None takes the environment variable ``KERNELHOOD_DATA``, and where that
        is unset or empty the user's cache folder. Nothing is created.

    Returns
    -------
    data_home : Path
        The folder, which need not exist.

    Examples
    --------
    >>> get_data_home("some/folder").as_posix()
    'some/folder'
    """
    if data_home is None:
        data_home = os.environ.get(HOME_VARIABLE) or _user_cache(sys.platform)
    elif not isinstance(data_home, str | os.PathLike):
        raise TypeError(f"data_home={data_home!r} is not a path; give a str, a Path or None.")
    return Path(data_home).expanduser()


def _user_cache(platform: str) -> Path:
    """Return kernelhood's folder in the place where this platform keeps caches."""
    if platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "kernelhood"


def find_file(folder: Path, names: Sequence[str], dataset: str) -> Path:
    """Return the first of `names` that exists in `folder`.

    Parameters
    ----------
    folder : Path
        Folder of the data set.
    names : sequence of str
        Names under which the file may be there, the preferred one first.
    dataset : str
        Name of the data set on the command line, for the error message.

    Returns
    -------
    path : Path
        An existing file.
    """
    for name in names:
        path = folder / name
        if path.is_file():
            return path
    others = "".join(f" (nor {name})" for name in names[1:])
    raise FileNotFoundError(
        f"{folder / names[0]} does not exist{others}. Get it with "
        f"`kernelhood data fetch {dataset}`, or point data_home or {HOME_VARIABLE} at the folder "
        f"that holds {folder.name}/."
    )


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Parameters
    ----------
    name : str
        Name in the data set's folder.
    sha256 : str
        Checksum of its content, unpacked.
    address : str or None, default=None
        Path below the base address; None where no public address can be relied on.
    gzip_too : bool, default=False
        Whether the loader takes the file gzipped too, with ``.gz`` added to the name.
    """

    name: str
    sha256: str
    address: str | None = None
    gzip_too: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names under which the file may be there, in the order in which loaders look."""
        return (self.name, f"{self.name}.gz") if self.gzip_too else (self.name,)


@dataclass(frozen=True)
class DataSet:
    """A data set that consists of files.

    Parameters
    ----------
    folder : str
        Its folder below the data home.
    summary : str
        One line about it.
    source : str
        Where to look for files that have no address.
    files : tuple of DataFile
        All that its loader may read.
    """

    folder: str
    summary: str
    source: str
    files: tuple[DataFile, ...] = field(repr=False)


_GEFCOM = "lcltopismine/IRDM2016/823456f4d657f37c56796cbcc72ab9d977c20db0/data"
_GEFCOM_SOLUTION = "relue/tf_rnn/6c612a21be14296afba9ccb8b41598f2268e31e4/energy_load"
_SARCOS_PARTS = "y18810919727/system-modeling/becaa478421e24e5a6debdbf37df8bf6139805a2/data/sarcos"
_SPAM = (
    "shohoku11wrj/Spam-Filter/36b41aabee9f953bd799a8a0bc4993d80a9b23cd/SpamFilterData/"
    "evaluation_data_labeled/task_b_lab"
)

_SPAM_SHA256 = (
    "76bbd7d5051e7ed93be6863e9e1ea760c0438c33f4d40aab9a89bb572845eff2",
    "a21a0445b71b71e7d91efe130c584caa39fe63ef133e87e36459bbd1d1f89da2",
    "9461963d0e8eb85913407adbac88d246ec65e17c44b0dcf3f0f59952793a7d52",
    "7915d1b155869bb36af5b2c5abcfa3589c925c21d62e684d8290b4ece9cac466",
    "fc0cdaa2f5fea06da1480accf3af65f88089dc6b8792a2dc0cfefc25917ed12f",
    "a343292f4d43c520063931e797e737010c9e4e83ef01ab8533556a16e670ab22",
    "82744c9c20869350ed3d55981550122c7f440cdeb5d4ad4da7349b304c61e37f",
    "a3fabecfc03a4a1ea8b140e4ddd86683cb1103791e93aa0b9b70cf16f7e31e53",
    "1c0defafcade34aebaba6738ecc1871fea53266335e743c47f6c95a1d570c2d9",
    "f556f2fe4606f56f7a8319409e9f8fe117782df95ab104dc749624f2da2a5114",
    "c9fb683897630b9a43348eef1eb2b3195434daf0ba5944b57dd51ef1093dae81",
    "9a4692ba855e6201f76344bb2e79056db0caaca58a6532e1bb58cb690b0a26b4",
    "e31ba5fddad7f05b1260c6f04ed88a43a7f73ebb81dfc5189cfa2163b00900aa",
    "f024308b6454ee7735ddbfbfe87c0e011e93d15040a7181ab64680a022cb2434",
    "a291c4b52a2445f388e17bcb2c61660287d087a94e2d1f1a6fd796b59e91dad6",
)

LANDMINE = DataSet(
    folder="landmine",
    summary="29 fields, 14,820 objects, mine or not",
    source="Y. Xue et al., JMLR 8, 2007; once LandmineData.zip on L. Carin's page, Duke University",
    files=(
        DataFile(
            "LandmineData.mat",
            "2163ab20a80e33a8b65593c48cf283c540599dcb291105e63fa4af2ce24c2bea",
            "daizhongxiang/Federated_Bayesian_Optimization/"
            "30a4548606f2ae9bc62c6bf0eb4110177aa3876a/LandmineData.mat",
        ),
    ),
)

LETTER = DataSet(
    folder="letter",
    summary="8 pairs of handwritten letters, 52,152 images",
    source="http://ai.stanford.edu/~btaskar/ocr/ (letter.data.gz, to be unpacked)",
    files=(
        DataFile(
            "letter.data",
            "535363d0b7bc34246b1f8731719540f526b6807b12dda5d430d011d160bc7882",
            "Ayush-Soni/OCR-Convolutional-Neural-Network/"
            "84e6016528987d4b981508dccf171117fe33f2b4/data_set/letter.data",
            gzip_too=True,
        ),
    ),
)

SPAM = DataSet(
    folder="spam_ecml2006",
    summary="15 inboxes of 400 mails, spam or not",
    source="http://www.ecmlpkdd2006.org/challenge.html (evaluation data of task B with labels)",
    files=tuple(
        DataFile(name, sha256, f"{_SPAM}/{name}")
        for name, sha256 in (
            (f"task_b_u{user:02d}_eval_lab.tf", sha256) for user, sha256 in enumerate(_SPAM_SHA256)
        )
    ),
)

SARCOS = DataSet(
    folder="sarcos",
    summary="7 torques of a robot arm from 21 inputs (published parts; the official sarcos_inv.mat "
    "is used if you put it there)",
    source="http://www.gaussianprocess.org/gpml/data/",
    files=(
        DataFile(
            "sarcos_inv_test.mat",
            "161a59b5c3b4f4b404584323f181607b2acbe620eb134dc720760dc3f38f5cec",
            "Kaixhin/SARCOS/bd4800d952ec1a9153cdc84a325ac796f140265e/sarcos_inv_test.mat",
        ),
        DataFile(
            "train_rows_a.csv",
            "7d896c75e7e51107dceff5cd5dd2a67c35e93d5b9468262bfdf816462a13dc7c",
            f"{_SARCOS_PARTS}/sarcos_val.csv",
        ),
        DataFile(
            "train_rows_b.csv",
            "e04de668b14ca0466c2a26b6b7734b59ae4336cbe4998828c1f8592d668adcf0",
            f"{_SARCOS_PARTS}/sarcos_test.csv",
        ),
    ),
)

LOAD = DataSet(
    folder="gefcom2012",
    summary="hourly electricity demand of 20 zones, 2004 to 2008",
    source="http://www.drhongtao.com/gefcom/2012 (load forecasting track)",
    files=(
        DataFile(
            "Load_history.csv",
            "a9bfbc68d49f2cfe271eeba1357b759e226649ec459ae9fb109e178f3a60f8c5",
            gzip_too=True,
        ),
        DataFile(
            "Holiday_List.csv",
            "ba3eea0f9483cee6f060a9b9782aa1e9e407705333bbfacc0471b69482fc2964",
            f"{_GEFCOM}/Holiday_List.csv",
        ),
        DataFile(
            "temperature_history.csv",
            "19f4d0c315114cd6dc9dcb3fb175b0034287fd2062142caa1bdd89c7707b2c59",
            f"{_GEFCOM}/temperature_history.csv",
            gzip_too=True,
        ),
        DataFile(
            "Load_solution.csv",
            "7b47ca0c05cea60e538628a843249a5ca5da3b5718b1babc4281eff758f06255",
            f"{_GEFCOM_SOLUTION}/Load_solution.csv",
        ),
        DataFile(
            "temperature_solution.csv",
            "3e3976ad742767eb8cf494dbd2486851fcd6c46e2c7c81f7cefe31ed786932c9",
            f"{_GEFCOM_SOLUTION}/temperature_solution.csv",
        ),
    ),
)

REGISTRY = {
    "landmine": LANDMINE,
    "letter": LETTER,
    "spam": SPAM,
    "sarcos": SARCOS,
    "load": LOAD,
}
