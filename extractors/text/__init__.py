"""What is in the letters alone: cleaning, names of the field, values, dates, the language. No parser."""
