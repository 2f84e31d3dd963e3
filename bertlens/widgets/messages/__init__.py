"""What a page asks and how it is answered: names that every room with questions of its own takes."""

from .arguments import ARGUMENTS, Argument, choice
from .dispatch import answered, question_of
from .plain_question import PlainQuestion, packed
from .records import Again, Answer, Arrays, Message, Nothing, Reply, Selection, WorkEnd, refusal
from .turns import PATIENCE, SteppedWorks, ask_again, at_work, in_steps

__all__ = [
    "ARGUMENTS",
    "PATIENCE",
    "Again",
    "Answer",
    "Argument",
    "Arrays",
    "Message",
    "Nothing",
    "PlainQuestion",
    "Reply",
    "Selection",
    "SteppedWorks",
    "WorkEnd",
    "answered",
    "ask_again",
    "at_work",
    "choice",
    "in_steps",
    "packed",
    "question_of",
    "refusal",
]
