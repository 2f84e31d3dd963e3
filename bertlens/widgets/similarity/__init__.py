"""The view of two texts: why they are similar, as its page asks for it and is answered."""
