"""Terminals that a test types into and reads: shells in a tmux server of the test's own."""

import re
import subprocess
import time

WAIT_SECONDS = 30


class Terminal:
    """A tmux server with its own socket in `folder`; `env` is all of the environment of its shells."""

    def __init__(self, folder, env):
        self._command = ["tmux", "-S", str(folder / "tmux.sock"), "-f", "/dev/null"]
        self._env = {**env, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PS1": "$ "}

    def open(self, name, cwd, width, height):
        """A shell without anyone's settings, in a terminal of that size."""
        self._tmux("new-session", "-d", "-s", name, "-x", str(width), "-y", str(height), "-c", str(cwd),
                   "bash", "--noprofile", "--norc")
        self.wait_for(name, r"\$ $")

    def type(self, name, line):
        self._tmux("send-keys", "-t", name, "-l", line)
        self._tmux("send-keys", "-t", name, "Enter")

    def paste(self, name, text):
        """As a terminal pastes: in brackets, where the shell asked for them. Nothing runs before Enter."""
        self._tmux("load-buffer", "-", given=text)
        self._tmux("paste-buffer", "-p", "-t", name)
        self._tmux("send-keys", "-t", name, "Enter")

    def screen(self, name):
        """What stands there, and what scrolled away before; lines as they were written, however often wrapped."""
        return self._tmux("capture-pane", "-p", "-J", "-t", name, "-S", "-")

    def wait_for(self, name, pattern):
        """The match, once the screen shows it; None where it does not in time."""
        end = time.monotonic() + WAIT_SECONDS
        while True:
            found = re.search(pattern, self.screen(name).rstrip("\n"))
            if found or time.monotonic() > end:
                return found
            time.sleep(0.1)

    def close(self):
        """Ends every shell and what runs in it."""
        subprocess.run([*self._command, "kill-server"], capture_output=True, timeout=WAIT_SECONDS)

    def _tmux(self, *arguments, given=None):
        done = subprocess.run([*self._command, *arguments], env=self._env, input=given, capture_output=True, text=True,
                              timeout=WAIT_SECONDS)
        if done.returncode != 0:
            raise RuntimeError(f"tmux {arguments[0]} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout
