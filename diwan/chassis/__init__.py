"""What every service stands on: storage, feed, server, identity, settings, telemetry."""
