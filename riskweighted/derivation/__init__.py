"""What columns tell of each other before anything is fitted: of a sensitive variable what leaves unaltered, and rules that hold in a file."""
