"""Search: how good an encoder's ranking of a collection is, where it fails, and why the wrong passage is first."""
