"""What every room is built on: values, errors, protocols, calls that may fail and cost, files, text and its overlap."""
