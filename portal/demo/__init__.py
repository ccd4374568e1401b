"""A throw-away portal with a believable organisation in it, for trying things out.

The people and what their agents learned stand in :mod:`portal.demo.halyard` and
:mod:`portal.demo.brightwater`; :mod:`portal.demo.seeding` makes it all happen through the calls that
everybody else uses too.
"""
