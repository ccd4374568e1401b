"""Schema changes, run by :meth:`portal.database.Database.upgrade` and ``portal upgrade``."""
