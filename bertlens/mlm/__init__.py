"""Masked language models: training one from any BERT-like encoder, and the one that is shipped.

The shipped one is kept as its differences from the embedded encoder (differences.py): `Lens.embedded(mlm=True)`.
"""
