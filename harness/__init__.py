"""What the experiments and the benchmarks share.

provenance : the commit, machine, versions and threads that a number was measured with
store : JSON files, written atomically and with one row a line
tables : rows as Markdown and as plain text
frames : records selected, and turned into pandas DataFrames
timing : BLAS threads, and times of functions that take turns
progress : a progress bar that lets an interrupted run resume
mutations : damaged files of data sets, loaded in any number and counted by how they end
promises : what the library promises, and the tests that check it
trust : docs/trust.md, made of the promises, the number of their tests, and runs of random cases
lowest : the lowest versions that pyproject.toml allows, as requirements for pip
source : a digest of the source code that a result depends on
"""
