"""Small programs that the fault tests start, fill, starve and kill."""
