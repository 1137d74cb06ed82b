"""What queries mean, in plain Python, one row at a time: the judge of every faster way to run them.

It is written from the definitions and shares nothing with the kernel, so that a mistake there is
not repeated here. `penstock verify` and the tests compare with it.

    evaluate       plans: windows from `extent` alone, joins by trying every pair
    aggregates     what aggregate functions compute
    expressions    what functions compute
    casts          values of one type as values of another
"""
