"""Text in, names, facts, preferences and vectors out. No Kafka, no Neo4j.

A message goes through the rooms in this order, and a room knows only those before it:
`text` (letters alone) → `parse` (spaCy's trees) → `context` (its session) → `rules` (what proposes facts) → `models`
(what decides) → `languages` (other ones than English) → `spacy_extractor`. Beside them stand `vectors`, and `plugins`
with `merge`. `fit` makes the models' weights, which lie in `data`.

`read` leads one message through the rooms, `explain` tells why it says what it says, `dialogue` has the annotated form,
`pattern_check` tries the examples of predicates, `registry` finds an extractor by its name.
"""
