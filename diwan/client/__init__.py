"""The Python client of the services, as players' back ends, bots, the command line and the tests use it."""
