"""Run and report as versioned JSON, checked on the way in."""
