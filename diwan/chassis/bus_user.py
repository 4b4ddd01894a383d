"""A user of the bus: what services know of it without knowing how a server is started."""

import msgspec


class NatsUser(msgspec.Struct, frozen=True, kw_only=True):
    """A user of the bus and the subjects that it may publish to and subscribe to; whatever is not listed is denied."""

    name: str
    password: str
    publish: list[str]
    subscribe: list[str]
