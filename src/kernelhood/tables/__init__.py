"""From a table with a task column to a model: reading, encoding, choice, scores, predictions."""

from kernelhood.tables.encoder import TableEncoder
from kernelhood.tables.fitting import fit_table
from kernelhood.tables.formats.files import read_blocks, read_table
from kernelhood.tables.model import TableModel

__all__ = ["TableEncoder", "TableModel", "fit_table", "read_blocks", "read_table"]
