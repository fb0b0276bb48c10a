"""Benchmarks: loaders that convert official files to cases, and the sources of those files.

- reading: reads the records of data files one at a time, with errors that include the file, record and field
- source: finds local files, or downloads them from a URL or a Hugging Face data set (cache, checksum, resume, progress)
- base: shared parts of loaders
- opening: opens a benchmark from its spec, and describes its licence, citation, types and counts
- one module per benchmark, and `schema`, the generic loader configured by a YAML file
"""
