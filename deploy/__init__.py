"""The local stack and the files to deploy with: Kafka, Neo4j and the processes of Memstream."""
