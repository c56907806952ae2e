"""What the censored pseudo posterior proves, and the clip that it is proved by."""
