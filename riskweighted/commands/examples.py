"""The examples that stand in the help of each command; a test reads every one of them."""

__all__ = ["EXAMPLES"]

EXAMPLES = {
    "init": (
        "riskweighted init households.csv",
        "riskweighted init households.csv --synthesize income --out study.toml",
    ),
    "check": ("riskweighted check study.toml", "riskweighted check study.toml --json"),
    "run": (
        "riskweighted run study.toml",
        "riskweighted run study.toml --out elsewhere --strict --quiet",
    ),
    "demo": ("riskweighted demo --out demo",),
    "advise": ("riskweighted advise results/study", "riskweighted advise results/study --apply"),
    "tune": (
        "riskweighted tune study.toml \\\n  --target isolated-risk --at-most 0.03 --out tuned",
    ),
    "sweep": ("riskweighted sweep sweep.toml --workers 2",),
    "weights": (
        "riskweighted weights households.csv --known region,age_band \\\n  --synthesized income "
        "--scheme pairwise --out weights.csv",
    ),
    "assess": (
        "riskweighted assess households.csv synthetic.csv \\\n  --known region,age_band "
        "--synthesized income",
        "riskweighted assess households.csv --synthetic ours=a.csv,b.csv \\\n"
        "  --synthetic theirs=c.csv --known region --synthesized income --out both",
    ),
    "folds": ("riskweighted folds households.csv --synthesized income \\\n  --K 5 --out folds",),
    "reidentify": ("riskweighted reidentify attack.toml",),
    "report": (
        "riskweighted report results/study",
        "riskweighted report results/study --internal --figures figures",
    ),
    "summary": (
        "riskweighted summary results/study",
        "riskweighted summary results/study --format latex --unit income=dollars",
    ),
    "release": (
        "riskweighted release results/study --scheme pairwise --format csv,dta \\\n  --out pack",
        "riskweighted release results/study --check pack",
    ),
    "accountant": ("riskweighted accountant results-2025 results-2026",),
    "synthesizers": ("riskweighted synthesizers",),
}
