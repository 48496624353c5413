"""The only script of the pages: it adds a copy button to commands, ids and names.

Without it only these buttons are missing. The page's policy names the script by its hash, so that
browsers run this text and no other.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from markupsafe import Markup

from lamina.surfaces.http.guard import HEADERS

# Browsers provide a clipboard only to pages of this machine and to pages over TLS.
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
