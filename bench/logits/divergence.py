"""What is said about distances to a reference: their spread over positions and
the ratio of two programs' distances."""

import dataclasses
import random
import statistics

RESAMPLES = 200


def p99(values):
    return statistics.quantiles(values, n=100, method="inclusive")[98]


@dataclasses.dataclass
class Distances:
    """One program's, an entry for each position, in the reference's order.

    divergence: KL(reference || program) of the next token, in nats.
    same_pick:  whether the largest logit is the same token's.
    difference: mean absolute difference of the logits.
    """

    divergence: list = dataclasses.field(default_factory=list)
    same_pick: list = dataclasses.field(default_factory=list)
    difference: list = dataclasses.field(default_factory=list)

    def add(self, divergence, same_pick, difference):
        self.divergence += divergence
        self.same_pick += same_pick
        self.difference += difference


@dataclasses.dataclass
class Ratio:
    """Ours by theirs, and how far it would move with other positions: the
    middle 90% of the ratios of as many positions drawn with replacement (the
    same ones for both)."""

    value: float
    low: float
    high: float

    def __str__(self):
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def ratio(ours, theirs, statistic):
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} positions against {len(theirs)}")
    pairs, draw, drawn = list(zip(ours, theirs)), random.Random(1), []
    for _ in range(RESAMPLES):
        some_ours, some_theirs = zip(*draw.choices(pairs, k=len(pairs)))
        drawn.append(statistic(some_ours) / statistic(some_theirs))
    limits = statistics.quantiles(drawn, n=20, method="inclusive")
    return Ratio(statistic(ours) / statistic(theirs), limits[0], limits[-1])


STATISTICS = {"mean": statistics.fmean, "p99": p99}


def ratios(ours, theirs):
    """{"mean": Ratio, "p99": Ratio} of the divergences."""
    return {name: ratio(ours.divergence, theirs.divergence, statistic)
            for name, statistic in STATISTICS.items()}


def table(named):
    """A markdown table of {name: Distances}."""
    lines = ["| program | mean | median | p99 | max | same greedy token "
             "| logits, mean abs. difference |", "|" + " --- |" * 7]
    for name, each in named.items():
        values = each.divergence
        lines.append(
            f"| {name} | {statistics.fmean(values):.6f} "
            f"| {statistics.median(values):.6f} | {p99(values):.6f} "
            f"| {max(values):.6f} "
            f"| {100 * statistics.fmean(each.same_pick):.2f}% "
            f"| {statistics.fmean(each.difference):.6f} |")
    return "\n".join(lines)


def ratio_table(ours, named):
    """Ours against each of {name: Distances}."""
    lines = ["| ours by | mean | p99 |", "|" + " --- |" * 3]
    for name, theirs in named.items():
        found = ratios(ours, theirs)
        lines.append(f"| {name} | {found['mean']} | {found['p99']} |")
    return "\n".join(lines)


def exceeding(ours, named, at_most):
    """What is above `at_most`: sentences."""
    return [f"{statistic} divergence is {found.value:.3f} of {name}'s, more "
            f"than {at_most}"
            for name, theirs in named.items()
            for statistic, found in ratios(ours, theirs).items()
            if found.value > at_most]
