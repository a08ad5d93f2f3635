"""Answers that were given, in the memory of this process."""

from collections import OrderedDict

from ..context import RememberedAnswer

MOST_ANSWERS = 10_000  # pipeline.md section 16


class AnswersInMemory:
    """`context.AnswerCache`: the most recently used answers."""

    def __init__(self, most: int = MOST_ANSWERS) -> None:
        self._most = most
        self._answers: OrderedDict[tuple[str, str], RememberedAnswer] = OrderedDict()
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, scope: str, key: str) -> RememberedAnswer | None:
        found = self._answers.get((scope, key))
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._answers.move_to_end((scope, key))
        return found

    def put(self, scope: str, key: str, answer: RememberedAnswer) -> None:
        self._answers[scope, key] = answer
        self._answers.move_to_end((scope, key))
        while len(self._answers) > self._most:
            self._answers.popitem(last=False)

    def clear(self) -> int:
        """Forget everything; returns how many there were."""
        count = len(self._answers)
        self._answers.clear()
        return count
