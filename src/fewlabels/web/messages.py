"""What goes over the wire: the bodies of requests and answers of the HTTP API, version 1."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fewlabels.web.content import Part

# What a database can keep: no NUL. Half a character is refused by the JSON reader already.
Text = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]
Note = Annotated[str, Field(max_length=4000, pattern=r"^[^\x00]*$")]
Key = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
_MOST = 10_000


class Strict(BaseModel):
    """A body that is taken as it is: no field too many, no 1 for true."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Ask(Strict):
    """How many items are wanted; those already handed out to this person and still open come first."""

    n: Annotated[int, Field(ge=1, le=1000)] = 1


class Asked(BaseModel):
    """The items to label next; fewer than wanted, or none, when there are no more."""

    requests: list[Item]


class Item(BaseModel):
    """One item to label: what may be seen of it, and what the owner lets annotators see beside it."""

    id: str
    parts: list[Part]
    hints: dict[str, Any] = {}


class Given(Item):
    """What a person said about an item: a label, or why they skipped it."""

    label: str | None
    note: str | None


class Answers(BaseModel):
    """What a person said last, the newest first."""

    answers: list[Given]


class Label(Strict):
    """One answer."""

    id: Text
    label: Text


class Tell(Strict):
    """Answers of one person; if one of them cannot be taken, none is. The same `key` sent again is not taken twice."""

    labels: Annotated[list[Label], Field(min_length=1, max_length=_MOST)]
    note: Note | None = None
    key: Key | None = None


class Taken(BaseModel):
    """How many were taken."""

    taken: int


class Skip(Strict):
    """Items that this person cannot answer, and why."""

    ids: Annotated[list[Text], Field(min_length=1, max_length=_MOST)]
    reason: Text
    key: Key | None = None


class Retract(Strict):
    """Items whose answers this person takes back."""

    ids: Annotated[list[Text], Field(min_length=1, max_length=_MOST)]
    key: Key | None = None


class Withdraw(Strict):
    """Items about which everything is taken back."""

    ids: Annotated[list[Text], Field(min_length=1, max_length=_MOST)]
    note: Note | None = None


class Invite(Strict):
    """Somebody who shall get a personal link."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    role: Literal["annotator", "owner"] = "annotator"


class Invited(BaseModel):
    """Their token: shown this once."""

    name: str
    token: str


class Name(Strict):
    """Somebody."""

    name: Annotated[str, Field(min_length=1, max_length=100)]


class Me(BaseModel):
    """Who is signed in."""

    name: str
    role: str


class Member(BaseModel):
    """Somebody who was invited; locked out if `revoked`."""

    name: str
    role: str
    revoked: bool


class Summary(BaseModel):
    """One assessment in the list."""

    name: str
    question: str
    labels: int
    pending: int
    items: int
    groups: int


class Classes(BaseModel):
    """The names of the classes, in the order of the pool."""

    classes: list[str]


class Rows(BaseModel):
    """A table: one object a row, and the settings that made it."""

    rows: list[dict[str, Any]]
    settings: dict[str, Any] = {}


class Answer(Rows):
    """What the task concludes: in plain words, what that rests on, how sure it is, and the table behind it."""

    question: str
    headline: str
    basis: str
    doubts: list[str]
    words: str
    probability: float | None


class Disputed(BaseModel):
    """An item that waits for the owner: who said what, and who could not say."""

    id: str
    parts: list[Part]
    votes: dict[str, str]
    skips: dict[str, str]
