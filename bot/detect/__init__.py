"""Evidence per metric and the policy that judges it."""
