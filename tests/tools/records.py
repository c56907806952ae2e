"""What tests ask of the distribution of records."""

from functools import partial

from riskweighted.contract.categories import target_numbers

__all__ = ["Asked", "kind_of", "terms"]

_METHODS = ("log_density", "mass", "inverse", "draw")


class Asked:
    """A distribution whose answers are the methods of a test's model of the same names, each a
    function of (theta, prepared, ...).
    """

    def __init__(self, model, theta, prepared):
        self.model, self.theta, self.prepared = model, theta, prepared

    def __getattr__(self, name):
        method = getattr(self.model, name, None) if name in _METHODS else None
        if method is None:
            raise AttributeError(name)
        return partial(method, self.theta, self.prepared)


def terms(synthesizer, theta, prepared, frame):
    """log p(y_i | theta) of the records of a frame, (n,)."""
    return synthesizer.distribution(theta, prepared).log_density(
        target_numbers(synthesizer, prepared, frame)
    )


def kind_of(block):
    """The class of the distribution of a block's records."""
    return type(block.distribution(block.draw(0, 0)))
