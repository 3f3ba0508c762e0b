"""The bodies of requests and answers of the HTTP API, version 1."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fewlabels.web.content import Part

# Databases cannot store NUL. Half a character is already refused by the JSON reader.
Text = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]
# Ids and classes come from the pool and can be as long as they like; a request is limited in size as a whole.
Id = Annotated[str, Field(min_length=1, max_length=100_000, pattern=r"^[^\x00]*$")]
Next = Annotated[int, Field(ge=0, le=100, description="Items to hand out in the same call, as `ask` does.")]
Note = Annotated[str, Field(max_length=4000, pattern=r"^[^\x00]*$")]
Key = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
_ABOUT_ORIGIN = "Where the caller reaches the server, such as https://label.example.com; for the link."
ORIGIN = r"^https?://[^\s/?#]{1,292}$"
Origin = Annotated[str | None, Field(pattern=ORIGIN, description=_ABOUT_ORIGIN)]
_MOST = 10_000


class Strict(BaseModel):
    """A body that must match exactly: no extra fields, and no 1 for true."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Ask(Strict):
    """The number of items wanted; this person's open items come first."""

    n: Annotated[int, Field(ge=1, le=1000)] = 1


class Asked(BaseModel):
    """The items to label next; fewer than wanted, or none, if no more are left."""

    requests: list[Item]


class Item(BaseModel):
    """One item to label: its visible content, and the hints that the owner allows beside it."""

    id: str
    parts: list[Part]
    hints: dict[str, Any] = {}


class Given(Item):
    """A person's answer about an item: a label, or the reason for skipping it."""

    label: str | None
    note: str | None
    at: datetime | None = None


class Answers(BaseModel):
    """A person's last answers, newest first."""

    answers: list[Given]


class Label(Strict):
    """One answer."""

    id: Id
    label: Id


class Decide(Strict):
    """Labels; if one is refused, none is taken. Those with the same `key` are taken only once."""

    labels: Annotated[list[Label], Field(min_length=1, max_length=_MOST)]
    note: Note | None = None
    key: Key | None = None


class Tell(Decide):
    """Answers of one person. With `next`, the items that come next are handed out in the same call."""

    next: Next = 0


class Taken(BaseModel):
    """The number of answers that were taken."""

    taken: int


class TakenAndAsked(Taken):
    """The number of answers that were taken, and the items to label next if they were wanted."""

    requests: list[Item] = []


class Skip(Strict):
    """Items that this person cannot answer, and why."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=_MOST)]
    reason: Text
    key: Key | None = None
    next: Next = 0


class Retract(Strict):
    """Items whose answers this person takes back."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=_MOST)]
    key: Key | None = None


class Withdraw(Strict):
    """Items to take back completely."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=_MOST)]
    note: Note | None = None


class WithdrawPerson(Strict):
    """A person whose answers and open items are taken back, and nobody else's."""

    name: Text
    note: Note | None = None


class Invite(Strict):
    """A person to invite."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    role: Literal["annotator", "owner"] = "annotator"
    origin: Origin = None


class InviteAgain(Strict):
    """A person whose link is replaced by a new one."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    origin: Origin = None


class Invited(BaseModel):
    """The token of somebody who was invited, shown only this once; with their personal link, and that as a QR code."""

    name: str
    token: str
    link: str
    qr: Annotated[str, Field(description="A picture, as an address that begins with data:image/svg+xml.")]
    csrf: Annotated[str | None, Field(description="The new token of the page, for owners who renewed their own.")] = (
        None
    )


class Name(Strict):
    """The name of a person."""

    name: Annotated[str, Field(min_length=1, max_length=100)]


class Me(BaseModel):
    """The person who is signed in."""

    name: str
    role: str


class Member(BaseModel):
    """A person who was invited; locked out if `revoked`."""

    name: str
    role: str
    revoked: bool


class Summary(BaseModel):
    """One assessment in the list; if it cannot be opened, only its name and the problem are known."""

    name: str
    question: str | None = None
    labels: int | None = None
    pending: int | None = None
    disputed: int | None = None
    items: int | None = None
    groups: int | None = None
    budget: int | None = None
    problem: str | None = None


class Classes(BaseModel):
    """The names of the classes, in the order of the pool, and what the owner says they mean."""

    classes: list[str]
    descriptions: dict[str, str] = {}


class Guide(BaseModel):
    """What annotators are told: guidelines in Markdown, and what classes mean. Version 0 is an empty one."""

    guidelines: str
    descriptions: dict[str, str]
    version: int


class WriteGuide(Strict):
    """A new version of the guide; what is left out stays. Refused if `over` is not the present version."""

    guidelines: Annotated[str, Field(max_length=100_000, pattern=r"^[^\x00]*$")] | None = None
    descriptions: dict[str, Annotated[str, Field(max_length=4000, pattern=r"^[^\x00]*$")]] | None = None
    over: Annotated[int, Field(ge=0)] | None = None


class Rows(BaseModel):
    """A table: one object per row, and the settings behind it."""

    rows: list[dict[str, Any]]
    settings: dict[str, Any] = {}


class Answer(Rows):
    """The conclusion of the task: in plain words, with its basis, its probability, and the table behind it."""

    question: str
    headline: str
    basis: str
    doubts: list[str]
    words: str
    probability: float | None


class Disputed(BaseModel):
    """An item that waits for the owner, with people's votes and skips."""

    id: str
    parts: list[Part]
    votes: dict[str, str]
    skips: dict[str, str]
    notes: dict[str, str] = {}
