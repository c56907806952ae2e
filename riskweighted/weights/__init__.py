"""From risk to weights: alpha_i in [0, 1], the power to which record i's likelihood is raised."""
