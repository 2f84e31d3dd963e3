"""Sentence encoders as they are used: their own vectors and scores, why two texts are similar, passages by rank."""
