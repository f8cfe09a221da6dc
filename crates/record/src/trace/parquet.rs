//! Traces as Parquet files.
