"""The view of labelled examples: the questions of its page, and what they are answered with."""
