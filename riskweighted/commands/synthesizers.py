"""``riskweighted synthesizers``."""

from riskweighted.commands.terminal import output


def synthesizers() -> None:
    """List the installed synthesizers."""
    from riskweighted.synthesis.contract import load_synthesizer, synthesizer_names

    for name in synthesizer_names():
        first = (load_synthesizer(name).__doc__ or "").strip().splitlines()[0]
        output.print(f"{name:20} {first}")
