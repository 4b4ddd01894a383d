"""Core events as protobuf bytes and back: the only package that knows both."""
