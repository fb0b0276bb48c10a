"""Run memoryd in its own environment. If the environment is missing, build it first.

`launcher.py ARGS…` becomes `<python> -I -m memoryd ARGS…`. Hooks and the stdio proxy start the daemon detached, so
the build runs in the background.
"""

import os
import sys

sys.dont_write_bytecode = True  # The plugin's folder may be read-only or a git repository.
sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hooks")]
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

import build  # noqa: E402
import environment  # noqa: E402
import protocol  # noqa: E402


def run(python: str, arguments: "list[str]") -> int:
    """Replace this process with memoryd in isolated mode, so that no module from the user's folder or PYTHONPATH is imported."""
    command = [python, "-I", "-m", "memoryd", *arguments]
    if sys.platform == "win32":  # On Windows, exec returns to the caller immediately.
        import subprocess

        return subprocess.call(command)
    try:
        os.execv(python, command)
    except OSError as error:
        print(f"memoryd: {python} can't be run: {error.strerror}", file=sys.stderr)
    return 1


def main(arguments: "list[str]") -> int:
    """Run the command and return its exit code."""
    os.umask(0o077)
    env = dict(os.environ)
    home = protocol.home_folder(env)
    in_background = arguments[:1] == ["daemon"]
    if in_background:
        os.makedirs(home, 0o700, exist_ok=True)
        os.chdir(home)  # The daemon must not keep the project's folder in use.
    python = environment.find_ready(env, home)
    if python is None:
        try:
            python = build.ensure(env, home, wait=not in_background)
        except build.SetupError as error:
            print(f"memoryd: {error}", file=sys.stderr)
            return error.code
    build.cache_interpreter(env, home, python)
    if in_background:
        build.keep_command(env, home)
    return run(python, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
