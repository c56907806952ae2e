"""From confidential data and weights to synthetic data: the contract of a synthesizer, its pseudo posterior, draws."""
