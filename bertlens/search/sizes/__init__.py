"""Would a smaller part do? The same ranking by earlier layers, by fewer dimensions, by a smaller model."""
