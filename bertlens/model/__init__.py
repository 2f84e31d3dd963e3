"""The borrowed model: where its parts are, how it is loaded, its lock and its fingerprint."""
