"""The services: thin shells around the core that talk over gRPC and NATS."""
