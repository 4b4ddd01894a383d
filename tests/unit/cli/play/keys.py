"""What a terminal's test types at: a keyboard without keys, and the time in which things happen."""

import asyncio

from rich.console import Console


class Keys:
    """A keyboard that the test types at."""

    def __init__(self, told):
        self.type = told

    def listen(self):
        """The test says when."""

    def close(self):
        """Nothing is open."""


class AtTheKeys:
    """What runs while the test types and lets things happen; ``_begin`` returns the coroutine of it."""

    def __init__(self):
        self._console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
        self._keys = []

    def _keyboard(self, told):
        self._keys.append(Keys(told))
        return self._keys[0]

    async def __aenter__(self):
        self.running = asyncio.create_task(self._begin())
        await self.settled()
        return self

    async def __aexit__(self, *_):
        self.running.cancel()
        await asyncio.wait([self.running])
        self._console.file.close()

    async def settled(self):
        """Let everything happen that can."""
        for _ in range(60):
            await asyncio.sleep(0)

    async def types(self, line):
        self._keys[0].type(line)
        await self.settled()

    async def ends(self):
        return await asyncio.wait_for(self.running, 5)

    @property
    def said(self):
        return self._console.export_text(clear=False)
