"""What a saver remembers between calls, all of it bounded: generations, channels asked, chains.

A chain serves two purposes. As an **answer** it saves the request that LangGraph would make right
after a read; it is dropped as soon as this saver writes to one of its checkpoints, when the thread
is seen to be gone or restored, and after `ANSWER_SECONDS_MAX`, because other processes write too.
As an **offer** (`have`) it saves bytes: the server compares digests, so it can never be stale.

The lock is held for dictionary operations only, never across I/O.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable

from threadkeep.langgraph.history import Chain, Key

THREADS_MAX = 10_000
CHANNELS_MAX = 256
TOUCHES_MAX = 256
FORMER_MAX = 2 * TOUCHES_MAX
ANSWER_SECONDS_MAX = 60.0

Touch = tuple[Key, bool]
"""A checkpoint that was written, and whether it was put (else writes were added to it)."""

Slot = tuple[str, str, int]
"""Thread, namespace ("" for the pages of a list, which may mix them) and a number."""


class ThreadMemory:
    """What is known of one thread. `touched` are the checkpoints written last, `touches` counts.
    `former` are checkpoints that were written before a restore and not read since, with the
    generation of then: a run that is still under way goes on from them."""

    __slots__ = ("channels", "former", "generation", "touched", "touches")

    def __init__(self) -> None:
        self.generation: str | None = None
        self.former: dict[Key, str] = {}
        self.channels: dict[str, None] = {}
        self.touched: deque[Touch] = deque(maxlen=TOUCHES_MAX)
        self.touches = 0


class ReadMark:
    """The state of a thread when a read began; tells what was written while it was under way."""

    __slots__ = ("_memory", "_touches")

    def __init__(self, memory: ThreadMemory) -> None:
        self._memory = memory
        self._touches = memory.touches

    def is_disturbed(self, current: ThreadMemory | None, chain: Chain) -> bool:
        """Whether a write since then changed an answer of the chain, or may have."""
        if current is not self._memory:
            return True
        count = current.touches - self._touches
        if count > TOUCHES_MAX:
            return True
        recent = list(current.touched)[len(current.touched) - count :]
        return any(_changes(touch, chain) for touch in recent)


class _Held:
    __slots__ = ("chain", "read_at")

    def __init__(self, chain: Chain, read_at: float | None) -> None:
        self.chain = chain
        self.read_at = read_at


class Memory:
    """See the module. `chain_bytes_max` bounds all chains together; 0 keeps none."""

    def __init__(
        self, chain_bytes_max: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.chain_bytes_max = chain_bytes_max
        self._clock = clock
        self._number = 0
        self.forget_everything()

    def forget_everything(self) -> None:
        """Start anew, with a new lock: also for a forked child, where the old one may be held."""
        self._lock = threading.Lock()
        self._threads: OrderedDict[str, ThreadMemory] = OrderedDict()
        self._chains: OrderedDict[Slot, _Held] = OrderedDict()
        self._slots: dict[str, list[Slot]] = {}
        self._bytes = 0

    # Generations and channels

    def generation(self, thread_id: str) -> str | None:
        """The generation last heard of."""
        known = self._threads.get(thread_id)
        return known.generation if known is not None else None

    def generation_for(self, thread_id: str, ops: Iterable[tuple[Key | None, Key]]) -> str | None:
        """The generation in which operations are meant; of each the key that it goes on from and
        its own. One that goes on from before a restore is of then, and so is what follows it."""
        known = self._threads.get(thread_id)
        if known is None or not known.former:
            return self.generation(thread_id)
        with self._lock:
            generation = known.generation
            for based_on, key in ops:
                former = known.former.get(based_on) if based_on is not None else None
                if former is not None:
                    known.former[key] = generation = former
            return generation

    def learn(self, thread_id: str, generation: str | None) -> None:
        """Note a generation from an answer. Another one than before: the thread was restored."""
        with self._lock:
            known = self._known(thread_id)
            if known.generation == generation:
                return
            if known.generation is not None:
                self._drop_answers(thread_id)
                known.former.update((key, known.generation) for key, _ in known.touched)
                while len(known.former) > FORMER_MAX:
                    del known.former[next(iter(known.former))]
            known.generation = generation

    def seen(self, thread_id: str, keys: Iterable[Key]) -> None:
        """Checkpoints were read: whoever goes on from them knows the thread as it is now."""
        known = self._threads.get(thread_id)
        if known is None or not known.former:
            return
        with self._lock:
            for key in keys:
                known.former.pop(key, None)

    def channels(self, thread_id: str) -> list[str]:
        """The channels whose history was asked for."""
        known = self._threads.get(thread_id)
        return list(known.channels) if known is not None else []

    def asked(self, thread_id: str, channels: Iterable[str]) -> None:
        """Note channels whose history was asked for."""
        with self._lock:
            known = self._known(thread_id)
            known.channels.update(dict.fromkeys(channels))
            while len(known.channels) > CHANNELS_MAX:
                del known.channels[next(iter(known.channels))]

    # Writes

    def touch(self, thread_id: str, touches: Iterable[Touch]) -> None:
        """Checkpoints are about to be written, or have been. Call before and after."""
        with self._lock:
            known = self._known(thread_id)
            for touch in touches:
                known.touches += 1
                known.touched.append(touch)
                for slot in self._slots.get(thread_id, ()):
                    held = self._chains[slot]
                    if _changes(touch, held.chain):
                        held.read_at = None

    def forget(self, thread_id: str) -> None:
        """The thread is about to be replaced or removed, or has been. Call before and after."""
        with self._lock:
            known = self._threads.pop(thread_id, None)
            if known is not None and known.channels:
                self._known(thread_id).channels = known.channels
            for slot in list(self._slots.get(thread_id, ())):
                self._remove(slot)

    def drop_all_answers(self) -> None:
        """Something of unknown extent was deleted. Call before and after."""
        with self._lock:
            for known in self._threads.values():
                known.touches += TOUCHES_MAX + 1
            for held in self._chains.values():
                held.read_at = None

    # Reads

    def begin_read(self, thread_id: str) -> ReadMark:
        """Call before a read is sent whose answer may be kept."""
        with self._lock:
            return ReadMark(self._known(thread_id))

    def offer(self, thread_id: str, checkpoint_ns: str) -> Chain | None:
        """The chain last read in this namespace, to get only the difference."""
        with self._lock:
            slot = (thread_id, checkpoint_ns, 0)
            held = self._chains.get(slot)
            if held is None:
                return None
            self._chains.move_to_end(slot)
            return held.chain

    def answer(self, thread_id: str, key: Key, channels: Iterable[str]) -> Chain | None:
        """A chain that still holds the histories of these channels of this checkpoint."""
        with self._lock:
            for slot in reversed(self._slots.get(thread_id, ())):
                held = self._chains[slot]
                if held.read_at is None or self._clock() - held.read_at > ANSWER_SECONDS_MAX:
                    continue
                target = held.chain.targets.get(key)
                if target is not None and target.channels.issuperset(channels):
                    self._chains.move_to_end(slot)
                    return held.chain
        return None

    def keep(self, thread_id: str, checkpoint_ns: str, chain: Chain, mark: ReadMark) -> None:
        """Keep the chain of one walk as offer and answer; the one before stays as an answer."""
        with self._lock:
            latest, previous = (thread_id, checkpoint_ns, 0), (thread_id, checkpoint_ns, -1)
            before = self._remove(latest)
            if before is not None and before.read_at is not None:
                self._insert(previous, before)
            self._insert(latest, self._held(thread_id, chain, mark))

    def keep_page(self, thread_id: str, chain: Chain, mark: ReadMark) -> None:
        """Keep the chain of a page of a list, as answer only."""
        with self._lock:
            held = self._held(thread_id, chain, mark)
            if held.read_at is not None and chain.targets:
                self._number += 1
                self._insert((thread_id, "", self._number), held)

    def drop_answers(self, thread_id: str) -> None:
        """The thread, or a checkpoint of it, was seen to be gone."""
        with self._lock:
            self._drop_answers(thread_id)

    # Below, the lock is held by the caller.

    def _held(self, thread_id: str, chain: Chain, mark: ReadMark) -> _Held:
        disturbed = mark.is_disturbed(self._threads.get(thread_id), chain)
        return _Held(chain, None if disturbed else self._clock())

    def _known(self, thread_id: str) -> ThreadMemory:
        known = self._threads.get(thread_id)
        if known is not None:
            self._threads.move_to_end(thread_id)
            return known
        known = self._threads[thread_id] = ThreadMemory()
        if len(self._threads) > THREADS_MAX:
            self._threads.popitem(last=False)
        return known

    def _drop_answers(self, thread_id: str) -> None:
        for slot in self._slots.get(thread_id, ()):
            self._chains[slot].read_at = None

    def _insert(self, slot: Slot, held: _Held) -> None:
        self._remove(slot)
        if held.chain.size_bytes > self.chain_bytes_max:
            return
        self._chains[slot] = held
        self._slots.setdefault(slot[0], []).append(slot)
        self._bytes += held.chain.size_bytes
        while self._bytes > self.chain_bytes_max:
            self._remove(next(iter(self._chains)))

    def _remove(self, slot: Slot) -> _Held | None:
        held = self._chains.pop(slot, None)
        if held is not None:
            self._bytes -= held.chain.size_bytes
            slots = self._slots[slot[0]]
            slots.remove(slot)
            if not slots:
                del self._slots[slot[0]]
        return held


def _changes(touch: Touch, chain: Chain) -> bool:
    """A target's own writes are no part of its history, but a put may give it another parent."""
    key, is_put = touch
    return key in chain.ids or (is_put and key in chain.targets)
