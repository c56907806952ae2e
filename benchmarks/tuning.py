"""`tune` on the demo's data, and what it takes beyond the unweighted fit: `python
benchmarks/tuning.py`, three to ten minutes on 2 cores.

Isolated risk of at most 0.03, along all families, for the demo's transformation model and for a
normal mixture of three components; then the same along `mix` and `power` alone. Wall and processor
time, since machines are shared.
"""

import os
import sys
import time

AT_MOST = 0.03


def main() -> None:
    """Print the table."""
    import riskweighted as rw
    from riskweighted.runs.study import demo_study

    study = demo_study()
    confidential, sampling = study.read_data(), study.sampling
    mixture = rw.load_synthesizer("normal-mixture")(
        study.synthesizer.formula, components=3, support=(10, 200)
    )
    length = {
        "draws": sampling.draws,
        "tune": sampling.tune,
        "chains": sampling.chains,
        "random_seed": study.seed,
    }
    print(
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} "
        "at the start\n"
    )
    print(
        f"{'model':16}{'family':8}{'scheme':20}{'reached':>9}{'error':>8}{'loss':>8}{'fits':>6}"
        f"{'wall s':>8}{'processor s':>13}"
    )
    for synthesizer in (study.make_synthesizer(), mixture):
        unweighted = rw.fit(synthesizer, confidential, **length)
        for family in (None, "mix", "power"):
            wall, processor = time.perf_counter(), time.process_time()
            found = rw.tune(
                synthesizer,
                confidential,
                study.scenario,
                target="isolated-risk",
                target_max=AT_MOST,
                family=family,
                fit=unweighted,
                **length,
            )
            wall, processor = time.perf_counter() - wall, time.process_time() - processor
            name = f"{type(synthesizer).__name__:16}{family or 'all':8}{found.scheme:20}"
            numbers = f"{found.reached:9.4f}{found.error:8.4f}{found.loss:8.4f}{found.fits:6}"
            print(f"{name}{numbers}{wall:8.1f}{processor:13.1f}", flush=True)


if __name__ == "__main__":
    main()
