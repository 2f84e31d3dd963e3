"""The front end as it was built: its files and their fingerprint."""
