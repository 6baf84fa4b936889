"""How fast endpoints answer, what they refuse, and what a thousand decisions cost."""
