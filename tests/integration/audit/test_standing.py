"""History changed after it was shown: cut off at its end, edited in place, put back from yesterday (P8, D4)."""

from msgspec.structs import replace

from services.audit.standing import Standing
from tests.integration.audit.conftest import TABLE_FEED, ListFeed


async def kept(audit, table):
    feed = ListFeed(TABLE_FEED, table.events)
    await audit.take(feed)
    return feed, Standing(TABLE_FEED, audit.database, feed)


async def test_a_feed_that_shows_what_it_has_shown_raises_no_alarm(audit, table):
    feed, standing = await kept(audit, table)
    await standing.look(range(1, len(feed.events) + 1))
    await standing.look()
    assert await audit.kinds() == []


async def test_a_history_whose_end_was_cut_off_is_found_at_the_next_look_and_told_once(audit, table):
    """No later event shows it, and a bus that was cut as well would not tell either."""
    feed, standing = await kept(audit, table)
    newest = feed.events[-1].global_seq
    del feed.events[-5:]
    await standing.look()
    await standing.look([newest])
    found = await audit.rows("select kind, global_seq from finding where global_seq = $1", newest)
    assert found == [("FEED_CUT", newest)]


async def test_a_database_put_back_from_yesterday_that_goes_on_otherwise_is_found(audit, table):
    feed, standing = await kept(audit, table)
    other = [replace(event.event, body=event.event.body + b"!") for event in feed.events[-3:]]
    feed.events[-3:] = [replace(event, event=body) for event, body in zip(feed.events[-3:], other, strict=True)]
    await standing.look()
    assert set(await audit.kinds()) == {"FEED_REWRITTEN"}


async def test_every_field_of_an_earlier_event_is_held_to_what_it_was(audit, table):
    feed, standing = await kept(audit, table)
    changes = ({"recorded_at_ms": 1}, {"body": b"?"}, {"hash": bytes(32)}, {"prev_hash": bytes(32)}, {"epoch": 99})
    for number, change in enumerate(changes, 3):
        feed.events[number - 1] = replace(
            feed.events[number - 1], event=replace(feed.events[number - 1].event, **change)
        )
        await standing.look([number])
        assert (await audit.rows("select kind, global_seq from finding"))[-1] == ("FEED_REWRITTEN", number), change


async def test_an_event_that_was_taken_out_of_the_middle_is_found(audit, table):
    feed, standing = await kept(audit, table)
    gone = feed.events.pop(len(feed.events) // 2).global_seq
    await standing.look([gone])
    assert await audit.kinds() == ["FEED_CUT"]
