"""File formats that know no graph: sorted tables and tensor bundles."""
