"""``python -m riskweighted``."""

from riskweighted.commands.main import main

main()
