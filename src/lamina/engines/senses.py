"""Word lists by sense: what happens, to what, how badly, and what makes it harmless (L8). Pure.

The tables list words and phrases, separated by commas. `_all` adds the regular forms of each word,
so that only irregular ones are listed; forms that do not exist do no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from lamina.text.calendar_words import MONTHS, WEEKDAYS

VOWELS = "aeiou"


class Event(NamedTuple):
    """The class of event that a word reports, and its points of severity."""

    name: str
    points: int


def inflected(word: str) -> Iterator[str]:
    """Yield a word and its regular forms; a phrase has none."""
    yield word
    if " " in word:
        return
    stem = word[:-1] if word.endswith(("e", "y")) else word
    yield from (f"{word}s", f"{word}es", f"{word}ed", f"{stem}ed", f"{stem}ing", f"{word}ing")
    if word.endswith("y"):
        yield from (f"{stem}ies", f"{stem}ied")
    elif word[-1] not in VOWELS:
        yield from (f"{word}{word[-1]}ed", f"{word}{word[-1]}ing")


def _listed(words: str) -> frozenset[str]:
    return frozenset(" ".join(words.split()).split(", "))


def _all(words: str) -> frozenset[str]:
    return frozenset(form for word in _listed(words) for form in inflected(word))


# What happens. Three points in a severe class are critical by themselves.
_EVENTS = {
    Event("security", 3): """
        hacked, burgled, burglary, robbed, mugged, ransomware, ransom, malware, spyware, breach,
        compromise, intruder, intrusion, break-in, hijack, deface, blackmail, scammed, extort,
        broke in, broken in, broke into, broken into, logged in as, identity theft, zero-day,
        keylogger, backdoor, ransacked, kidnap, stalked, ddos, phished, cyberattack, doxxed,
        looted, vandalised, vandalized""",
    Event("security", 2): """
        hacker, burglar, attacker, phishing, fraud, fraudster, scammer, steal, stole, stolen,
        theft, thief, thieves, exploit, unauthorised, unauthorized, tamper, trojan, impersonate,
        intercept, rootkit, infiltrate, forged, stranger, swindle, embezzle, unknown login,
        suspicious login, unknown device, someone logged in, somebody logged in, login from""",
    Event("security", 1): """
        leak, expose, publish, vulnerability, virus, infect, disable, attack, bypass""",
    Event("loss", 3): """
        data loss, total loss, irrecoverable, unrecoverable, bankrupt, bankruptcy, insolvent,
        foreclose, lost everything, repossess""",
    Event("loss", 2): """
        lose, lost, losing, loss of, destroy, ruin, corrupt, shredded, missing, overwrite,
        overwritten, overwrote, confiscate, seize, forfeit, obliterate, scrambled, bricked,
        default on, defaulted""",
    Event("loss", 1): """
        gone, vanish, loss, delete, erase, wipe, drop, purge, empty, unreadable, disappear,
        froze, frozen, wrong account, wrong accounts, wrong recipient, truncate, drain, siphon,
        encrypted, damage, broken, cancel, terminate, expired, misplace""",
    Event("outage", 3): "kernel panic, blackout",
    Event("outage", 2): """
        outage, crash, unreachable, unavailable, is down, are down, went down, was down, offline,
        unresponsive, meltdown, lost quorum, out of disk""",
    Event("outage", 1): """
        fail, failure, dead, died, dies, burned out, broke, hang, hung, not responding, not
        start, not boot, won't start, won't boot, stopped working, panic, degrade, refuse, stuck,
        disk full, overheat""",
    Event("harm", 3): """
        passed away, heart attack, had a stroke, suicide, overdose, unconscious, intensive care,
        run over, on fire, burned down, gas leak, carbon monoxide, explode, fatal, ambulance,
        anaphylactic, anaphylaxis, malignant, metastases, evict, eviction, was fired, were fired,
        got fired, been fired, laid off, taken to hospital, rushed to hospital, hospitalise,
        hospitalize, coma, seizure, stabbed, raped, drowned, electrocuted, paralysed, paralyzed,
        miscarriage, evacuate, life-threatening, emergency room, arrested, murdered, abducted,
        amputate, perished, sepsis, stillborn, deported, imprisoned, in prison, in jail,
        earthquake, hurricane, tornado, wildfire, landslide, bomb, rabies, meningitis, terminally
        ill, car crash, plane crash, electric shock""",
    Event("harm", 2): """
        accident, collapse, died, dies, dying, dead, missing, explosion, burst, flood, poison,
        injure, injury, tumour, tumor, cancer, wounded, bleed, bled, suffocate, drown, disaster,
        full of smoke, killed, toxic, went wrong, can't breathe, can't speak, can't move, cannot
        breathe, cannot speak, cannot move, came down, caved in, sued, lawsuit, assaulted, beaten
        up""",
    Event("harm", 1): """
        crash, leak, trapped, contaminated, infected, death, fire, smoke, burned, burnt, hurt,
        fell, hospital, swallow, leaking, choke, fracture, bitten, surgery""",
    Event("irreversible", 2): """
        irreversible, irreversibly, irrevocable, irrevocably, one-way, no going back, point
        of no return, be undone, be reversed, cannot be changed, cannot be closed,
        last chance, once and for all""",
    Event("health", 2): """
        diagnose, allergic, allergy, intolerant, epilepsy, epileptic, diabetes, diabetic, asthma,
        celiac, coeliac, insulin, antidepressants, blood thinners, chemotherapy, chemo,
        pacemaker, chronic, dementia, alzheimer's, depression, hypertension, contraindicated,
        haemophilia, immunosuppressed, addicted, relapse""",
    Event("health", 1): """
        medication, medicine, dose, pill, prescribe, antibiotics, penicillin, aspirin, ibuprofen,
        cholesterol, blood pressure, operation, disorder, disease, syndrome""",
    Event("turning point", 2): """
        divorce, pregnant, getting married, got married, got engaged, handed in my notice, gave
        notice, resign, gave birth, was born, got the job, accepted the offer, adopt a child,
        adopted a child, widowed, signed the lease, signed the contract, bought a house, bought
        the house, quit my job, split up, moving abroad, emigrate""",
    Event("decision", 1): """
        decide, decision, chose, chosen, agreed to, agreed never, agreed that, agreed on,
        resolved to, commit to, committed to, made up my mind, settled on, opted, voted, signed""",
    Event("goal", 1): """
        want to, wants to, plan to, plans to, planning to, plan is to, intend, dream is, dream
        of, hope to, hopes to, hoping to, aim to, aims to, goal, ambition, aspire, determined to,
        working towards, saving for, training for""",
    Event("deadline", 1): """
        deadline, due, expire, runs out, run out, be filed, be renewed, valid until, closes on,
        ends in, ends on, renewal, at the latest, overdue, cut-off, cutoff""",
    Event("fault", 1): """
        error, exception, timeout, timed out, break, jam, late, delay, pain, ache,
        migraine, headache, reject, decline, forget, forgot, complain, complaint, wrong, bug,
        incident, problem, issue, glitch, abort, freeze, trips, goes out, gives way, cut off,
        cuts out, flicker, miss, skipped, stall, rollback, disconnect, no power, no internet, no
        signal, retries, overload, quarrel, argue, faint, dizzy, vomit, insomnia, nightmare,
        worse, malfunction, misfire, oom, flaky, throttle, denied""",
}
# A word may belong to several classes: disks die, and so do people.
EVENTS: dict[str, tuple[Event, ...]] = {}
for _event, _words in _EVENTS.items():
    for _form in _all(_words):
        if _event.name not in {known.name for known in EVENTS.get(_form, ())}:
            EVENTS[_form] = (*EVENTS.get(_form, ()), _event)
GRAVE = frozenset({"security", "loss", "outage", "harm"})
NOTABLE = frozenset({"irreversible", "health", "turning point", "decision", "goal", "deadline"})

# What makes an event serious, by sort: what is affected ...
_THINGS = {
    "data": """
        data, database, db, record, backup, archive, disk, drive, raid, nas, file, document,
        photo, table, row, repository, history, invoice, mail, email, mailbox, voicemail, key,
        password, credential, token, secret, session, certificate, account, access, code, log,
        wallet, passport, card, laptop, phone, computer, domain, dns, copy, snapshot, volume,
        thesis, manuscript, contract, samples, message, video, recording, contact, identity, pin""",
    "system": """
        server, service, cluster, replica, website, site, system, network, vpn, firewall,
        gateway, production, prod, platform, app, api, backend, controller, master, host, router,
        switch, data centre, data center, power, generator, heating, boiler, alarm, freezer,
        pump, reactor, database, disk, raid, nas, backup, billing""",
    "money": """
        money, savings, deposit, pension, fund, payroll, salary, loan, mortgage, euro, dollar,
        pound, bank, insurance, invoice, payment, inheritance, cash, safe, jewellery, jewelry,
        bike, car, budget, job, policy, account, wallet, debt, bill, house""",
    "home": """
        house, flat, home, apartment, basement, cellar, kitchen, ceiling, roof, garage, hallway,
        building, office, bathroom, bedroom, pipe, heating, water, wall, floor, door, warehouse,
        shop""",
    "person": """
        mother, mum, mom, father, dad, parent, son, daughter, child, children, kid, baby, wife,
        husband, partner, brother, sister, grandma, grandpa, grandmother, grandfather, aunt,
        uncle, cousin, friend, colleague, neighbour, neighbor, person, people, patient, boss, he,
        she, him, niece, nephew, leg, arm, head, heart, dog, cat, customer, employee, everyone,
        user""",
}
# ... and how it happens.
_HOW = {
    "extent": """
        all, entire, whole, entirely, both, everything, every, completely, total, totally, only
        copy, the only, nobody can, no one can, no customer, nothing can, fully, several,
        hundreds, thousands, million, millions""",
    "core": """
        main, primary, production, prod, root, admin, administrator, master, central, core,
        critical, essential, live, customer, payroll, private key, encryption key, credit card""",
    "stranger": """
        unknown, unauthorised, unauthorized, stranger, somebody, someone, anonymous, unfamiliar,
        hacker, attacker, other users, other people's, suspicious""",
    "severe": """
        badly, serious, seriously, severe, severely, massive, massively, major, terrible,
        terribly, horrible, urgent, urgently, critical, critically, catastrophic, huge, grave,
        deadly, right now, by mistake, dead, worse, worst, completely, unconscious""",
    "lasting": """
        for good, forever, permanently, permanent, irrecoverable, unrecoverable, no copy, no
        copies, no backup, no backups, only copy, no longer, not come back, beyond repair, not
        any more, never get, no going back, from scratch, nothing left, without a trace, ruined,
        will not be, refuse to, for years, lifelong""",
    "rule": "must, never, avoid, always, mustn't, under no circumstances, otherwise",
    "horizon": """
        year, next month, someday, some day, one day, by the end, before the, spring, summer,
        autumn, winter, weeks, half, eventually, long-term, retirement""",
}
_DATES = (
    *(month for month in MONTHS if month not in ("march", "may")),  # which are also verbs
    *(f"{when} {month}" for month in ("march", "may") for when in ("in", "by", "next", "until")),
    *(f"{when} {day}" for day in WEEKDAYS for when in ("by", "on", "until", "before")),
)
SORTS: dict[str, frozenset[str]] = {}


