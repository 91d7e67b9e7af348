"""Options of the rule ensemble."""

from perf_culprit.config.policy_settings import RuleEnsembleConfig
from perf_culprit.stats.association_rules import Mining


class RuleOptions(RuleEnsembleConfig):
    """User settings and experimental options. `discretisation` and `ensemble` name methods of [F11].

    `single` is one model of all runs, for comparison. `confidence_change` flags a counter. A medium level (68% of
    instants) that falls to 30%, or a shift by one and a half standard deviations, gives 0.25. A very different value
    for more than half of the test reaches it too. `alpha` bounds how often a counter's rules fail by chance. `warm_up`
    and `cool_down` are the dropped fractions of a test. `interval_s`: None finds an interval that holds a sample of the
    slowest counter and divides a test into at most `intervals`. The nearest and newest `most_models` runs are mined.
    With `prefer_near_duplicates` only runs of the target's environment are, if there are two; a single one must agree
    with the majority. `weights` are the user's own for models by commit; others weigh 1.
    """

    alpha: float = 0.01
    interval_s: float | None = None
    most_models: int = 10
    prefer_near_duplicates: bool = True

    @property
    def is_published(self) -> bool:
        return self.profile == "thesis"

    @property
    def mining(self) -> Mining:
        return Mining(
            minimum_support=self.support,
            minimum_confidence=self.confidence,
            premise_length=self.premises,
            prune=not self.is_published,
        )


def rule_options(config: RuleEnsembleConfig) -> RuleOptions:
    """Convert the configuration; the thesis learns from all runs, near or not."""
    return RuleOptions.model_construct(prefer_near_duplicates=config.profile != "thesis", **dict(config))
