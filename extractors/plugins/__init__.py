"""Other extractors, each optional: GLiNER and models that speak the OpenAI protocol."""
