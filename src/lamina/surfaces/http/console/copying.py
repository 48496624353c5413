"""The only script of the pages: it adds a button that copies to commands, ids and names.

Without it the pages lack these buttons and nothing else. The policy of a page names the script by
its hash, so that a browser runs this text and no other.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from markupsafe import Markup

from lamina.surfaces.http.guard import HEADERS

SCRIPT = """\
for (const one of document.querySelectorAll("[data-copy]")) {
  const button = document.createElement("button");
  button.className = "copy";
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy " + one.textContent);
  button.onclick = () => navigator.clipboard.writeText(one.textContent).then(
    () => { button.textContent = "Copied"; }, () => { button.textContent = "Not allowed"; });
  one.after(button);
}
"""
ELEMENT = Markup(f"<script>{SCRIPT}</script>")  # noqa: S704 — our own text
_DIGEST = b64encode(sha256(SCRIPT.encode()).digest()).decode()
POLICY = f"{HEADERS[b'content-security-policy'].decode()}; script-src 'sha256-{_DIGEST}'"
