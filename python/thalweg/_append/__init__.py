"""What users append becomes flat columns."""
