"""Variables one after the other: blocks, the recoding of predecessors, rules, fits and datasets."""
