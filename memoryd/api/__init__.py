'''Operations of memoryd. Each is defined once and used by the CLI, the MCP tools, the hooks and the console.

- `registry`   the definition of an operation, the list of all, who may run it and how each interface offers it
- `parameters` parameter types and request parsing
- `dispatch`   runs operations and hooks in the daemon · `runtime` the dependencies of handlers
- `shared`     parameters and parts of answers that several operations share
- `hooks`      answers to hook events · `limits` restrictions on changes by a model
- all others   the operations themselves

To add an operation, change one module of this package and add a test:

    @request
    class CountWords:
        """Parameters of `count_words`."""

        id: str = memory_id(argument=True)
        longer_than: int = count("Only words with more letters.", default=0, high=50)


    class Words(TypedDict):
        """The number of words."""

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

Models get the tool, users get `memoryd count-words ID --longer-than 3` and a form under Other in the console, and
`make docs` generates the reference tables. Omit `tool`, `command` or `form` to hide the operation from that
interface. `person_only` also refuses it in the client's shell. A command with its own display is written in
`memoryd.cli` with `@takes(operation)`.

Commands load these modules to learn their options, so the modules must not import anything heavy. Import what only a
handler needs (stores, models, the day dream) inside the function. `tests/memoryd/cli/test_start.py` checks this.
'''
