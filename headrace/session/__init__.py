"""Session: runs graphs."""

from headrace.session.session import InteractiveSession, Session

__all__ = ["InteractiveSession", "Session"]
