"""File formats that know no graph: sorted tables, tensor bundles, records, images."""
