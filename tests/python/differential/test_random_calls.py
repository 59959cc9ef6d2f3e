"""Random sequences of calls, sync and async mixed: every read answers as the contract says, on the product as in memory.

Where the in-memory saver does something else on purpose or by mistake (re-puts, versions used twice, containment in
filters, old pending sends) and for what it lacks (copy, delete for runs, prune), the model alone is the measure.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from differential import settings
from differential import values as v
from differential.calls import Calls
from differential.model import Exists, ModelSaver


class CallsOfOurs(Calls):
    """Also what the in-memory saver lacks."""

    def calls(self) -> list[tuple[Callable[[Any], None], int]]:
        return [*super().calls(), (self.delete_for_runs, 1), (self.prune, 1), (self.copy_thread, 1)]

    def delete_for_runs(self, data: Any) -> None:
        runs = data.draw(st.sampled_from([*([run] for run in v.RUNS), ["unknown"], [], v.RUNS[:2]]))
        self._everywhere(self._runner(data), "delete_for_runs", runs)
        self.removed = True

    def prune(self, data: Any) -> None:
        threads = data.draw(
            st.sampled_from([self.threads[:1], self.threads[1:], self.threads, ["unknown"], []])
        )
        strategy = data.draw(st.sampled_from(["keep_latest"] * 5 + ["delete"]), label="strategy")
        self._everywhere(self._runner(data), "prune", threads, strategy=strategy)
        self.removed = True

    def copy_thread(self, data: Any) -> None:
        runner, pair = (
            self._runner(data),
            data.draw(st.permutations(self.threads), label="from, to"),
        )
        if not self.model.holds(pair[0]):
            return
        if data.draw(st.booleans(), label="make room"):
            self._everywhere(runner, "delete_thread", pair[1])
        taken = all(map(self.model.holds, pair))
        with pytest.raises(Exception, match=r"(?i)exist") if taken else contextlib.nullcontext():
            self.savers[0](runner, "copy_thread", *pair)
        with contextlib.suppress(Exists):
            self.model.copy_thread(*pair)


def try_many(make: Callable[[], Calls]) -> None:
    @hypothesis_settings(
        max_examples=settings.EXAMPLES,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def one_sequence(data: Any) -> None:
        make().run(data, settings.STEPS)

    one_sequence()


def test_the_saver_and_the_in_memory_saver_answer_alike(saver: Any) -> None:
    try_many(lambda: Calls(saver, InMemorySaver()))


def test_the_saver_answers_as_the_contract_says(saver: Any) -> None:
    try_many(lambda: CallsOfOurs(saver))


def test_the_model_itself_and_the_in_memory_saver_answer_alike() -> None:
    try_many(lambda: Calls(ModelSaver(), InMemorySaver()))
