"""What holds together in a file before anything is fitted: implications between statuses and levels, orders, sums, recodes, bands."""
