"""`lamina review --browser`: a page of this machine on which one operator decides."""
