"""Benchmarks: loaders that convert official files to cases, and the sources of those files.

- reading: reads the records of data files one at a time, with errors that name the file, the record and the field
- source: finds local files, or downloads them from a URL or a Hugging Face data set (cache, checksum, resume, progress)
- base: shared parts of loaders
- opening: opens a benchmark from its spec, and describes its licence, citation, types and counts
- one module for each benchmark, and `schema`, the generic loader configured by a YAML file
"""
