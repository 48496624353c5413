"""The commands by section, each with one line that fits a narrow terminal, and the words that
people may type instead of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

# A line for a command that does not exist is not shown.
SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Remember and find": {
        "remember": "store a memory",
        "capture": "store each message on standard input as a request",
        "search": "find memories that answer a question",
        "context": "print what a model should know before a task",
        "list": "list memories, newest first",
        "inspect": "show everything about one memory",
        "pending": "list open requests, and what is due",
        "recap": "summarise the last session of a project",
        "archive": "search and restore archived memories",
    },
    "Review": {
        "review": "decide on proposals, one by one or by id",
        "correct": "replace the text of a memory",
        "forget": "hide a memory; undo brings it back",
        "rollback": "withdraw a memory, and restore what it replaced",
        "undo": "undo a decision",
        "revoke": "put everything from one source under review again",
        "audit": "show who did what and when; verify the audit trail",
    },
    "Facts and profile": {
        "facts": "show what is known about a person or a thing",
        "timeline": "draw what is and was true over time",
        "profile": "show the profile of a user, or propose a value",
        "project": "show the status of projects",
        "semantic": "find facts that could be merged, and propose it",
        "procedural": "find duplicate procedures, and propose merging them",
        "world": "manage the tools and integrations of an agent",
        "importance": "explain and learn importance",
    },
    "Upkeep": {
        "status": "show what is stored, and what needs attention",
        "doctor": "check the installation, the home and the store",
        "sleep": "learn facts and preferences from conversations",
        "promote": "promote what matters, archive what has expired",
        "compress": "summarise old memories into profile and projects",
        "prune": "move memories of any layer to the archive",
        "run": "run the scheduled jobs until stopped",
        "runs": "list and close runs that were left open",
        "erase": "erase memories permanently, with every copy",
        "erasures": "list erasures, and show their certificates",
        "failsafe": "show and replay memories in the fail-safe",
        "index": "compute missing vectors",
        "reindex": "rebuild the full-text index",
    },
    "Agents and sharing": {
        "agents": "list the agents of this home",
        "grant": "let another agent read part of this memory",
        "grants": "list what other agents may read",
        "revoke-grant": "end a grant",
        "shared": "list what other agents share with this one",
    },
    "Serve and connect": {
        "install": "connect a coding agent: tools, hooks and instructions",
        "uninstall": "disconnect a coding agent",
        "mcp": "serve the memory as tools (Model Context Protocol)",
        "serve": "serve the console and the HTTP API (read-only)",
        "hook": "handle one event of a coding agent",
        "token": "create, list and revoke tokens for programs",
        "mirror": "keep copies in JSONL files, ChromaDB or Weaviate",
    },
    "Files": {
        "import": "import an export, or a file of another program",
        "export": "write all memories with their history as JSON",
        "backup": "copy the store as it is now",
        "restore": "replace the store with a backup",
        "migrate": "move memories to PostgreSQL, or back into files",
    },
    "Settings": {
        "init": "set up the agent, its user and background jobs",
        "config": "show, set and unset settings",
        "key": "set or remove the operator key",
        "model": "list and download embedding models",
        "demo": "show what Lamina does, in a temporary home",
        "completion": "print the script for shell completion",
        "memory": "the same commands, with Skylattice's names",
    },
}
LINES: Mapping[str, str] = {name: line for part in SECTIONS.values() for name, line in part.items()}

# What people who know other programs type, and the commands that do it here. A word that looks
# like a command needs no entry.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("add", "save", "store", "note", "put", "new", "write"), ("remember",)),
    **dict.fromkeys(("ask", "find", "query", "recall", "grep", "lookup"), ("search",)),
    **dict.fromkeys(("delete", "remove", "rm", "del", "drop"), ("forget", "erase")),
    **dict.fromkeys(("get", "show", "view", "read", "cat", "open"), ("inspect", "list")),
    **dict.fromkeys(("ls", "all", "recent", "browse", "dump"), ("list", "export")),
    **dict.fromkeys(("stats", "info", "health", "count", "ping"), ("status", "doctor")),
    **dict.fromkeys(("edit", "update", "change", "fix", "replace"), ("correct",)),
    **dict.fromkeys(("approve", "accept", "confirm", "reject", "proposals"), ("review",)),
    **dict.fromkeys(("log", "history", "events", "trail", "verify"), ("audit",)),
    **dict.fromkeys(("set", "settings", "configure", "setup", "init"), ("config",)),
    **dict.fromkeys(("start", "server", "daemon", "web", "ui", "console"), ("serve", "run")),
    **dict.fromkeys(("connect", "tools", "install", "plugin"), ("mcp",)),
    **dict.fromkeys(("consolidate", "dream", "learn", "extract"), ("sleep",)),
    **dict.fromkeys(("clean", "cleanup", "gc", "purge", "vacuum"), ("prune", "erase")),
    **dict.fromkeys(("user", "users", "me", "whoami", "preferences"), ("profile", "agents")),
    **dict.fromkeys(("load", "ingest", "upload"), ("import",)),
    **dict.fromkeys(("share", "permissions", "access"), ("grant",)),
    **dict.fromkeys(("download", "models", "embed", "embeddings"), ("model", "index")),
    **dict.fromkeys(("todo", "tasks", "inbox", "due"), ("pending",)),
    **dict.fromkeys(("prompt", "inject"), ("context",)),
}


def suggestion(word: str, known: Collection[str], program: str = "lamina") -> str:
    """Report that a command does not exist, and suggest similar ones or synonyms."""
    import difflib

    wanted = word.lower()
    if wanted in ("help", "version"):
        return f"did you mean `lamina --{wanted}`?"
    meant = [name for name in (wanted, *SYNONYMS.get(wanted, ())) if name in known]
    meant = meant or difflib.get_close_matches(wanted, known, 3)
    if not meant:
        return f"`{program} --help` lists those that there are"
    options = (f"`lamina {name}` ({LINES[name]})" if name in LINES else name for name in meant)
    return f"did you mean {' or '.join(options)}?"
