"""Where a run's random numbers come from: a seed and fresh secret entropy, kept with what never
leaves (METHODS section 13).
"""

import hashlib
import json
import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskweighted.common.atomic import keep, recall
from riskweighted.common.errors import InputError
from riskweighted.common.seeds import ENTROPY_BYTES, Streams
from riskweighted.common.settings import to_table

if TYPE_CHECKING:  # at run time it would load models
    from riskweighted.runs.study import Study

__all__ = [
    "FILE",
    "counting_earlier",
    "keep_entropy",
    "load_streams",
    "question",
    "read_entropy",
    "refuse_other_settings",
    "run_streams",
    "streams_bytes",
]

FILE = "confidential/randomness.json"
_KEPT = "entropy"


def run_streams(study: "Study", data: str, partial: Path, entropy: bytes | None = None) -> Streams:
    """The streams of a run on the data of a fingerprint: those of its seed if it is reproducible,
    else with given entropy, or that which the working folder kept of an interrupted run, or fresh
    one. Given entropy that is too short for the order of the rows too is lengthened by fresh one.
    Under a guarantee that of an earlier run is for the same study and data alone: others would make
    further datasets, which count.
    """
    if study.reproducible:
        if entropy is not None:
            raise InputError(
                "the study is reproducible, so its seed alone decides: entropy is for runs that "
                "are not"
            )
        return Streams(study.seed)
    used = entropy or recall(partial / _KEPT, _KEPT) or b""
    earlier = (entropy or b"")[ENTROPY_BYTES:]
    used = used[:ENTROPY_BYTES]
    used += secrets.token_bytes(max(ENTROPY_BYTES - len(used), 0))
    streams = Streams.of(study.seed, used, _about(study, data))
    if study.guarantee is not None and earlier not in (b"", streams.key):
        raise InputError(
            "the entropy is that of a run of another study (L is a setting) or other data, and "
            "under a guarantee it only repeats a run "
            "with its datasets: leave it out; what is drawn then is a further release, which "
            "counts (accountant)"
        )
    return streams


def _about(study: "Study", data: str) -> bytes:
    return json.dumps([_settings(study), data], default=str).encode()


def refuse_other_settings(study: "Study", data: str, streams: Streams) -> None:
    """Refuse the settings of a run for which its random numbers were not made; those of one that is
    reproducible are for any.
    """
    made = (
        Streams(study.seed)
        if streams.entropy is None
        else Streams.of(study.seed, streams.entropy, _about(study, data))
    )
    if streams != made or (streams.entropy is None and not study.reproducible):
        raise InputError(
            "nothing was released: the settings in the run's manifest.json are not those for "
            "which its datasets were drawn"
        )


def _settings(study: "Study") -> dict[str, Any]:
    """What decides the datasets: not where the data and weights of one's own lie, on how many cores
    the chains run, nor what is measured or told.
    """
    table: dict[str, Any] = to_table(study)
    table["data"] = {"embedded": study.data.embedded}
    table["sampling"].pop("cores", None)
    table.pop("evaluation", None)
    for name in ("file", "depends", "made_by"):
        table["weights"].pop(name, None)
    table.get("release", {}).get("disclosure", {}).pop("earlier", None)
    return table


def question(study: "Study", data: str) -> str:
    """A digest of what runs have in common that ask the same of the same data: how much their
    datasets give away, by draws of their own.

    It holds scenario, model and what leaves; not seeds, how long chains are, nor weights, since
    those are asked scheme by scheme.
    """
    table = _settings(study)
    leaves = {
        name: table.get("release", {}).get(name)
        for name in ("L", "columns", "precision", "shuffle", "unit")
    }
    asked = [
        table.get("scenario"),
        table.get("synthesizer"),
        table.get("guarantee"),
        leaves,
        table["data"],
        data,
    ]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()


def counting_earlier(study: "Study", data: str, streams: Streams, out: Path) -> "Study":
    """The study, whose limits of disclosure count the runs that asked the same before (`question`):
    those in folders beside the place of its result, one that it replaces among them, and those that
    it states itself. One of the same random numbers is repeated, not added to.
    """
    asked, runs, most = question(study, data), set[str](), study.release.disclosure.earlier
    for path in sorted(out.absolute().parent.glob("*/manifest.json")):
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            schemes = manifest["settings"]["weights"]["schemes"]
            same = manifest["input"]["question"] == asked and not {
                *study.weights.schemes
            }.isdisjoint(schemes)
            before = manifest["settings"]["release"].get("disclosure", {}).get("earlier", 0)
            noise, repeated = manifest["files"][FILE], same and load_streams(path.parent) == streams
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # of something else
            continue
        if repeated:
            return _with_earlier(study, before)
        if same:
            runs, most = runs | {noise}, max(most, before + 1)
    return _with_earlier(study, max(len(runs), most))


def _with_earlier(study: "Study", earlier: int) -> "Study":
    return replace(
        study,
        release=replace(
            study.release, disclosure=replace(study.release.disclosure, earlier=earlier)
        ),
    )


def keep_entropy(streams: Streams, partial: Path) -> None:
    """Keep the entropy in a working folder, so that an interrupted run goes on with it."""
    if streams.entropy is not None and recall(partial / _KEPT, _KEPT) != streams.entropy:
        keep(partial / _KEPT, streams.entropy, _KEPT)


def streams_bytes(streams: Streams) -> bytes:
    """As it stands in the file."""
    table = {
        "seed": streams.seed,
        "entropy": streams.entropy and streams.entropy.hex(),
        "key": streams.key and streams.key.hex(),
    }
    return (json.dumps(table, indent=2) + "\n").encode()


def load_streams(folder: Path) -> Streams:
    """The streams of a finished run, from its folder."""
    path = folder / FILE
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        secret = [
            None if table[name] is None else bytes.fromhex(table[name])
            for name in ("entropy", "key")
        ]
        whole = (secret[0] is None) == (secret[1] is None) and (
            secret[0] is None or len(secret[0]) == ENTROPY_BYTES
        )
        if not isinstance(table["seed"], int) or not whole:
            raise ValueError
        return Streams(table["seed"], *secret)
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{str(path)!r} is absent or does not hold the randomness of a run"
        ) from None


def read_entropy(path: Path) -> bytes:
    """The entropy of an earlier run, then the key that it made of it, from the folder of that run
    or from its `confidential/randomness.json`; refuses a reproducible run."""
    folder = path if path.is_dir() else path.parent.parent
    streams = load_streams(folder)
    if streams.entropy is None or streams.key is None:
        raise InputError(
            f"the run {str(folder)!r} was reproducible: it has no entropy, its seed alone "
            "repeats it"
        )
    return streams.entropy + streams.key
