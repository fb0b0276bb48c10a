#!/bin/sh
# Runs the hook client with a fast interpreter. Always ends with 0 and says nothing on stderr:
# a memory must never get in the way of a session.
# A pyenv shim costs more than the whole hook, so the launcher caches the real interpreter's path.
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
