"""Sleep: read new episodes, by rules or with a language model, and make facts of them."""
