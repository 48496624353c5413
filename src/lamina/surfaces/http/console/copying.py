"""The only script of the pages: it adds a button that copies to commands, ids and names.

Without it the pages lack these buttons and nothing else. The policy of a page names the script by
its hash, so that a browser runs this text and no other.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from markupsafe import Markup

from lamina.surfaces.http.guard import HEADERS

# Browsers have a clipboard for pages of this machine, and for others that come by TLS.
SCRIPT = """\
if (navigator.clipboard) for (const one of document.querySelectorAll("[data-copy]")) {
  const button = document.createElement("button");
  const say = word => {
    button.textContent = word;
    button.setAttribute("aria-label", word + " " + one.textContent);
  };
  button.className = "copy";
  button.type = "button";
  button.onclick = () => navigator.clipboard.writeText(one.textContent).then(
    () => say("Copied"), () => say("Not allowed"));
  say("Copy");
  one.after(button);
}
"""
ELEMENT = Markup(f"<script>{SCRIPT}</script>")  # noqa: S704 — our own text
_DIGEST = b64encode(sha256(SCRIPT.encode()).digest()).decode()
POLICY = f"{HEADERS[b'content-security-policy'].decode()}; script-src 'sha256-{_DIGEST}'"
