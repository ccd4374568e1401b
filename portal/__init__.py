"""Agent memory under human control.

Nothing is imported here: ``import portal.manager`` runs this module first, and an agent runtime
should load the manager without loading the web portal.
"""
