"""Sleep: read new episodes, by rules or with a language model, and turn them into facts and summaries."""
