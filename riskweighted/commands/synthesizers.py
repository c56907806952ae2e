"""``riskweighted synthesizers``."""

from riskweighted.commands.terminal import output


def synthesizers() -> None:
    """List the installed synthesizers."""
    from riskweighted.synthesis.descriptions import CHAINS, describe_synthesizers

    for name, description in (describe_synthesizers() | describe_synthesizers(CHAINS)).items():
        output.print(f"{name:20} {description}")
