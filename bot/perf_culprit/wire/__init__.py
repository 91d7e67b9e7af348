"""The nouns as versioned JSON, checked on the way in."""
