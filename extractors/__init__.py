"""Text in, names, facts, preferences and vectors out. No Kafka, no Neo4j."""
