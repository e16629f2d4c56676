"""Model files that are safe to receive: no code in them runs."""

from kernelhood.persistence.files import ModelFileError, ModelHeader, load, read_header, save

__all__ = ["ModelFileError", "ModelHeader", "load", "read_header", "save"]
