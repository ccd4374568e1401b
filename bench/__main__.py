"""Run the bench: ``python -m bench``, or ``make bench`` and ``make bench-quick``."""

from __future__ import annotations

if __name__ == "__main__":
    # Each of the writing processes imports this module again, and needs nothing of what the command imports.
    from bench.command import main

    main()
