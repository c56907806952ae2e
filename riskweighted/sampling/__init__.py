"""From a prepared model and weights to posterior draws that were judged."""
