"""Habits that no linter knows, as pure functions from a source to the lines that break them."""
