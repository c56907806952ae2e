"""Several variables of any type, one after the other (METHODS section 12)."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from riskweighted.common.checks import check_choice, check_names, check_text
from riskweighted.common.errors import InputError, listing
from riskweighted.common.frames import holds_numbers
from riskweighted.common.groups import most_categories
from riskweighted.common.replaced import refuse_replaced
from riskweighted.common.settings import as_tuples
from riskweighted.common.units import Units
from riskweighted.contract.synthesizer import Synthesizer, load_synthesizer
from riskweighted.design.formulas import split_formula
from riskweighted.sequence.declared import stated_codes
from riskweighted.sequence.edit_rules import Rules, Structure
from riskweighted.sequence.products import Product, read_products
from riskweighted.sequence.recoding import RECODINGS
from riskweighted_models.bounds import NONE

__all__ = ["Sequential"]

# settings of a variable that are not its model's
_OWN = ("model", "formula", "codes", "applies_if", "else_value")
_MOST_COUNTS = 40  # different numbers that are modelled one by one
_RECORDS_PER_COUNT = 20
_FEWEST_AMOUNTS = 20  # different amounts that a model of a continuous variable needs
_SEVERAL = ("sequential",)
_ONE_BY_ONE = "continuation-ratio"  # levels one after the other, each with slopes of its own
_MOST_SOFTMAX = 60  # coefficients that draws about the mode reach under weights, too


@dataclass(frozen=True)
class Sequential:
    """A chain: every variable given the predictors and the variables before it, each by a model
    that suits its type.

    Models, unless a variable names its own: two levels "logistic"; an ordered categorical dtype, or
    `levels` that are given, "ordinal"; other levels "multinomial", or where that would have more
    than 60 coefficients "continuation-ratio": each level but the most frequent one by a logistic
    model among the records that have none before it, the rarest first, so that the result depends
    on that order; numbers of at most 40 different values with 20 records each on average "counts";
    others with zeros or negative values "two-part"; other numbers "transformation". A value that is
    missing, and every special code, has a share of its own that follows the predictors ("logistic",
    one after the other).

    Predictors enter as they suit: levels as dummies, numbers by a natural cubic spline with five
    knots, or seven from 2,000 amounts (of the signed log where the largest hundredth exceeds three
    medians), missing values and codes by indicators. A status, or a level that is modelled by
    itself, of fewer than 5 records has no predictors, and amounts have none where they are fewer
    than 10 a column. With ``recoding = "statuses"`` a zero that is no amount among amounts (10
    records and 1 % are zero) has an indicator too, numbers and knots are rounded to a grid, and
    where amounts are few, bends are left out before lines are. Levels of more than 30 (of small
    files more than one in 20 records) have random intercepts, each of ten records of the part at
    least; others that of the group of their code.

    Parameters
    ----------
    variables : sequence of str
        In the order of synthesis.
    predictors : sequence of str, optional
        Unsynthesized columns that predict every variable; known ones too.
    settings : mapping of variable to mapping, optional
        What differs from the above: ``model`` (a registered synthesizer), ``formula`` (of
        predictors and earlier variables; a missing level is then "missing", a number that is no
        amount the mean), ``codes`` (special codes, and spikes such as 0), ``applies_if`` and
        ``else_value`` (a structural rule), and settings of the model, such as ``support``,
        ``levels`` or ``heaping``. Of a predictor: ``codes``, values of it that are no amounts.
    order : sequence of (start, end), optional
        Pairs of variables of which the first is never greater.
    forbidden : sequence of str, optional
        Conditions that hold for no record, such as ``"marital == 'MARRIED' and age < 16"``.
    implied : sequence of (condition, condition), optional
        Where the first holds the second does, such as ``("smoke == 'NO'", "cigarettes == -8")``: a
        status or level that follows is set and not drawn, one that is ruled out is not drawn.
    sums : sequence of (total, part, ...), optional
        Amounts that add up: whichever is drawn last is computed and not drawn. A difference is a
        sum: c = a - b is ``("a", "b", "c")``.
    violations : {"error", "exclude"}
        What becomes of confidential records that break a rule: refused, or left out of the fit of
        the rule's variable.
    recoding : {"plain", "statuses"}
        How predictors and earlier variables become numeric columns. A study that `init` writes says
        "statuses"; "plain" is what studies without the line have always had.
    products : sequence of (condition, column of levels, variable, ...), optional
        ``("wage == 0", "econ")``: whether the condition holds, times each level of the column, also
        predicts whether a later variable has a status, is zero, or has the second of two levels; of
        the variables named after them, or else of all later ones. Levels at which 10 records meet
        the condition and 10 do not. What was found in the data ends with "found".
    learned : sequence of str, optional
        Of the predictors, those that tree ensembles read (boosted, of scikit-learn: ``pip install
        "riskweighted[learned]"``). Their scores are further predictors of every part that has no
        formula: each record's by an ensemble that was fitted without its fold, one of five, under
        the same risk weights. No synthesized column can be read.
    units : Units, optional
        Which records belong together. Members of a unit are drawn one after the other: each
        variable is also predicted by how the unit is made up, by the values that earlier members
        have of it, and by what the others have of predictors and earlier variables.

    Raises
    ------
    InputError
        If a variable is named twice or is a predictor too, or settings name another variable or do
        not suit the model.
    """

    variables: Sequence[str]
    predictors: Sequence[str] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    order: Sequence[Sequence[str]] = ()
    forbidden: Sequence[str] = ()
    violations: str = "error"
    recoding: str = RECODINGS[0]
    implied: Sequence[Sequence[str]] = ()
    sums: Sequence[Sequence[str]] = ()
    learned: Sequence[str] = ()
    products: Sequence[Sequence[str]] = ()
    units: Units | None = None

    def __post_init__(self) -> None:
        for what in ("variables", "predictors", "learned"):
            object.__setattr__(self, what, check_names(getattr(self, what), what))
        check_choice(self.recoding, RECODINGS, "recoding")
        if self.units is not None and not isinstance(self.units, Units):
            raise InputError(
                f"units must be Units, as rw.Units(id=...) makes them, got "
                f"{type(self.units).__name__}"
            )
        if not self.variables:
            raise InputError("variables names none; name at least one that is synthesized")
        both = [name for name in self.predictors if name in self.variables]
        if both:
            raise InputError(
                f"{listing(both)} cannot be both a predictor and synthesized: earlier variables "
                "predict later ones anyway"
            )
        self._check_learned()
        if not isinstance(self.settings, Mapping) or not all(
            isinstance(given, Mapping) for given in self.settings.values()
        ):
            raise InputError("settings must be a mapping of variable to a mapping of settings")
        strange = [
            name for name in self.settings if name not in (*self.variables, *self.predictors)
        ]
        if strange:
            raise InputError(
                f"settings name {listing(strange)}, which is not synthesized; valid are "
                f"{listing(self.variables)}"
            )
        altered = [name for name in self.predictors if set(self.settings.get(name, {})) - {"codes"}]
        if altered:
            raise InputError(
                f"settings of {listing(altered)}, which predicts and is not synthesized: valid "
                "is 'codes' alone"
            )
        object.__setattr__(
            self, "settings", {name: dict(given) for name, given in self.settings.items()}
        )
        for name in self.variables:
            self._check_own(name)
        _ = self.codes, self.rules
        object.__setattr__(
            self,
            "products",
            tuple(tuple(entry) if isinstance(entry, list) else entry for entry in self.products),
        )
        unused = [
            name
            for product in self.multiplied
            for name in product.variables
            if self.formula_of(name) is not None
        ]
        if unused and {*unused} >= {
            name for product in self.multiplied for name in product.variables
        }:
            raise InputError(
                f"products add columns where a variable has no formula, and {listing(unused)} "
                "has one: leave out one of them"
            )
        if self.learned and all(self.formula_of(name) is not None for name in self.variables):
            raise InputError(
                "learned adds scores where a variable has no formula, and every one has: leave "
                "out learned, or a formula"
            )

    def __hash__(self) -> int:
        return hash(repr(self))

    def _check_learned(self) -> None:
        """Refuse what a learned part cannot read."""
        altered = [name for name in self.learned if name in self.variables]
        if altered:
            raise InputError(
                f"learned names {listing(altered)}, which is synthesized: scores are made of "
                "columns that no dataset alters"
            )
        strange = [name for name in self.learned if name not in self.predictors]
        if strange:
            raise InputError(
                f"learned names {listing(strange)}, which is no predictor; valid are "
                f"{listing(self.predictors)}"
            )

    def _check_own(self, variable: str) -> None:
        """Refuse settings of a variable that can be known to be wrong without its data."""
        given, place = self._own(variable), f"variable {variable!r}:"
        for name in given:
            refuse_replaced("setting", f"synthesizer.variables.{name}")
        check_text(given.get("model"), f"{place} model", optional=True)
        check_text(given.get("formula"), f"{place} formula", optional=True)
        if "formula" in given and split_formula(given["formula"]).response != variable:
            raise InputError(
                f"{place} its formula must have it on the left, got "
                f"{split_formula(given['formula']).response!r}"
            )
        if given.get("model") is not None:
            if given["model"] == _ONE_BY_ONE:
                unknown = [name for name in given if name not in _OWN]
                if unknown:
                    raise InputError(
                        f"{place} model {_ONE_BY_ONE!r} has no setting {listing(unknown)}; valid "
                        f"are {listing(_OWN)}"
                    )
                return
            if given["model"] in _SEVERAL:
                raise InputError(
                    f"{place} model {given['model']!r} is of several variables; valid is one of "
                    "a single variable"
                )
            self._make(variable, given["model"], given.get("formula", f"`{variable}` ~ 1"))

    def _own(self, variable: str) -> Mapping[str, Any]:
        """Its settings; that it has no bounds is none, whose model then need not take any."""
        given = self.settings.get(variable, {})
        return (
            {name: value for name, value in given.items() if name != "support"}
            if given.get("support") == NONE
            else given
        )

    @cached_property
    def codes(self) -> dict[str, tuple[float, ...]]:
        """Special codes and spikes by variable, and codes of predictors; a number that a structural
        rule gives is one.
        """
        stated = {
            name: stated_codes(name, self._own(name))
            for name in (*self.variables, *self.predictors)
        }
        return {variable: codes for variable, codes in stated.items() if codes}

    @cached_property
    def rules(self) -> Rules:
        """Structural values, pairs with an order, forbidden combinations."""
        structures = (
            Structure.read(
                name, given.get("applies_if"), given.get("else_value"), f"variable {name!r}: rule"
            )
            for name, given in self.settings.items()
        )
        stated = [structure for structure in structures if structure is not None]
        return Rules(
            self.variables,
            self.order,
            self.forbidden,
            stated,
            self.codes,
            self.violations,
            implied=self.implied,
            sums=self.sums,
        )

    @cached_property
    def multiplied(self) -> tuple[Product, ...]:
        """The products that predict beside the predictors."""
        return read_products(self.products, self.variables, self.predictors)

    def data_dependent_choices(self, variable: str) -> tuple[str, ...]:
        """What it takes from the sensitive values for a variable, as the settings stand, beside
        what the variable's model does.
        """
        given, choices = self._own(variable), list[str]()
        if given.get("model") in (None, _ONE_BY_ONE):
            choices.append("the model, chosen by the values")
        if given.get("formula") is None:
            choices.append(
                "predictors, their levels, codes and knots, and how many its events allow"
            )
            choices += (
                ["how far the effects of many levels spread"]
                if self.recoding != RECODINGS[0]
                else []
            )
            choices += ["the scores of a learned part"] if self.learned else []
            choices += [
                f"the product {each.source!r}"
                for each in self.multiplied
                if each.found and variable in each.variables
            ]
        return tuple(choices)

    def formula_of(self, variable: str) -> str | None:
        """The user's formula for a variable, if any."""
        formula: str | None = self._own(variable).get("formula")
        return formula

    def one_by_one(self, variable: str, values: pd.Series, predictors: int) -> tuple[object, ...]:
        """Unordered levels, the rarest first, where a softmax would have more than 60 coefficients
        or the settings ask for it.
        """
        model = self._own(variable).get("model")
        if model not in (None, _ONE_BY_ONE):
            return ()
        number = holds_numbers(values)
        counts = values.value_counts()
        counts = counts[counts > 0]
        if number or len(counts) < 3:
            if model == _ONE_BY_ONE:
                raise InputError(
                    f"variable {variable!r}: model {_ONE_BY_ONE!r} is of three levels or more, "
                    "text or categories"
                )
            return ()
        if model is None and (
            self._suited(variable, values) != "multinomial"
            or (len(counts) - 1) * (1 + predictors) <= _MOST_SOFTMAX
        ):
            return ()
        return tuple(sorted(counts.index.tolist(), key=lambda level: (counts[level], str(level))))

    def status_model(self, formula: str) -> Synthesizer:
        """The model of a binary status."""
        return load_synthesizer("logistic")(formula)

    def value_model(self, variable: str, amounts: pd.Series, formula: str) -> Synthesizer:
        """The model of amounts or levels: the variable's own, or one that suits their type."""
        return self._make(
            variable, self._own(variable).get("model") or self._suited(variable, amounts), formula
        )

    def _suited(self, variable: str, amounts: pd.Series) -> str:
        """Name of the model for a type."""
        given, distinct = self._own(variable), amounts.nunique()
        if not holds_numbers(amounts) or "levels" in given:
            levels = len(given["levels"]) if "levels" in given else distinct
            if isinstance(amounts.dtype, pd.CategoricalDtype) and "levels" not in given:
                levels = len(amounts.cat.categories)
            if levels == 2:
                return "logistic"
            ordered = "levels" in given or (
                isinstance(amounts.dtype, pd.CategoricalDtype) and amounts.cat.ordered
            )
            return "ordinal" if ordered else "multinomial"
        numbers = amounts.to_numpy(dtype=float)
        few = distinct <= min(
            _MOST_COUNTS, max(len(amounts) / _RECORDS_PER_COUNT, 2), most_categories(len(amounts))
        )
        if few and not {"support", "heaping", "knots"} & set(given):
            return "counts"
        if distinct < _FEWEST_AMOUNTS:
            return "counts" if (numbers == np.rint(numbers)).all() else "linear-regression"
        return "two-part" if (numbers <= 0).any() else "transformation"

    def _make(self, variable: str, model: str, formula: str) -> Synthesizer:
        """A registered model with the variable's settings."""
        kind: Any = load_synthesizer(model)
        given = {name: value for name, value in self._own(variable).items() if name not in _OWN}
        known = (
            [field.name for field in dataclasses.fields(kind)]
            if dataclasses.is_dataclass(kind)
            else []
        )
        valid = [name for name in known if name != "formula" and name != "codes"]
        unknown = [name for name in given if name not in valid]
        if unknown:
            raise InputError(
                f"variable {variable!r}: its model {model!r} has no setting {listing(unknown)}; "
                f"valid are {listing([*_OWN, *valid])}"
            )
        try:
            made: Synthesizer = kind(
                formula, **{name: as_tuples(value) for name, value in given.items()}
            )
        except InputError as error:
            raise InputError(f"variable {variable!r}: {error}") from None
        return made
