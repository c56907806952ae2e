"""``riskweighted synthesizers``."""

from riskweighted.commands.terminal import output


def synthesizers() -> None:
    """List the installed synthesizers."""
    from riskweighted.synthesis.descriptions import describe_synthesizers

    for name, description in describe_synthesizers().items():
        output.print(f"{name:20} {description}")
