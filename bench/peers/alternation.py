"""Runs contenders in turn and compares them round by round.

A machine that drifts drifts for all of a round, so what is quoted is the median
of the ratios within rounds, with the least and the greatest beside it.
"""

import dataclasses
import statistics


def alternate(contenders, rounds, warm_up=True, tell=None):
    """Runs each contender once a round; {name: [what it returned, ...]}.

    `contenders` maps names to functions without arguments. A warm-up round is
    not counted. `tell(round, name)` is called before each run.
    """
    results = {name: [] for name in contenders}
    for number in range(-1 if warm_up else 0, rounds):
        for name, run in contenders.items():
            if tell:
                tell(number, name)
            result = run()
            if number >= 0:
                results[name].append(result)
    return results


@dataclasses.dataclass
class Spread:
    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values):
        return cls(statistics.median(values), min(values), max(values))


@dataclasses.dataclass
class Comparison:
    """One line of the table: what Vouch and another reached, round by round."""

    what: str
    against: str
    ours: list
    theirs: list
    unit: str = "tok/s"
    #: The least ratio that is wanted, or None.
    target: float | None = None
    #: Times: the ratio is then theirs by ours, so that more is always better.
    less_is_better: bool = False

    def __post_init__(self):
        if not self.ours or len(self.ours) != len(self.theirs):
            raise ValueError(f"{self.what}: {len(self.ours)} runs of ours, "
                             f"{len(self.theirs)} of {self.against}")

    def ratios(self):
        pairs = zip(self.ours, self.theirs)
        if self.less_is_better:
            return [theirs / ours for ours, theirs in pairs]
        return [ours / theirs for ours, theirs in pairs]

    def ratio(self):
        return Spread.of(self.ratios())

    def reached(self):
        """True, False, or None where nothing is asked for."""
        if self.target is None:
            return None
        return self.ratio().median >= self.target


def _spread(spread, digits):
    return (f"{spread.median:.{digits}f} "
            f"[{spread.least:.{digits}f}, {spread.greatest:.{digits}f}]")


def table(comparisons):
    """Markdown: medians, [least, greatest], ratios, targets."""
    lines = ["| work | against | Vouch | the other | unit | ratio | target | |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for one in comparisons:
        target = "" if one.target is None else f"{one.target:.2f}"
        verdict = {True: "reached", False: "missed", None: ""}[one.reached()]
        lines.append(
            f"| {one.what} | {one.against} | {_spread(Spread.of(one.ours), 1)} "
            f"| {_spread(Spread.of(one.theirs), 1)} | {one.unit} "
            f"| {_spread(one.ratio(), 2)} | {target} | {verdict} |")
    return "\n".join(lines)
