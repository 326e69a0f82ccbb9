"""What an agent installs: publishers, readers, and importers of recorded conversations."""

from memstream.client.minting import Envelope, Identity
from memstream.client.publisher import AsyncPublisher
from memstream.client.reader import AsyncReader, Reader
from memstream.client.receipt import Pending, PendingSync, Receipt
from memstream.client.stating import assertion, claim
from memstream.client.sync import Publisher
from memstream.client.visible import Visible

__all__ = [
    "AsyncPublisher",
    "AsyncReader",
    "Envelope",
    "Identity",
    "Pending",
    "PendingSync",
    "Publisher",
    "Reader",
    "Receipt",
    "Visible",
    "assertion",
    "claim",
]
