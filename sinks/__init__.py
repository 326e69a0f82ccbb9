"""The projection of patches into Neo4j: a fold that converges whatever the order, the duplicates and the crashes.

In the order of a batch:

| step | modules |
|---|---|
| records in, one transaction, sealed | `graph_sink`, `records`, `batch`, `repeats`, `lock` |
| which patches count | `known` |
| what a better patch or an erasure takes back | `unfold`, `forgetting`, `taint`, `cards`, `payloads`, `manifest` |
| nodes, edges, links, sessions | `writer`, `nodes`, `edges`, `links`, `sessions` |
| facts: what a batch does to slots, their folds, their versions | `facts`, `slots`, `folding`, `versions` |
| what became true | `told`, `outbox` |

Beside the batches: erasures and their work (`erasure`, `reached`, `erase_steps`, `erase_status`, `expiry`, `proof`),
the schema (`migrations`, `migrating`, `indexes`), replays (`mark`, `wipe`), the canonical form (`export`).
`statements` has all Cypher by name, `stores` the databases, `failures` the driver's errors as ours.
"""
