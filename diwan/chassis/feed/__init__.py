"""A service's committed events in one gap-free order, on their way to whoever needs them."""

from diwan.chassis.feed.consumer import Consumer, Quarantined
from diwan.chassis.feed.feed import Feed
from diwan.chassis.feed.records import FeedEvent, FeedSource
from diwan.chassis.feed.relay import Fork
from diwan.chassis.feed.scrub import ScrubReport, scrub
from diwan.chassis.feed.task import FeedTask

__all__ = ["Consumer", "Feed", "FeedEvent", "FeedSource", "FeedTask", "Fork", "Quarantined", "ScrubReport", "scrub"]
