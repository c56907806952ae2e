"""``python -m riskweighted``."""

from riskweighted.cli import main

main()
