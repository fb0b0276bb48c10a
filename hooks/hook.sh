#!/bin/sh
# Run the hook client with a fast interpreter. Always exits with 0 and prints nothing on stderr, so that
# an error of memoryd never disturbs a session.
# A pyenv shim is slower than the whole hook, so the launcher caches the path of the real interpreter.
[ -n "${MEMORYD_INTERNAL:-}" ] && exit 0
python=${MEMORYD_PYTHON:-}
if [ -z "$python" ] && [ -n "${CLAUDE_PLUGIN_DATA:-}" ] && [ -r "$CLAUDE_PLUGIN_DATA/python" ]; then
    IFS= read -r python <"$CLAUDE_PLUGIN_DATA/python"
fi
[ -x "$python" ] || python=$(command -v python3 || command -v python)
if [ -n "$python" ]; then
    "$python" -I -S "${0%/*}/hook.py" "${1:-}" 2>/dev/null
elif [ "${1:-}" = SessionStart ]; then
    echo '{"systemMessage": "memoryd needs Python 3.11 or newer and found no python3 on PATH. Memory is off until it is installed."}'
fi
exit 0
