"""What a service needs to reach the others, from its settings: the bus with its own user, and TLS for calls."""

from urllib.parse import quote, urlsplit, urlunsplit

import grpc

from diwan.chassis.bus import Bus
from diwan.chassis.settings import ServiceSettings


def start_bus(settings: ServiceSettings) -> Bus | None:
    """Begin to connect to the bus under the service's user; None where no bus is set, which only slows things down."""
    if settings.nats_url is None:
        return None
    return Bus.start(bus_url(settings.nats_url, settings), settings.nats_user or settings.service)


def bus_url(url: str, settings: ServiceSettings) -> str:
    """Return the bus's URL with the service's user and password in it."""
    if settings.nats_user is None or settings.nats_password is None:
        return url
    parts = urlsplit(url)
    user = f"{quote(settings.nats_user, safe='')}:{quote(settings.nats_password.get_secret_value(), safe='')}"
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc.rpartition('@')[2]}"))


def channel_credentials(settings: ServiceSettings) -> grpc.ChannelCredentials | None:
    """Return what a service shows others under mTLS: the certificate that it serves with; None without mTLS."""
    certificate, key, authority = (
        settings.tls_certificate_file,
        settings.tls_key_file,
        settings.tls_client_ca_file,
    )
    if certificate is None or key is None or authority is None:
        return None
    return grpc.ssl_channel_credentials(authority.read_bytes(), key.read_bytes(), certificate.read_bytes())
