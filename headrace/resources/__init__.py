"""What lives between steps: variables and, later, queues, tables and iterators; plain objects that know no graph."""
