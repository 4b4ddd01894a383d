"""What the bots service can be told from outside."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from diwan.chassis.settings import Address, ServiceSettings, settings_config


class BotsSettings(ServiceSettings):
    """Settings of the bots service, ``DIWAN_BOTS_<FIELD>``."""

    model_config = settings_config("bots")
    service: str = "bots"

    table_address: Address
    """The table service: its tables and its feed are all that bots are given."""
    bots_max: int = Field(default=64, ge=0, le=500)
    """Bots that this process plays at once, at all tables together."""
    think_ms_min: int = Field(default=700, ge=0, le=60_000)
    """The shortest time before an answer."""
    think_ms_max: int = Field(default=2500, ge=0, le=60_000)
    """The longest; each time is drawn between both before the cards are looked at (S7)."""

    @model_validator(mode="after")
    def _times_fit_together(self) -> Self:
        if self.think_ms_min > self.think_ms_max:
            raise ValueError("think_ms_min must not exceed think_ms_max")
        return self
