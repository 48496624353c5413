"""The servers that Lamina can live on, as real processes, and what must hold on them."""
