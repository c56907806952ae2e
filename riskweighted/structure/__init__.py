"""What holds together in a file: implications between statuses and levels, orders, sums, recodes and bands, found before anything is fitted."""
