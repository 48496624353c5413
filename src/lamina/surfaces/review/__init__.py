"""Going through the queue with a person, whatever the person looks at: decisions and order."""
