"""What whoever runs a portal needs: checks, backups, exports, retention and maintenance. No web in here."""
