"""Graph to plan: which nodes a step needs, in which order, and how they are cut into host steps and clusters."""
