"""Who must not get where: isolation, names, links, modes."""