def _sort(name: str, words: Iterable[str]) -> None:
    for word in words:
        SORTS[word] = SORTS.get(word, frozenset()) | {name}


for _name, _words in _THINGS.items():
    _sort(_name, _all(_words))
for _name, _words in _HOW.items():
    _sort(_name, _listed(_words))
_sort("horizon", _DATES)
_ANYHOW = frozenset({"extent", "core", "severe", "lasting"})
# The sorts that count for each class: one point each, once.
COUNTED: dict[str, frozenset[str]] = {
    "security": _ANYHOW | {"stranger", "data", "system", "money"},
    "loss": _ANYHOW | {"stranger", "data", "system", "money"},
    "outage": _ANYHOW | {"system"},
    "harm": _ANYHOW | {"person", "home"},
    "irreversible": frozenset({"lasting"}),
    "health": frozenset({"rule", "severe", "horizon", "lasting"}),
    "turning point": frozenset({"horizon"}),
    "decision": frozenset({"lasting", "system", "home", "money", "core", "rule", "horizon"}),
    "goal": frozenset({"horizon", "lasting"}),
    "deadline": frozenset({"horizon", "rule"}),
}

# How often it happens.
REPEATED = _listed(
    """whenever, keeps, keep, repeatedly, constantly, continually, again, in a row, yet another,
    once more, several times, many times, each time, every time, time and again, more often,
    every few, every other, every second, every single, once an hour, recurring, the same, third,
    fourth, fifth, sixth, seventh, eighth, ninth, tenth, times a, times this, daily, hourly, for
    weeks, for days, for months, over and over, second time, each"""
) | {
    f"every {time}"
    for time in (
        *WEEKDAYS,
        *("day", "night", "morning", "evening", "week", "weekend", "month", "year", "hour"),
    )
}

