"""Faults that were put into core formulas one at a time, each of which the tests of its own room
have to see.

    python -m tests.tools.mutants [--only PART_OF_A_PATH ...]

takes each of `MUTANTS` in turn, runs the tests that it names upon a copy of the package with the
fault in it, and prints those faults that no test saw; it fails if there are some. A fault takes 5
to 40 s of processor time. A name of tests beyond a file (``file.py -k words``) keeps that short.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["MUTANTS", "Mutant", "main", "survives"]

ROOT = Path(__file__).parents[2]


class Mutant(NamedTuple):
    """``before`` occurs once in ``path``, and ``after`` takes its place; ``tests`` see it."""

    path: str
    before: str
    after: str
    tests: str


_FAMILIES = "riskweighted/weights/families.py"
_SCENARIO = "riskweighted/intruder/scenario.py"
_IDENTIFICATION = "riskweighted/risk/identification.py"
_EXPECTED = "riskweighted/risk/expected_identification.py"
_INTERVALS = "riskweighted/utility/combining_rules.py"
_COMPARING = "riskweighted/disclosure/comparison.py"
_COPYING = "riskweighted/disclosure/copy_checks.py"
_POLICY = "riskweighted/disclosure/policy.py"
_MATCHING = "riskweighted/risk/matching.py"
_SHUFFLE = "riskweighted/disclosure/shuffle.py"
_CENTRING = "riskweighted/sequence/block_centring.py"
_BALLS = "tests/intruder tests/risk/test_identification.py"

MUTANTS = (
    # weights
    Mutant(_FAMILIES, "1 - risk * size / np.maximum(size - 1, 1)", "1 - risk", "tests/weights"),
    Mutant(_FAMILIES, "(1 - risk) ** g", "1 - risk**g", "tests/weights"),
    Mutant(_FAMILIES, "1 - t * risk", "(1 - t) * (1 - risk)", "tests/weights"),
    Mutant(_FAMILIES, "risk > cut", "risk >= cut", "tests/weights"),
    Mutant(_FAMILIES, "c * (1 - share) + g", "c * (1 - share + g)", "tests/weights"),
    Mutant(_FAMILIES, "b * (1 - risk)", "b", "tests/weights"),
    Mutant(_FAMILIES, "c * alpha * largest.max()", "alpha * largest.max()", "tests/weights"),
    Mutant(
        _FAMILIES,
        "D / np.maximum(_largest(world, fit)[0]",
        "D / (1 + _largest(world, fit)[0]",
        "tests/weights",
    ),
    Mutant("riskweighted/weights/kway.py", "missing - t, 0", "missing - t + 1, 0", "tests/weights"),
    Mutant(
        "riskweighted/weights/kway.py", "size - t, out=tuples", "size, out=tuples", "tests/weights"
    ),
    Mutant(
        "riskweighted/weights/adjust.py", 'transform("min")', 'transform("mean")', "tests/weights"
    ),
    Mutant(
        "riskweighted/weights/adjust.py",
        "total - np.arange(len(values))",
        "total - np.arange(1, len(values) + 1)",
        "tests/weights",
    ),
    # edges of balls
    Mutant(_SCENARIO, "half *= np.abs(values)", "half *= values", _BALLS),
    Mutant(
        _SCENARIO,
        "np.maximum(half, float(self.min_radius_of(variable)))",
        "half + float(self.min_radius_of(variable))",
        _BALLS,
    ),
    Mutant(
        _SCENARIO,
        "np.minimum(np.nextafter(lower, np.inf), values)",
        "np.minimum(lower, values)",
        _BALLS,
    ),
    Mutant(
        _SCENARIO,
        "np.maximum(np.nextafter(upper, -np.inf), values)",
        "np.maximum(upper, values)",
        _BALLS,
    ),
    # identification risk and matching
    Mutant(_IDENTIFICATION, "np.where(patterns.in_pattern == 1, 1.0, risk)", "risk", _BALLS),
    Mutant(
        _IDENTIFICATION, "outside[in_pattern == 1] = 1.0", "outside[in_pattern == 1] = 0.0", _BALLS
    ),
    Mutant(_IDENTIFICATION, "outside * neighbours.own_inside", "outside", _BALLS),
    Mutant(_MATCHING, "unique & ~true", "~true", "tests/risk/test_matching.py"),
    Mutant(_MATCHING, '["F"].sum() / unique', '["F"].mean()', "tests/risk/test_matching.py"),
    Mutant(
        "riskweighted/risk/canonical.py",
        "(n - 1) * np.log1p(-0.5 * np.exp(log_bc))))\n\n\ndef",
        "n * np.log1p(-0.5 * np.exp(log_bc))))\n\n\ndef",
        "tests/risk/test_canonical.py",
    ),
    # expected risk
    Mutant(
        _EXPECTED,
        "(1 + neighbours.within - neighbours.own_inside)",
        "neighbours.within",
        "tests/risk/test_expected_identification.py",
    ),
    Mutant(
        _EXPECTED,
        "np.sqrt(off / (count - 1))",
        "np.sqrt(off / count)",
        "tests/risk/test_expected_identification.py",
    ),
    Mutant(
        _EXPECTED,
        "one_record[in_pattern == 1] = 0.0",
        "one_record[in_pattern == 1] = 0.5",
        "tests/risk/test_expected_identification.py",
    ),
    Mutant(
        _EXPECTED,
        "self.draws * self.risk - size * self.blocks[block]",
        "self.draws * self.risk - self.blocks[block]",
        "tests/risk/test_expected_identification.py",
    ),
    # combining rules and intervals
    Mutant(
        _INTERVALS,
        "q.var(ddof=1) / len(q), kappa * v.mean()",
        "q.var() / len(q), kappa * v.mean()",
        "tests/utility/test_combining_rules.py",
    ),
    Mutant(
        _INTERVALS,
        "(len(q) - 1) * (1 + within / between) ** 2",
        "len(q) * (1 + within / between) ** 2",
        "tests/utility/test_combining_rules.py",
    ),
    Mutant(
        _INTERVALS,
        "(1 + 1 / len(q)) * q.var(ddof=1)",
        "(1 - 1 / len(q)) * q.var(ddof=1)",
        "tests/utility/test_combining_rules.py",
    ),
    Mutant(
        _INTERVALS,
        "(1 - within / between) ** 2",
        "(1 + within / between) ** 2",
        "tests/utility/test_combining_rules.py",
    ),
    Mutant(_INTERVALS, "(1 - 2 / t) / r", "1 / r", "tests/utility/test_combining_rules.py"),
    Mutant(
        _INTERVALS,
        "common / (b - a) + common / (d - c)",
        "2 * common / (b - a)",
        "tests/utility/test_combining_rules.py",
    ),
    Mutant(
        _INTERVALS,
        "square / (4 * count**2)",
        "square / (2 * count**2)",
        "tests/utility/test_combining_rules.py",
    ),
    Mutant(
        _INTERVALS, "values.std(ddof=1)", "values.std()", "tests/utility/test_combining_rules.py"
    ),
    # ECDF
    Mutant(
        "riskweighted/utility/kernels/merging.py",
        "abs(first / n - second / m)",
        "abs(first - second) / n",
        "tests/utility/test_ecdf.py",
    ),
    Mutant(
        "riskweighted/utility/kernels/merging.py",
        "(first + second - before) * difference",
        "difference",
        "tests/utility/test_ecdf.py",
    ),
    Mutant(
        "riskweighted/utility/ecdf.py",
        "for level in levels) / 2",
        "for level in levels)",
        "tests/utility/test_ecdf.py",
    ),
    # centring
    Mutant(
        _CENTRING,
        "other = rows[:, None] != some",
        "other = rows[:, None] >= 0",
        "tests/sequence/test_counted_centring.py tests/sampling/test_centred.py",
    ),
    Mutant(
        _CENTRING,
        "having & (pattern == code)",
        "having",
        "tests/sequence/test_counted_centring.py tests/sampling/test_centred.py",
    ),
    Mutant(
        _CENTRING,
        "sums / np.maximum(counts, 1)",
        "sums",
        "tests/sequence/test_counted_centring.py tests/sampling/test_centred.py",
    ),
    # shuffle
    Mutant(
        _SHUFFLE,
        "chances[row] * (row - first + 1)",
        "chances[row] * (row - first)",
        "tests/disclosure/test_shuffle.py",
    ),
    Mutant(_SHUFFLE, "first = row", "first = 0", "tests/disclosure/test_shuffle.py"),
    Mutant(
        _SHUFFLE,
        "        return rng.permutation(count)",
        "        return np.arange(count)",
        "tests/disclosure/test_shuffle.py",
    ),
    # D and its error
    Mutant(
        _COMPARING,
        "variance += float(means.var(ddof=1)) / len(means)",
        "pass",
        "tests/disclosure/test_comparison.py",
    ),
    Mutant(
        _COMPARING,
        "* count / max(count - 1, 1)",
        "",
        "tests/disclosure/test_comparison.py",
    ),
    Mutant(
        _COMPARING,
        "norm.isf(0.05 / large.sum())",
        "norm.isf(0.05)",
        "tests/disclosure/test_comparison.py",
    ),
    Mutant(
        _COMPARING,
        "share * count + 1, count * (1 - share)",
        "share * count + 1, count * (1 - share) + 1",
        "tests/disclosure/test_comparison.py",
    ),
    Mutant(
        "riskweighted/disclosure/hidden.py",
        "with_it * (with_it + 1) / 2",
        "with_it * (with_it + 1)",
        "tests/disclosure/test_hidden.py",
    ),
    Mutant(
        "riskweighted/disclosure/hidden.py",
        "np.sqrt(L * J / 2)",
        "np.sqrt(L * J)",
        "tests/disclosure/test_hidden.py",
    ),
    # copy tests
    Mutant(
        _COPYING,
        "        found[asked] - 1, trials",
        "        found[asked], trials",
        "tests/disclosure/test_copy_checks.py",
    ),
    Mutant(
        _COPYING,
        "lower, upper = below - share * cell, 1 - below + share * cell",
        "lower, upper = below, 1 - below",
        "tests/disclosure/test_copy_checks.py",
    ),
    Mutant(
        _COPYING,
        "counts.second - np.asarray(counts.first) ** 2 / total",
        "counts.second",
        "tests/disclosure/test_copy_checks.py",
    ),
    # the gate
    Mutant(
        _POLICY,
        'if row["lower"] > limit:',
        'if row["D"] > limit:',
        "tests/disclosure/test_policy.py",
    ),
    Mutant(
        _POLICY,
        'elif row["upper"] > limit:',
        'elif row["D"] > limit:',
        "tests/disclosure/test_policy.py",
    ),
    Mutant(
        _POLICY, "_LEVEL / (1 + self.earlier) ** 2", "_LEVEL", "tests/disclosure/test_policy.py"
    ),
    Mutant(
        _POLICY,
        'worst["lower"] > settings.group',
        'worst["D"] > settings.group',
        "tests/disclosure/test_policy.py",
    ),
    Mutant(
        _POLICY,
        'row["own_value_with"] - row["own_value_out"]',
        'row["own_value_with"]',
        "tests/disclosure/test_policy.py",
    ),
)


def survives(mutant: Mutant, tree: Path) -> bool:
    """Whether the tests of a fault pass with it, in a copy of the checkout that is left as it
    was.
    """
    changed = tree / mutant.path
    held = changed.read_text(encoding="utf-8")
    tests, _, words = mutant.tests.partition(" -k ")
    chosen = [*tests.split(), "-m", "not long", *(["-k", words] if words else [])]
    changed.write_text(_once(held, mutant), encoding="utf-8")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *chosen],
            cwd=tree,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tree), str(tree / "models")])},
            capture_output=True,
            check=False,
        )
    finally:
        changed.write_text(held, encoding="utf-8")
    if done.returncode not in (0, 1):
        raise RuntimeError(f"the tests of {mutant.path} did not run: {done.stdout.decode()}")
    return done.returncode == 0


def _copied(tree: Path) -> Path:
    """A copy of what tests read of the checkout."""
    for name in ("riskweighted", "models", "experiments", "tests"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


def _once(text: str, mutant: Mutant) -> str:
    if text.count(mutant.before) != 1:
        raise ValueError(f"{mutant.path} must hold {mutant.before!r} once")
    return text.replace(mutant.before, mutant.after)


def main(arguments: Sequence[str] | None = None) -> int:
    """How many survive."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n\n")[0])
    parser.add_argument("--only", nargs="*", default=[""])
    only = parser.parse_args(arguments).only
    chosen = [of for of in MUTANTS if any(part in of.path for part in only)]
    alive = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = _copied(Path(folder))
        for mutant in chosen:
            lives = survives(mutant, tree)
            alive += lives
            said = "SURVIVES" if lives else "seen"
            print(f"{said}: {mutant.path}: {mutant.before!r} -> {mutant.after!r}", flush=True)
    print(f"{alive} of {len(chosen)} survive")
    return alive


if __name__ == "__main__":
    sys.exit(min(main(), 1))
