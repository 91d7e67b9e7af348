"""Readers that turn the files of foreign tools into runs, profiles and call trees."""
