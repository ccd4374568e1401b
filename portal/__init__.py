"""Agent memory under human control.

Nothing of the package is imported here: ``import portal.manager`` runs this module first, and an agent
runtime should load the manager without loading the web portal.
"""

import logging

# Silent unless the program that uses this package sets logging up.
logging.getLogger(__name__).addHandler(logging.NullHandler())
