"""Looking at graphs while they run: timelines, profiles, debuggers."""
