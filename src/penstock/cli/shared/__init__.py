"""What several commands have in common.

arguments    the files and folders that they are given
scripts      what `bench` and `experiment` do alike: scripts by name, what they came to as JSON
display      results and counts as tables and lines
watch        a table that follows a running engine
reference    the results that the demo compares with
"""
