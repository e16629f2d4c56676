"""Files that hold tables: CSV and its kin, Parquet, SVMlight."""
