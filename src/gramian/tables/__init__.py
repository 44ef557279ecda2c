"""Tables in Parquet and CSV files, read in batches of rows; larger than memory, if need be.

This needs pyarrow: `pip install 'gramian[tables]'`.
"""

from gramian.tables.table import Batch, Table, open_table

__all__ = ["Batch", "Table", "open_table"]
