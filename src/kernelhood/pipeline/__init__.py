"""The pipeline of all estimators: from tables to problems, from solutions to predictions."""
