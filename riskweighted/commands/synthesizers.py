"""``riskweighted synthesizers``."""

from riskweighted.commands.terminal import print_json, print_pairs


def synthesizers() -> None:
    """List the installed synthesizers."""
    from riskweighted.contract.descriptions import CHAINS, describe_synthesizers

    of_one, of_several = describe_synthesizers(), describe_synthesizers(CHAINS)
    print_pairs(of_one | of_several)
    listed = [(name, text, name in of_several) for name, text in (of_one | of_several).items()]
    print_json(
        "synthesizers",
        synthesizers=[
            {"name": name, "description": text, "several": several}
            for name, text, several in listed
        ],
    )
