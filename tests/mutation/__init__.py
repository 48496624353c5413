"""Whether the tests would notice: the program is changed in one place at a time, and some test has
to fail."""
