"""What a whole release gives away beyond inference, and what is done about it."""
