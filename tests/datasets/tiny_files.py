"""Make tiny files in the original formats."""

import numpy as np
from scipy.io import savemat

HOURS = [f"h{hour}" for hour in range(1, 25)]

HOLIDAYS = (
    ",2004,2005,2006,2007,2008\r\n"
    'New Year\'s Day,"Thursday, January 1","Friday, December 31, 2004",,,\r\n'
)


def cells(arrays):
    """Return arrays as a MATLAB row of cells."""
    row = np.empty((1, len(arrays)), dtype=object)
    for place, array in enumerate(arrays):
        row[0, place] = array
    return row


def write_landmine(path):
    """Write three fields; a feature tells its field and row, so that mix-ups show."""
    features, labels = [], []
    for field, (n, n_positive) in enumerate([(10, 2), (12, 3), (5, 4)]):
        features.append(100.0 * field + np.arange(n)[:, None] + np.arange(9) / 10)
        labels.append((np.arange(n) < n_positive).astype(np.uint8)[:, None])
    savemat(path, {"feature": cells(features), "label": cells(labels)})


def letter_pixels(image_id):
    """Return pixels that spell the image's id in binary."""
    return [image_id >> bit & 1 for bit in range(128)]


def letter_line(image_id, letter, pixels=None):
    """Return a line of letter.data, with the tab that closes it."""
    pixels = letter_pixels(image_id) if pixels is None else pixels
    fields = [image_id, letter, -1, image_id, 1, image_id % 10, *pixels]
    return "\t".join(map(str, fields)) + "\t\n"


def daily_line(unit, year, month, day, values, quote=True):
    """Return a line of Load_history.csv: thousands commas in quotes, None as an empty cell."""
    texts = ["" if v is None else f'"{v:,}"' if quote and v >= 1000 else str(v) for v in values]
    return ",".join([str(unit), str(year), str(month), str(day), *texts]) + "\r\n"


def daily_header(unit):
    return ",".join([unit, "year", "month", "day", *HOURS]) + "\r\n"


def load_value(zone, hour):
    """Return a load that no other zone and hour has."""
    return 100_000 * zone + hour


def write_load(folder):
    """Write two zones and three days in which the sixth hour of day two is missing."""
    lines, temperatures = [daily_header("zone_id")], [daily_header("station_id")]
    for unit in (1, 2):
        for day in range(3):
            values = [load_value(unit, 24 * day + hour) for hour in range(24)]
            degrees = [40 + 20 * unit + hour for hour in range(24)]
            if day == 1:
                values[5] = None
            if day == 2:
                degrees[20:] = [None] * 4
            lines.append(daily_line(unit, 2004, 1, day + 1, values))
            temperatures.append(daily_line(unit, 2004, 1, day + 1, degrees))
    (folder / "Load_history.csv").write_bytes("".join(lines).encode())
    (folder / "temperature_history.csv").write_bytes("".join(temperatures).encode())
    (folder / "Holiday_List.csv").write_bytes(HOLIDAYS.encode())
    _write_solutions(folder)


def _write_solutions(folder):
    lines = [",".join(["id", "zone_id", "year", "month", "day", *HOURS, "weight"]) + "\n"]
    for number, zone in enumerate((1, 2, 21), start=1):
        hours = [load_value(zone, 24 + hour) for hour in range(24)]
        lines.append(f"{number},{daily_line(zone, 2004, 1, 2, hours, quote=False)[:-2]},1\n")
    (folder / "Load_solution.csv").write_text("".join(lines))
    rows = ["station_id,datetime,date,year,month,day,hour,T0_p1\r\n"]
    rows += [
        f"{station},3Jan2004:{hour}:00:00,3Jan2004,2004,1,3,{hour},77\r\n"
        for station in (1, 2)
        for hour in range(21, 25)
    ]
    (folder / "temperature_solution.csv").write_bytes("".join(rows).encode())
