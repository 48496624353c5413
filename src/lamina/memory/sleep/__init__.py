"""Sleep: read new episodes, with rules or a language model, and extract facts from them."""
