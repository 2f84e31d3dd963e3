"""What the kernel answers to each question of the page."""
