"""Measures: pure functions from a trace (or plain tensors) to tensors, one file per line of research."""
