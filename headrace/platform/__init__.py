"""What a program uses around the graph: flags, logging, files, the version."""
