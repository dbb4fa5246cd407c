"""Makes the dashboards, the alert rules and their pages in docs from the table of metrics (docs/monitoring.md)."""
