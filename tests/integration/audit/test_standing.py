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


async def test_a_change_that_no_draw_hits_is_found_by_going_through_all_of_it(audit, table, monkeypatch):
    """One event of many, edited in place: found within as many looks as the feed has parts, and told once."""
    feed, standing = await kept(audit, table)
    monkeypatch.setattr("services.audit.standing.DRAWN", 0)
    monkeypatch.setattr("services.audit.standing.SWEPT", 20)
    parts = -(-len(feed.events) // 20)
    for _ in range(2 * parts):
        await standing.look()
    assert await audit.kinds() == []
    at = len(feed.events) // 3
    feed.events[at] = replace(feed.events[at], event=replace(feed.events[at].event, body=b"another"))
    for _ in range(2 * parts + 1):
        await standing.look()
    assert await audit.rows("select kind, global_seq from finding") == [("FEED_REWRITTEN", at + 1)]


async def test_a_feed_that_was_emptied_is_a_finding_a_part_not_an_event(audit, table, monkeypatch):
    feed, standing = await kept(audit, table)
    monkeypatch.setattr("services.audit.standing.DRAWN", 0)
    monkeypatch.setattr("services.audit.standing.SWEPT", 20)
    parts = -(-len(feed.events) // 20)
    feed.events.clear()
    for _ in range(parts):
        await standing.look()
    kinds = await audit.kinds()
    assert set(kinds) == {"FEED_CUT"}
    assert parts <= len(kinds) <= parts + 1


async def test_a_page_with_a_hole_is_asked_for_one_by_one(audit, table, monkeypatch):
    """The reader of a remote feed gives no page that has a hole."""
    feed, standing = await kept(audit, table)
    monkeypatch.setattr("services.audit.standing.DRAWN", 0)
    gone = feed.events.pop(10).global_seq
    whole = feed.read

    async def read(after, limit):
        found = await whole(after, limit)
        if limit > 1 and [one.global_seq for one in found] != list(range(after + 1, after + 1 + len(found))):
            raise ConnectionError("a hole")
        return found

    monkeypatch.setattr(feed, "read", read)
    await standing.look()
    assert await audit.rows("select kind, global_seq from finding") == [("FEED_CUT", gone)]
