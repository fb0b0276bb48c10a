"""Benchmarks: loaders that turn official files into cases, and the sources of the files.

- reading: records of .json, .jsonl and .gz files, one at a time
- fields: typed access to a record; errors name file, record and field
- source, download: local path, URL or Hugging Face data set to local files (cache, checksum, resume, progress)
- base: shared parts of loaders
- opening: spec to benchmark; describe: licence, citation, types and counts
- one module for each benchmark, and `schema`, the generic loader configured by a YAML file
"""
