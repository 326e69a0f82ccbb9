"""The settings as the arguments that every aiokafka client takes."""

from __future__ import annotations

import ssl
from typing import Any

from memstream.schemas.errors import SettingsError
from memstream.settings.model import Settings


def kafka_options(settings: Settings) -> dict[str, Any]:
    """Address, security and login for an AIOKafka producer, consumer or admin client, as keyword arguments.

    Raises SettingsError if a certificate file can't be read.
    """
    options: dict[str, Any] = {
        "bootstrap_servers": settings.kafka_bootstrap,
        "security_protocol": settings.kafka_security_protocol,
    }
    if settings.kafka_security_protocol.endswith("SSL"):
        options["ssl_context"] = _ssl_context(settings)
    if settings.kafka_security_protocol.startswith("SASL_") and settings.kafka_sasl_password is not None:
        options["sasl_mechanism"] = settings.kafka_sasl_mechanism
        options["sasl_plain_username"] = settings.kafka_sasl_username
        options["sasl_plain_password"] = settings.kafka_sasl_password.get_secret_value()
    return options


def _ssl_context(settings: Settings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.kafka_ssl_cafile)
        if settings.kafka_ssl_certfile is not None:
            context.load_cert_chain(settings.kafka_ssl_certfile, settings.kafka_ssl_keyfile)
    except (OSError, ssl.SSLError) as error:
        files = (settings.kafka_ssl_cafile, settings.kafka_ssl_certfile, settings.kafka_ssl_keyfile)
        named = ", ".join(str(file) for file in files if file is not None)
        raise SettingsError(
            f"A certificate can't be read ({named}): {error}. Check the MEMSTREAM_KAFKA_SSL_* files."
        ) from error
    return context
