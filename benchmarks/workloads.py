"""What is asked: texts of a support desk, drawn from a seed, whose lengths move over the repetitions.

A length that happens to be a multiple of some block would flatter whoever cuts prompts there, so the repetitions of a
workload spread their lengths evenly over ``SPREAD_TOKENS``.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from decision_adapter.decision import Decision, JsonState, Option

CHARACTERS_PER_TOKEN = 3.99
"""Of these texts in SmolLM2's vocabulary. Only aims: what is reported was counted by the tokenizer."""

PROMPT_TOKENS = 113
"""Of a prompt with two options, without its state: scaffold, question, options, and a case's number."""

SPREAD_TOKENS = 256

NAMES = (
    "Amara",
    "Bruno",
    "Chloe",
    "Dmitri",
    "Elif",
    "Farid",
    "Greta",
    "Hiro",
    "Ines",
    "Jonas",
    "Katya",
    "Luis",
    "Mei",
    "Noor",
    "Oskar",
    "Priya",
)
THINGS = (
    "parcel",
    "invoice",
    "password",
    "subscription",
    "refund",
    "delivery address",
    "gift card",
    "account",
    "order",
)
SENTENCES = (
    "{name} wrote that the {thing} {number} is still missing after {days} days.",
    "The agent looked up the {thing} and found two entries, {number} and {other}.",
    "A note by {name} says the customer was promised an answer within {days} days.",
    "The {thing} was changed on the customer's request, then changed back by {name}.",
    "An automatic message about the {thing} went to an old address of {name}.",
    "{name} asks for {number} euros back and will cancel the {thing} otherwise.",
    "The log shows error {number} while the {thing} was being updated.",
    "Nobody answered the mail of {name}, which mentions the {thing} {days} times.",
    "The warehouse confirmed the {thing} {number}, but not the date.",
    "{name} thanks for the quick help with the {thing} and has no further questions.",
)
QUESTIONS = (
    "Which team should handle this?",
    "How urgent is the case?",
    "What does the customer want most?",
    "Is there a promise that was not kept?",
    "What should the agent do next?",
    "Was the customer's identity checked?",
    "How does the customer feel?",
    "Does the {thing} have to be looked at by a person?",
    "Is the {thing} mentioned as the cause?",
    "Should {name} be told about it?",
)
DESCRIPTIONS = (
    "Yes, and it is stated in so many words.",
    "No, nothing says so.",
    "Account access and authentication support.",
    "Billing, payments and refunds.",
    "Delivery and lost parcels.",
    "It can wait for a week.",
    "It needs an answer today.",
    "The case can be closed.",
    "Someone more senior has to decide.",
)


@dataclass(frozen=True)
class Step:
    """One call: decisions that share a state, and whether its time counts.

    A step that does not count brings a state into memory. It is left to those who keep something.
    """

    decisions: tuple[Decision, ...]
    measured: bool = True


@dataclass(frozen=True)
class Scale:
    """How large everything is; lengths are in tokens of the whole prompt."""

    short_tokens: int
    long_tokens: int
    growing_tokens: int
    turn_tokens: int
    short_repetitions: int
    long_repetitions: int
    """Of the rows with a long state: new states, states kept, conversations, and requests with many questions."""
    turns: int
    """Questions about a kept state, and turns of a conversation."""
    questions: int
    """Of a request with many."""
    clients: int
    client_seconds: float
    starts: int
    curve_state_tokens: int
    """Of a prompt with one question, where something else than the state's length grows."""
    curve_tokens: tuple[int, ...]
    curve_questions: tuple[int, ...]
    curve_options: tuple[int, ...]
    curve_repetitions: int


FULL = Scale(
    short_tokens=130,
    long_tokens=1750,
    growing_tokens=1500,
    turn_tokens=60,
    short_repetitions=20,
    long_repetitions=3,
    turns=3,
    questions=21,
    clients=16,
    client_seconds=60,
    starts=5,
    curve_state_tokens=512,
    curve_tokens=(128, 256, 512, 1024, 2048, 3584),
    curve_questions=(1, 2, 4, 8, 16, 32),
    curve_options=(2, 4, 8, 16, 64, 200),
    curve_repetitions=2,
)
QUICK = Scale(
    short_tokens=130,
    long_tokens=260,
    growing_tokens=160,
    turn_tokens=30,
    short_repetitions=1,
    long_repetitions=1,
    turns=1,
    questions=2,
    clients=2,
    client_seconds=1,
    starts=1,
    curve_state_tokens=140,
    curve_tokens=(128, 160),
    curve_questions=(1, 2),
    curve_options=(2, 4),
    curve_repetitions=1,
)
"""Shows that everything runs. Its numbers mean nothing."""


