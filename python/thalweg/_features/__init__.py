"""Features of pulses, energy, time and flags: how they are configured, and computed for runs that are held."""
