"""Benchmarks: loaders that turn official files into cases, and where the files come from.

- reading: records of .json, .jsonl and .gz files, one at a time
- fields: typed access to a record; errors name file, record and field
- source, download: local path, URL or Hugging Face data set to local files (cache, checksum, resume, progress)
- base: what all loaders share
- opening: spec to benchmark; describe: licence, citation, types and counts
- one module for each benchmark, and `schema`, the general loader that a YAML file steers
"""
