"""What the first call of `./penstock` does: a private environment from the lock file, and a Java.

A package of its own, because it runs before anything is installed: it may import the standard
library and itself, and nothing of `penstock`. Everything it makes lies in one directory, so
that deleting that directory undoes it:

    env/                      the environment
        requirements.lock     copy of the lock it was made from; written last, so it is the stamp
        made-with             PENSTOCK_PYTHON at that time (empty: we searched)
    java/                     the Java that comes as a Python package; only if the system has none
        bin/java              a shim in front of it (see `java`)
        requirements-java.lock    its stamp
    java.choice               the Java home that we chose, and what we chose from
    java-classes/             an archive of Spark's classes, and RocksDB's library
        made-for              the Java and the lock it was made for
    costs-….json              how fast this machine computes windows (see `calibrate`)
    setup.lock                held while one call sets up; the others wait
    setup.log                 everything pip said

The same names stand in `./penstock`, which compares them on every call.
"""
