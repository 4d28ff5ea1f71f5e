"""The APIs of others, one file each: adapters over the same jobs."""
