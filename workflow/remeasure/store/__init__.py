"""The store: DuckDB and Parquet in and out, with declared schemas."""
