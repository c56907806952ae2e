"""What the name of a column hints at: a key, a unit, a time, a weight, a design, a quantity, a
classification.
"""

import re
from typing import NamedTuple

__all__ = [
    "AGE",
    "BODY",
    "CLASSIFICATION",
    "DURATION",
    "KEY",
    "NAME",
    "PERIOD",
    "PERSON",
    "POPULATION",
    "PSU",
    "QUANTITY",
    "STRATUM",
    "UNIT",
    "WEIGHT",
    "Called",
    "words_of",
]


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in small letters, split where letters end and at capitals: "schoolNR" is
    ("school", "nr").
    """
    return tuple(word.lower() for word in re.findall(r"[A-ZÀ-Þ]?[a-zß-ÿ]+|[A-ZÀ-Þ]+", name))


class Called:
    """Names that hint at one thing: those of which some word matches a pattern in full, but for
    names of which a word matches `unless`.

    ``whole``: a pattern of whole names in small letters, such as those of Eurostat's variables.
    ``every``: whether all words must match.
    """

    def __init__(self, word: str, whole: str = "", unless: str = "", every: bool = False) -> None:
        self._word, self._whole, self._unless = (
            re.compile(pattern or "(?!)") for pattern in (word, whole, unless)
        )
        self._some = all if every else any

    def __call__(self, name: str) -> bool:
        """Whether the name hints at it."""
        words = words_of(name)
        hinted = self._whole.fullmatch(name.lower()) or (
            words and self._some(map(self._word.fullmatch, words))
        )
        return bool(hinted) and not any(map(self._unless.fullmatch, words))


class _Units(NamedTuple):
    """Words for what records may be records of."""

    households: str = "hh|hhold|households?|famil(y|ies)|dwelling|haushalt|menage|hogar"
    persons: str = (
        "mothers?|mom|person|persons|pupil|student|stu|patient|subject|respondent|worker|employee"
        "|individual|member|zper"
    )
    places: str = (
        "school|schule|sch|class|classroom|teacher|tch|commune|comm|cluster|village|hospital"
        "|clinic|municipality|precinct"
    )
    firms: str = (
        "firms?|firma|betrieb|company|companies|employer|establishment|enterprise|plant|store|shop"
        "|district"
    )


_UNITS = "|".join(_Units())
_OF_KEYS = (
    "hh|h|p|f|u|x|w|q|s|c|r|sub|subj|pers|fam|case|county|cust|user|emp|job|rec|record|row|ind"
    "|indiv|resp|hosp|site|store|prod|stud|tract"
)
UNIT = Called(_UNITS, every=True)
KEY = Called(
    rf"({_OF_KEYS}|{_UNITS})?ids?|id(code|no|nr|num|number|pers|person|hh|hog|ind|indiv|firm|unit"
    rf"|entity)|[a-z]*nr|[a-z]*serial|[a-z]+num|key|index|no|case|record|row|unnamed|identifier"
    rf"|identnr|uuid|guid",
    whole=r"[dhrpx][bxl]0?[34]0|[drphx][bx]030|.*[_ .-]no|no",
    unless="num|number|of|per|mean|total|avg",
)
PERIOD = Called(
    r"years?|yr|wave|period|round|cohort|quarter|jahr|annee|anno|ano|[a-z]*year|year(born|birth"
    r"|fm)|birthy(ea)?r?|welle"
)
PERSON = Called(
    r"(first|last|family|sur|given)name|vorname|nachname",
    whole=r".*(first|last|family|given)[_. -]?name.*",
)
NAME = Called(r"[a-z]?names?")
WEIGHT = Called(
    r"weights?[a-z]*|p?weights?|f?weight|[a-z]*wgt|wght|p?w|wt|(hh|per|asec|fin|final|samp|person"
    r"|pers|pop)wei?g?h?t|perweight|perwt|wt(mec|int|ss|sa|dr|fin|per|hh)[a-z]*|(psp|d|an"
    r"|post)weight|coeff?|ponder[a-z]*|pond|gew|gewicht[a-z]*|hrf|hochrechnung[a-z]*",
    whole=r"db090|rb05\d|rb06\d|pb04\d|pb06\d|rl070|pspwght|dweight|pweight|anweight|wtssall|perwt"
    r"|hhwt|asecwt|hw\d{3}",
    unless="birth[a-z]*|body|kg|lbs?|lbw|bwg?ht|[a-z]?bwg?ht",
)
STRATUM = Called(r"strat|stratum|strata|estrato|[a-z]*stra|[a-z]*strat|stratvar")
PSU = Called(r"[a-z]*psu|secu|upm|ssu|vecl")
POPULATION = Called("fpc")
AGE = Called("", whole=r"ages?|ages?_?(in_?)?y(ea)?rs?|alter|edad|agep")
BODY = Called(r"height|ht|hgt|bmi|length|waist|bp|pulse|gest[a-z]*")
DURATION = Called(
    r"years|yrs[a-z]*|num[a-z]*|hours|hrs|months|days|weeks|share|mean|avg|totals?|tot[a-z]*"
)
QUANTITY = Called(
    r"income[a-z]*|[a-z]*inc|wages?[a-z]*|[a-z]*wage|salar[a-z]*|pay|earn[a-z]*|turnover|revenues?"
    r"|[a-z]*sales|profits?|expend[a-z]*|spend[a-z]*|wealth|assets?|debts?|loans?|mortgage|rent"
    r"|tax(es)?|benefits?|pensions?|amount|amt|costs?|price|prices|values?|outcome|scores?|rate"
    r"|[a-z]*rate|ratio|percent[a-z]*|perc[a-z]*|pct[a-z]*|prop[a-z]*|size|[a-z]*size|pop[a-z]*"
    r"|counts?|weight|height|length|width|temp[a-z]*|distance|area|duration|tenure|exper[a-z]*"
    r"|ages?|[a-z]{0,3}age|agesq|educ[a-z]*|points?|enroll[a-z]*|employees|emp|volume|quantity|qty"
    r"|dose|time|[a-z]*time|[a-z]*hours[a-z]*|hrs|minutes?|days|weeks[a-z]*|months|years[a-z]*"
    r"|yrs[a-z]*|mean|avg[a-z]*|average|totals?|tot[a-z]*|sum|num[a-z]*|read|math|test|kids"
    r"|children|visits?|murders?|arrests?|votes?"
)
CLASSIFICATION = Called(
    r"regions?|reg|states?|[a-z]*state|provinces?|prov|kanton|canton|country|cntry|nations?"
    r"|nationality|sectors?|industr(y|ies)|ind|indus|nace|naics|sic|isic|isco|occ|occsoc|indnaics"
    r"|occup[a-z]*|raced?|ethn[a-z]*|hispand?|bpld?|ancestr[a-z]*|marital|marit|type|[a-z]*type"
    r"|codes?|[a-z]{1,3}code|[a-z]*fips?|puma|cbsa|met(area|ro)d?|degfieldd?|zip|zipcode|plz"
    r"|postcode|plan|party|partyid|category|cat|county|counties|nuts|zone|site|icd|diagnos[a-z]*"
    r"|major|field|branch|language|religion|relig|chapter|brand|model|dept|department|land"
    r"|[a-z]*status|origin|citizen(ship)?|species|chain|marst|(emp|mar|vet|work)statd?|labforce"
    r"|classwkrd?|relate[ds]?"
)
