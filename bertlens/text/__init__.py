"""What goes into a model: text to tokens, patches of an image, and attention maps that the user brings."""
