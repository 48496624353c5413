"""The surfaces that people and programs call. They translate and decide nothing."""