# What makes it harmless. An event is negated by these shortly before it ...
DENIALS = _listed(
    """no, not, nothing, zero, never, without, nobody, none, neither, nor, hardly, 0, don't,
    doesn't, didn't, isn't, wasn't, weren't, hasn't, haven't, won't, cannot, can't, couldn't,
    avoided, avoid, prevent, prevented, against, instead"""
)
# ... intended, if something is removed, directly after these or as the first word ...
MEANT = _listed("i, we, to, please")
# ... hypothetical, with these before it in its part of the sentence ...
THOUGHT = _listed(
    """if, suppose, imagine, assume, would, could, might, unless, whether, when, should, pretend,
    pretended, pretends, mock, simulate, simulated, simulates, asked, asks, wonder, wondered,
    afraid, fear, worry, worried, nearly, almost"""
)
# ... part of a story, with these before it ...
TOLD = _all(
    """film, movie, novel, book, story, article, blog, documentary, game, dream, song, poem,
    lecture, workshop, training, drill, test, exercise, museum, chapter, course, podcast, series,
    episode, theatre, scene, joke, slide, demo, staging, sandbox, dummy, quiz, match, tutorial,
    lesson, fiction, thriller, puzzle, simulation, example, playbook, runbook, docs"""
)
# ... part of the name of something else, with these after it ...
NAMED = TOLD | _all(
    """plan, scan, alert, alarm, detector, policy, process, handler, path, patch, recovery, tip,
    template, checklist, level, sprite, suite, page, message, list, column, field, form, button,
    insurance, class, rate, report, mode, budget, word, phrase, protection, department"""
)
# ... a figure of speech, with these shortly after it ...
FIGURES = _listed(
    """temper, thought, thoughts, hope, interest, patience, track, count, touch, sight, thread,
    nerve, weight, kilo, kilos, pounds, appetite, game, match, quiz, bet, set, round, point,
    points, games, matches, show, ice, voice, chat, inbox, colours, colors, laughter, violin, up,
    sofa, couch, bed, asleep, love, impress, see, tired"""
)
# ... the subject of work, a question or a look, with these at the beginning of the sentence ...
DONE = _listed(
    """read, reading, opened, watched, watching, generated, retrieved, documented, wrote,
    writing, renamed, checked, played, playing, tested, discussed, talked, please, write,
    translate, explain, summarise, summarize, add, mock, describe, draft, show, list, create,
    find, search, help, how, what, why, who, which, can, could, would, should, do, does, did, is,
    are, looked, listed, loaded, fetched, started, restarted, rebooted, updated, reviewed,
    learned, studied, user asked, user said, remind, define, compare, test, fixed, killed, ran,
    exported, meeting, standup"""
)
# ... over, if the text has one of these anywhere, or for some classes one of those below ...
OVER = _listed(
    """fixed, solved, resolved, repaired, restored, recovered, harmless, false alarm, averted, as
    planned, maintenance, planned, scheduled, turned up, is back, are back, came back, back from,
    back online, up again, mended, healed, reimbursed, refunded, fine, passed, succeeded, in
    time, all good, under control, works again, working again, nobody noticed, complete,
    completed, on purpose, intended, expected, replaced"""
)
OVER_FOR = {
    "loss": _listed("found, returned, located"),
    "outage": _listed("worked, works, restarted, rebooted, retry"),
    "fault": _listed("worked, works"),
}
# ... or not serious, if the text has this tone.
LIGHT = _listed("laughed, laughing, laugh, lovely, fun, funny, haha, lol, joke, great, brilliant")
# If one of these is negated, a failure lasts instead: "could not be restarted".
MENDED = _all(
    """restore, restart, recover, reopen, undo, revert, retrieve, repair, fix, open, boot, start,
    reach, access, save, reboot, mend, reverse, replace, rebuild, reset, pay, log"""
) | {"back", "brought", "undone"}


def _longest(*tables: Iterable[str]) -> dict[str, int]:
    """Return the length of the longest phrase by first word; most words begin no phrase."""
    longest = dict.fromkeys(chain(*tables), 1)
    for phrase in [phrase for phrase in longest if " " in phrase]:
        del longest[phrase]
        first = phrase.partition(" ")[0]
        longest[first] = max(longest.get(first, 0), 1 + phrase.count(" "))
    return longest


LONGEST = _longest(EVENTS, SORTS, REPEATED, DONE, OVER, *OVER_FOR.values())
BEGINNINGS = frozenset(_longest(EVENTS))
ENDINGS = frozenset(_longest(OVER, *OVER_FOR.values()))
