"""What the portal costs, measured against the floor beneath it and against other stores of memories.

``make bench`` seeds databases in a temporary folder, measures and writes ``docs/benchmarks.md``. Floor,
portal and peers take turns, in one process, on the same items, so that their ratios survive a noisy machine.
"""
