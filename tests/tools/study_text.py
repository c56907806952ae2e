"""The small study of a file ``data.csv`` with the columns group and income, which tests of commands
edit.
"""

__all__ = ["study_text"]

_FIRST = """
[data]
path = "data.csv"
[scenario]
known = ["group"]
synthetic = "income"
[synthesizer]
name = "linear-regression"
formula = "income ~ group"
transform = "log"
"""


def study_text(
    *sections: str, draws: int = 100, tune: int = 100, reproducible: bool = False
) -> str:
    """The study with further sections, each a text that begins with its name in brackets."""
    settings = "seed = 3\n" + ("reproducible = true\n" if reproducible else "")
    sampling = f"[sampling]\nchains = 2\ndraws = {draws}\ntune = {tune}\n[release]\nL = 3\n"
    return settings + _FIRST + sampling + "".join(f"{section}\n" for section in sections)
