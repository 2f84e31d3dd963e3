"""What may stand in a view beside its trace, each with the questions that it answers."""
