"""The projection of patches into Neo4j: a fold that converges whatever the order, the duplicates and the crashes."""
