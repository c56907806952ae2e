"""Where the time of a run goes, disclosure apart: `python benchmarks/minute.py STUDY.toml ...`.

Of each study processor seconds by stage, and of every block that is fitted its engine, the largest
k-hat and R-hat and the least effective size of what is judged, and whether it converged. A machine
that others use is up to twice as slow at times: compare two versions by their ratio, one run after
the other.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def stages_of(path: Path) -> dict[str, float]:
    """Processor seconds of this process, which does nothing else, by stage."""
    from riskweighted.runs.study import load_study
    from riskweighted.runs.work import Work
    from riskweighted.sampling.convergence import deciding_rows

    seconds = {"imports": time.process_time()}

    def timed(stage: str, make: Callable[[], Any]) -> Any:
        began = time.process_time()
        made = make()
        seconds[stage] = seconds.get(stage, 0.0) + time.process_time() - began
        return made

    study = load_study(path)
    work, schemes = Work.of(study, study.read_data()), study.weights.schemes
    timed("world", work.world)
    for scheme in schemes:
        fit = timed(f"fit {scheme}", lambda scheme=scheme: work.fit(scheme))
        for name, block in fit.blocks.items():
            judged = deciding_rows(block.diagnostics)
            if len(judged):
                told = (
                    f"k-hat {judged['pareto_k'].max():.2f}, R-hat {judged['r_hat'].max():.3f}, "
                    f"ESS {judged['ess_bulk'].min():.0f}"
                )
                print(
                    f"  {scheme}, {name}: {judged['engine'].iloc[0]}, {told}, "
                    f"{'converged' if block.converged else 'did not converge'}"
                )
    for scheme in schemes:
        timed("drawing", lambda scheme=scheme: work.drawn(scheme))
        timed("expected risk", lambda scheme=scheme: work.expected(scheme))
    timed("risk and utility", lambda: work._measured(schemes))
    return seconds | {"all": time.process_time()}


def main(paths: list[str]) -> None:
    """Each study in a process of its own."""
    if paths[:1] == ["--one"]:
        print(
            json.dumps(
                {stage: round(taken, 1) for stage, taken in stages_of(Path(paths[1])).items()}
            )
        )
        return
    for path in paths:
        print(path, flush=True)
        subprocess.run([sys.executable, "-W", "ignore", __file__, "--one", path], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
