"""Why an operation was not carried out, as the protocol of the adapters has it."""


class NotDone(Exception):
    """An operation was not carried out; `code` says on whose account."""

    code = "agent"


class AgentBroke(NotDone):
    """A crash, a time-out or an answer that cannot be read."""


class Refused(NotDone):
    code = "refused"


class Unsupported(NotDone):
    code = "unsupported"


class Unavailable(NotDone):
    code = "infrastructure"