class Desk:
    """Makes decisions about cases that a support desk could have; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._made = 0

    def text(self, characters: int) -> str:
        """Sentences of that length in all, cut at the end of a word."""
        text = ""
        while len(text) < characters:
            text += self._fill(self._random.choice(SENTENCES)) + " "
        return text[:characters].rsplit(" ", 1)[0]

    def decision(self, state: JsonState, options: int = 2) -> Decision:
        """A new question about ``state``."""
        self._made += 1
        descriptions = [self._random.choice(DESCRIPTIONS) for _ in range(options)]
        return Decision(
            id=f"case-{self._made}",
            state=state,
            question=self._fill(self._random.choice(QUESTIONS)) + f" (check {self._random.randint(100, 999)})",
            options=[Option(id=f"option-{index}", description=text) for index, text in enumerate(descriptions)],
        )

    def state(self, prompt_tokens: float) -> str:
        """A state with which a prompt of two options has about ``prompt_tokens``."""
        return f"Case {self._random.randint(10_000, 99_999)}: " + self.text(
            max(20, round((prompt_tokens - PROMPT_TOKENS) * CHARACTERS_PER_TOKEN))
        )

    def _fill(self, sentence: str) -> str:
        draw = self._random
        return sentence.format(
            name=draw.choice(NAMES),
            thing=draw.choice(THINGS),
            number=draw.randint(100, 9999),
            other=draw.randint(100, 9999),
            days=draw.randint(2, 30),
        )


def spread(count: int, width: int = SPREAD_TOKENS) -> list[int]:
    """``count`` offsets at even distances over ``width``, around 0."""
    return [round(width * ((index + 0.5) / count - 0.5)) for index in range(count)]


def new_short_state(scale: Scale, seed: int) -> Iterator[Step]:
    """A short state each time, never seen before."""
    desk = Desk(seed)
    for offset in spread(scale.short_repetitions, width=32):
        yield Step((desk.decision(desk.state(scale.short_tokens + offset)),))


def new_long_state(scale: Scale, seed: int) -> Iterator[Step]:
    """A long state each time, never seen before. Twice as often as what is done about a kept one."""
    desk = Desk(seed)
    for offset in spread(2 * scale.long_repetitions):
        yield Step((desk.decision(desk.state(scale.long_tokens + offset)),))


def new_question(scale: Scale, seed: int) -> Iterator[Step]:
    """A long state that is known, and a new question about it each time."""
    desk = Desk(seed)
    for offset in spread(scale.long_repetitions):
        state = desk.state(scale.long_tokens + offset)
        for turn in range(scale.turns + 1):
            yield Step((desk.decision(state),), measured=turn > 0)


def growing_state(scale: Scale, seed: int) -> Iterator[Step]:
    """An agent's history: a list of messages to which each turn adds one, and a new question about the whole."""
    desk = Desk(seed)
    per_message = round(scale.turn_tokens * CHARACTERS_PER_TOKEN) - len(', {"role": "agent", "content": ""}')
    for offset in spread(scale.long_repetitions):
        messages: list[object] = [{"role": "agent", "content": desk.state(scale.growing_tokens + offset)}]
        for turn in range(scale.turns + 1):
            yield Step((desk.decision(list(messages)),), measured=turn > 0)
            messages.append({"role": "user" if turn % 2 else "agent", "content": desk.text(per_message)})


def many_questions(scale: Scale, seed: int) -> Iterator[Step]:
    """One request with many questions about a long state, never seen before."""
    desk = Desk(seed)
    for offset in spread(scale.long_repetitions):
        state = desk.state(scale.long_tokens + offset)
        yield Step(tuple(desk.decision(state) for _ in range(scale.questions)))
