"""Our own server end of gRPC over HTTP/2, on the event loop itself (decision 0025).

What the house does most is to tell nine streams the same news. A library that takes messages one by one pays a system
call and two turns of the loop for each; here everything that is due to a connection leaves in one write.

- `frames`: the bytes of frames, and what ends a stream or a connection.
- `blocks`: a header block in its frames, until it is whole.
- `fields`: header fields, from compressed blocks to a request, and from answers to blocks.
- `exchange`: one call, as the methods of `grpc.aio.ServicerContext` that the chassis uses.
- `connection`: one client's connection: frames in, flow control, frames out; `host` is what it asks of who runs its calls.
- `listener`: the port: connections and their ages, TLS, dispatch, the end.
"""
