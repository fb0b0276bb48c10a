"""The five phases, one function each: values in, a value out. They see protocols only; the runner keeps what they give."""
