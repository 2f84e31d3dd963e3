"""The ground: bytes on the wire, locks, whole files, colours, limits of a text. Knows nothing of the other folders."""
