"""One forward or backward pass: what is recorded of it, what is changed in it, and attention weights made of it."""
