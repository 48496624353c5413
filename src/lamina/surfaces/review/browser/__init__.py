"""`lamina review --browser`: a page on this machine on which one operator decides."""
