"""The weighted log-likelihood of a transformation model in a PyTensor graph: as one compiled operation, and written out.

The first is what is sampled, the second what defines it; a test holds them to 1e-10.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, grad_undefined
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from riskweighted_models.kernels.bins import Hats, weighted_sum

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

__all__ = ["Pairs", "fused_sum", "written_sum"]

Tensor: TypeAlias = "TensorVariable[Any, Any]"

_SCALE = np.pi / np.sqrt(3.0)


class Pairs(NamedTuple):
    """Distinct pairs of a design and a bin, sorted by design, with the weights of their records.

    ``design_weight`` (m,), ``pair_weight`` (number of pairs,): tensors or arrays; ``pair_bin`` (number of pairs,), ``pair_start``
    (m + 1,): arrays of whole numbers.
    """

    design_weight: Any
    pair_weight: Any
    pair_bin: np.ndarray
    pair_start: np.ndarray


def fused_sum(eta: Tensor, gamma: Tensor, delta: Tensor, pairs: Pairs, hats: Hats) -> Tensor:
    """sum of weight log P(bin | x) over the pairs: see `riskweighted_models.kernels.bins.weighted_sum`."""
    total: Tensor = _WEIGHTED_SUM(eta, gamma, delta, *pairs, *hats)[0]
    return total


def written_sum(eta: Tensor, gamma: Tensor, delta: Tensor, pairs: Pairs, hats: Hats) -> Tensor:
    """The same, as METHODS section 5 writes it."""
    slope = pt.exp(gamma[:, None] + eta[1] + hats.place[:, None] * eta[2])  # (J, m)
    rise = pt.as_tensor(hats.coefficient) @ slope  # (K - 2, m)
    origin = int(hats.origin[0])
    up = pt.cumsum(rise[origin:], axis=0)
    down = pt.cumsum(rise[:origin][::-1], axis=0)[::-1]
    h = _SCALE * (eta[0] + pt.concatenate([-down, pt.zeros_like(rise[:1]), up]))  # at the inner edges, (K - 1, m)
    between = pt.sigmoid(h[1:]) * pt.sigmoid(-h[:-1]) * -pt.expm1(h[:-1] - h[1:])
    mass = pt.concatenate([pt.sigmoid(h[:1]), between, pt.sigmoid(-h[-1:])])  # (K, m)
    normaliser = pt.log((pt.exp(delta)[:, None] * mass).sum(axis=0))
    design = np.repeat(np.arange(len(pairs.pair_start) - 1), np.diff(pairs.pair_start))
    own = pt.log(mass[pairs.pair_bin, design]) + delta[pairs.pair_bin]
    total: Tensor = (pt.as_tensor(pairs.pair_weight) * own).sum() - (pt.as_tensor(pairs.design_weight) * normaliser).sum()
    return total


class _WeightedSum(Op):  # type: ignore[misc]
    """Value and gradients in one pass over the designs."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Outputs: the sum, and its derivatives in the first three inputs."""
        tensors = [pt.as_tensor(given) for given in inputs]
        return Apply(self, tensors, [pt.dscalar(), pt.dmatrix(), pt.dvector(), pt.dvector()])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        """In plain Python, for what is not compiled."""
        eta, *others = (np.ascontiguousarray(given) for given in inputs)
        value, *derivatives = weighted_sum(eta, *others[:6], Hats(*others[6:]))
        output_storage[0][0] = np.asarray(value)
        for storage, derivative in zip(output_storage[1:], derivatives, strict=True):
            storage[0] = derivative

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        """The derivatives have been found with the value."""
        held = [grad_undefined(self, place, given) for place, given in enumerate(inputs[3:], 3)]
        if isinstance(cotangents[0].type, DisconnectedType):
            return [given.zeros_like() for given in inputs[:3]] + held
        return [cotangents[0] * derivative for derivative in outputs[1:]] + held

    L_op = pullback  # before PyTensor 3

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The value depends on the parameters; the rest is data, and nothing is differentiated twice."""
        return [[place < 3, False, False, False] for place in range(len(node.inputs))]


_WEIGHTED_SUM = _WeightedSum()


@register_funcify_default_op_cache_key(_WeightedSum)  # type: ignore[untyped-decorator]
def _funcify(op: _WeightedSum, **kwargs: Any) -> Any:
    @numba.njit
    def compiled(eta, gamma, delta, design_weight, pair_weight, pair_bin, pair_start, first, last, coefficient, place, origin):  # type: ignore[no-untyped-def]
        hats = Hats(first, last, coefficient, place, origin)
        value, by_eta, by_gamma, by_delta = weighted_sum(
            np.ascontiguousarray(eta), gamma, delta, design_weight, pair_weight, pair_bin, pair_start, hats
        )
        return np.asarray(value), by_eta, by_gamma, by_delta

    return compiled, 1
