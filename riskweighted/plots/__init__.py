"""Figures in the manner of Hu et al. 2022: each function returns Matplotlib axes.

With ``minimum_count`` a figure of records becomes one of counts that show no record;
`riskweighted.plots.binning` makes them.
"""
