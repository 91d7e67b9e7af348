"""Files of strangers become runs, profiles and call trees."""
