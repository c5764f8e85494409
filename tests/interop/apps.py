"""The real agent apps, each in a home of its own, with a stand-in (model.py) where its model would be.

Nothing of the caller's environment takes part: no key, no proxy, no setting of theirs.
"""

import shutil
import subprocess
from pathlib import Path

RUN_SECONDS = 120


class App:
    """One app. `home` is made if it is not there; `env` is all of the environment that the app sees."""

    def __init__(self, executable, home, model_url):
        self.executable = Path(executable)
        self.home = Path(home)
        self.home.mkdir(parents=True, exist_ok=True)
        # An app may come as a script for Node.js, wherever that is.
        node = Path(shutil.which("node") or "/usr/bin/node")
        self.env = {
            "PATH": f"{self.executable.parent}:{node.parent}:/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            **self.settings(model_url),
        }

    def settings(self, model_url):
        """What tells this app to ask the stand-in and to leave the network alone."""
        raise NotImplementedError

    def run(self, *arguments, token="", cwd=None):
        """The app with these arguments, to its end. An empty token is no PRICKLE_TOKEN at all."""
        env = {**self.env, "PRICKLE_TOKEN": token} if token else self.env
        return subprocess.run(
            [str(self.executable), *arguments], cwd=cwd or self.home, env=env,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_SECONDS,
        )


class ClaudeCode(App):
    def settings(self, model_url):
        return {
            "ANTHROPIC_BASE_URL": model_url,
            "ANTHROPIC_API_KEY": "sk-ant-stand-in",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }


class Codex(App):
    def settings(self, model_url):
        config = self.home / ".codex" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        config.write_text(
            'model = "stand-in"\nmodel_provider = "stand-in"\n\n'
            f'[model_providers.stand-in]\nname = "stand-in"\nbase_url = "{model_url}/v1"\nenv_key = "STAND_IN_KEY"\n'
            'wire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n',
            encoding="utf-8",
        )
        return {"STAND_IN_KEY": "stand-in"}


class Grok(App):
    def settings(self, model_url):
        return {
            "XAI_API_KEY": "xai-stand-in",
            "GROK_MODELS_BASE_URL": f"{model_url}/v1",
            "GROK_DISABLE_AUTOUPDATER": "1",
            "GROK_TELEMETRY_ENABLED": "0",
            "GROK_MAX_RETRIES": "1",
        }
