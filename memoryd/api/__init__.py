'''Operations: what can be asked of memoryd, each described once.

- `registry`   what an operation is, and all of them; who may run it, and how each interface offers it
- `parameters` kinds of parameters, and the parsing of requests
- `dispatch`   runs operations and hooks in the daemon · `runtime` what handlers work with
- `shared`     parameters and parts of answers that several operations share
- `hooks`      answers to hook events · `limits` what a model may do to memories
- all others   the operations themselves

Adding one is a change to one module of this package, and its test:

    @request
    class CountWords:
        """Which memory."""

        id: str = memory_id(argument=True)
        longer_than: int = count("Only words with more letters.", default=0, high=50)


    class Words(TypedDict):
        """How many words."""

        words: Annotated[int, Shown("How many.")]


    @operation(
        CountWords,
        Words,
        tool=Tool("Count words", "How many words a memory has.", order=140),
        command="count-words",
        form="Count words",
    )
    def count_words(runtime: Runtime, request: CountWords, caller: Caller) -> Words:
        """Count the words of a memory."""
        found = runtime.service.require(request.id).content.split()
        return {"words": sum(len(word) > request.longer_than for word in found)}

Models get the tool, people `memoryd count-words ID --longer-than 3` and a form under Other in the console; the documents get
their tables from `make docs`. Leave out `tool`, `command` or `form` where it is not to be offered; with `person_only` it is
refused in the client's shell too. A command with a display of its own is written in `memoryd.cli`, with `@takes(operation)`.

Commands load these modules to know their options, so they import nothing heavy: what only a handler needs (stores, models, the
day dream) is imported inside the function. `tests/memoryd/cli/test_start.py` holds that.
'''
