"""Sources that are no files, for every host: a file per format; `registry` finds them by name.

FROM redis 'uri' OPTIONS (key 'name')       redis_entries.py
"""
