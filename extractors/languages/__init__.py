"""Messages in other languages than English: their own pipelines, or rules that give no facts."""
