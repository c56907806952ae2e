"""The contract of a synthesizer, tried clause by clause on any class."""
