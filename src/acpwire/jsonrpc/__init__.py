"""JSON-RPC 2.0: a peer without I/O, and the asyncio connection around it.

`peer` takes frames and yields events, `connection` moves frames and runs handlers in order, `transport` is the
contract of what carries the bytes. Nothing is imported here, so that a program pays for the modules it uses.
"""
