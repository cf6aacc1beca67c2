"""Variables: both kinds, how they are shared by name, and what they start with."""
