"""Tables and models: a file to a model, and a model to a file and back."""

from kernelhood.tables.files import read_blocks, read_table
from kernelhood.tables.fitting import fit_table
from kernelhood.tables.model import TableModel
from kernelhood.tables.model_files import ModelFileError, ModelHeader, load, read_header, save
from kernelhood.tables.roles import TableEncoder

__all__ = [
    "ModelFileError",
    "ModelHeader",
    "TableEncoder",
    "TableModel",
    "fit_table",
    "load",
    "read_blocks",
    "read_header",
    "read_table",
    "save",
]
