"""The read service: recall with citations, transcripts, facts in two times, provenance. It never writes."""
