"""What `services.wallet.literals` writes is what PostgreSQL reads."""

import asyncio

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.wallet.literals import literals

# No NUL, which PostgreSQL's text cannot hold, and nothing that is no UTF-8.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)) | st.sampled_from('"\\,{} \n'))
ROWS = st.lists(
    st.tuples(TEXTS, st.integers(-(2**63), 2**63 - 1), st.booleans(), st.uuids().map(str), st.none() | TEXTS),
    max_size=6,
)
READ = """
select * from unnest($1::text::text[], $2::text::bigint[], $3::text::boolean[], $4::text::uuid[], $5::text::text[])
"""


@pytest.fixture(scope="module")
def reading(postgres):
    loop = asyncio.new_event_loop()
    connection = loop.run_until_complete(asyncpg.connect(postgres.superuser_url))
    yield loop, connection
    loop.run_until_complete(connection.close())
    loop.close()


@settings(max_examples=150, deadline=None)
@given(rows=ROWS)
def test_every_row_comes_back_as_it_was(reading, rows):
    loop, connection = reading
    read = loop.run_until_complete(connection.fetch(READ, *literals(rows, "tnnt?")))

    assert [(*row[:3], str(row[3]), row[4]) for row in read] == rows
