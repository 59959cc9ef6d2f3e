"""One run from end to end with a real embedding model: what means the same is found without a word in common."""

from collections.abc import Iterator

import pytest
from threadkeep.langgraph import ThreadkeepStore

from support import settings
from support.clusters import cosine
from support.minilm import DIMS, MiniLm
from support.server import Server

MEMORIES = {
    "drink": "Every morning she orders an oat flat white at the corner cafe.",
    "pet": "Her kitten sleeps on the keyboard while she works.",
    "music": "He practises the violin in the evening.",
    "money": "The invoice has to be paid before the end of the month.",
    "journey": "They took the night train from Vienna to Rome.",
    "weather": "It rained so hard that the cellar was flooded.",
    "code": "The service crashes with a null pointer when the list is empty.",
    "food": "He cannot eat peanuts, they make his throat swell.",
}
QUESTIONS = {
    "Which coffee does she like?": "drink",
    "Does she own a cat?": "pet",
    "What instrument does he play?": "music",
    "When is the bill due?": "money",
    "How did they travel to Italy?": "journey",
    "Was there a storm?": "weather",
    "What is the bug?": "code",
    "Is he allergic to anything?": "food",
}


@pytest.fixture(scope="module")
def model() -> MiniLm:
    assert settings.WEIGHTS, "THREADKEEP_TEST_WEIGHTS must name what tests/setup/weights.sh made"
    return MiniLm(settings.WEIGHTS)


@pytest.fixture
def store(server: Server, api_key: str, model: MiniLm) -> Iterator[ThreadkeepStore]:
    index = {"dims": DIMS, "embed": model.embed, "fields": ["text"], "model": "all-MiniLM-L6-v2"}
    with ThreadkeepStore(server.url, api_key=api_key, index=index) as made:
        yield made


def test_the_model_says_what_its_authors_publish(model: MiniLm) -> None:
    from array import array

    first, second = (
        array("f", it)
        for it in model.embed(["The new movie is awesome", "The new movie is so great"])
    )
    assert cosine(first, second) == pytest.approx(0.8939, abs=2e-3)
    cat, guitar = (
        array("f", it) for it in model.embed(["The cat sits outside", "A man is playing guitar"])
    )
    assert cosine(cat, guitar) == pytest.approx(0.0363, abs=2e-3)


def test_questions_find_what_answers_them(store: ThreadkeepStore) -> None:
    for key, text in MEMORIES.items():
        store.put(("ann", "memories"), key, {"text": text})
    for question, key in QUESTIONS.items():
        found = store.search(("ann",), query=question, limit=3)
        assert found[0].key == key, question
        scores = [item.score for item in found]
        assert None not in scores
        assert scores == sorted(scores, reverse=True)
