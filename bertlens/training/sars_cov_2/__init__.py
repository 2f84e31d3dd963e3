"""How the SARS-CoV-2 classifier is trained, and what it is held against: what `bertlens train-sars-cov-2` does."""
