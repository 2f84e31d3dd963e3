"""Case studies: a model with its data, tokenizer and training, to look into with the same views."""
