"""What may leave the building: the pack, and the last look at every file of it."""
