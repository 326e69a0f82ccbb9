"""The contract: envelope, event types, patches, topics, scopes, ids, names.

Pydantic and orjson only; imports no other room.
"""
