"""What proposes facts and tastes: patterns over clauses, nouns, lists, tables, answers."""
