"""Event files: what summaries, graphs and run metadata are written to and read from, and record files at large."""
