"""Answers shown in the description of the API. The tests compare them with real ones."""

from __future__ import annotations

from typing import Any

from lamina.errors import no_record

ID = "01kqg7r3h0c5m2v8w1x4z6t9d3"
OLDER = "01kqe1s2g0c5m2k7f9b3n8q4a6"
AT = "2026-05-01T08:00:00.000000Z"

RECORD: dict[str, Any] = {
    "id": ID,
    "seq": 12,
    "agent": "sky",
    "user": None,
    "layer": "short_term",
    "state": "active",
    "kind": "preference",
    "content": "User wants daily reports at 7am",
    "importance": 0.7,
    "confidence": 1.0,
    "trust": "agent",
    "source": None,
    "tags": ["reports"],
    "metadata": {},
    "evidence": [],
    "speaker": "Ana",
    "session": None,
    "run_id": None,
    "occurred_at": AT,
    "created_at": AT,
    "updated_at": AT,
    "promoted_at": None,
    "valid_from": None,
    "valid_to": None,
    "last_verified": None,
    "supersedes": [],
    "superseded_by": None,
    "score": 7,
}
CHANGE = {
    "record": ID,
    "hash": "9f2c",
    "before": {},
    "after": {"layer": "short_term", "state": "active"},
    "previous": None,
}
EVENT = {
    "seq": 12,
    "at": AT,
    "action": "remember",
    "actor": "agent:sky",
    "surface": "python",
    "details": {},
    "note": {},
    "hash": "4be1",
    "changes": [CHANGE],
}
FACT = {
    "record": ID,
    "user": None,
    "subject": "Ana",
    "attribute": "lives_in",
    "value": "Lisbon",
    "negated": False,
    "valid_from": AT,
    "valid_to": None,
    "last_verified": None,
    "state": "active",
    "trust": "agent",
    "confidence": 0.9,
    "evidence": [OLDER],
    "voices": ["Ana"],
    "groundless": False,
}
HITS: dict[str, Any] = {
    "outcome": "found",
    "confidence": 0.42,
    "hits": [{"score": 0.81, "parts": {"words": 0.38, "meaning": 0.43}, "record": RECORD}],
}
CONTEXT: dict[str, Any] = {
    "text": "<<<lamina memory: …>>>",
    "items": [{**hit, "section": "known", "why": "rank 1, score 0.71"} for hit in HITS["hits"]],
    "notes": [],
}
NODE = {
    "id": ID,
    "is_record": True,
    "layer": "semantic",
    "kind": "fact",
    "state": "active",
    "trust": "agent",
    "occurred_at": AT,
    "content": "Ana lives in Lisbon",
}
LINEAGE: dict[str, Any] = {
    "record": ID,
    "nodes": [NODE, {"id": "https://example.org/note", "is_record": False}],
    "edges": [{"from": ID, "to": "https://example.org/note", "relation": "evidence"}],
    "complete": True,
}
PROPOSAL: dict[str, Any] = {
    "record": RECORD,
    "by": "profile.propose",
    "since": AT,
    "replaces": [],
    "problem": None,
    "rivals": [],
    "similar": [],
}
PROFILE: dict[str, Any] = {
    "instructions": {"language": "answer in German"},
    "name": "Ana",
    "preferences": {"drink": "tea"},
    "schedule": {"wake_up": "06:30"},
    "relationships": [],
    "interests": [],
    "communication_style": None,
    "environment": None,
    "stable_facts": [],
    "do_not_assume": [],
    "last_updated": AT,
    "evidence_ids": [ID],
    "conflicts": [],
}
PROJECT: dict[str, Any] = {
    "project_name": "garden",
    "goals": [],
    "blockers": [],
    "next_steps": [],
    "evidence_ids": [ID],
}
PENDING = {
    "id": ID,
    "why": "request without a result",
    "kind": "request",
    "content": "Send the invoice",
    "at": AT,
}
STATUS: dict[str, Any] = {
    "home": "/srv/lamina",
    "agent": "sky",
    "user": None,
    "store": "5" * 32,
    "records": {"short_term": {"active": 12}},
    "archived": 0,
    "open_runs": 0,
    "problems": [],
    "events": 12,
    "head": "4be1",
    "bytes": {"memory.db": 221184},
    "cache": {"bytes": 81920, "budget": 268435456, "scopes": 1},
    "jobs": [],
    "other_jobs": [],
}
READ = {
    "at": AT,
    "action": "search",
    "actor": "agent:token 3f9a11c2",
    "surface": "http",
    "records": [ID],
    "note": {},
}
HEAD = {
    "agent": "sky",
    "store": "5" * 32,
    "events": {"seq": 12, "hash": "4be1"},
    "reads": {"seq": 3, "hash": "77aa"},
}
REPORT = {"ok": True, "events": 12, "records": 12, "head": "4be1", "problems": []}
ERROR = no_record(f"'{ID}'").to_dict()


def page(item: Any) -> dict[str, Any]:
    return {"items": [item], "next": "eyJhdCI6MTc3NzYyMjQwMDAwMDAwMCwic2VxIjoxMn0"}
