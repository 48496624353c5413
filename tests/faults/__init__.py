"""What happens when things break: kills, I/O errors, crowds, tampering, full disks, power cuts."""
