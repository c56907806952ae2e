"""What a synthesizer is, and what the framework asks of one."""
