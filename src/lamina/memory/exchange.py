"""Export memories to files, and import them from files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from lamina.errors import InvalidInput
from lamina.formats import exporting, jsonl, milton, native, registry
from lamina.formats.importing import policy
from lamina.home.folder import given_path, make_private_folder, refuse_link
from lamina.memory.scope import Part
from lamina.model import rules
from lamina.model.record import Layer
from lamina.store.archive.files import stamp
from lamina.store.tables.records import Filter
from lamina.store.upkeep import backup
from lamina.store.upkeep.verify import Progress
from lamina.text.words import one_line


class Exchange(Part):
    """Export a store and import files, for an operator."""

    def export(
        self,
        path: Path | str | None,
        public: bool,
        force: bool,
        progress: Progress | None,
        states: Collection[str] | None = None,
        session: str | None = None,
    ) -> Path:
        """Write every record, in every state, with its events; or only selected records."""
        self._scope.check_whole("export")
        rules.progress(progress)
        wanted = self._wanted(states, session)
        if path is None:
            folder = self._scope.resilient.path_of("exports")
            refuse_link(folder)
            make_private_folder(folder)
            target = backup.unused(folder / f"{stamp(self._scope.clock())}.json")
        else:
            target = _target(path, force=public or force)

        def write() -> int:
            if public:
                return native.write_public(self._store, target, wanted, progress, force=force)
            if wanted is not None:
                return native.write_some(self._store, target, wanted, progress, force=force)
            return native.write(self._store, target, progress, force=force)

        count = self._store.steadily(write)
        self._scope.audit("export", (), path=one_line(str(target)), records=count)
        return target

    def _wanted(self, states: Collection[str] | None, session: str | None) -> Filter | None:
        """Select the records in these states and of this session; None selects everything."""
        if not states and session is None:
            return None
        return self._scope.filter(tuple(Layer), states, session=session)

    def export_as(
        self,
        format: str,
        path: Path | str,
        force: bool,
        progress: Progress | None,
        states: Collection[str] | None = None,
        session: str | None = None,
    ) -> dict[str, Any]:
        """Write what another program's format can represent, and report what it cannot."""
        self._scope.check_whole("export")
        rules.progress(progress)
        name, target = exporting.check(format), _target(path, force=force)
        wanted = self._wanted(states, session)
        if name == "lamina":
            written = self.export(target, False, force, progress, states, session)
            return {"format": name, "path": str(written)}
        summaries = self._summaries() if name == "milton" and wanted is None else []
        report = exporting.write(
            self._store,
            name,
            target,
            progress,
            force=force,
            summaries=summaries,
            now=self._scope.clock(),
            wanted=wanted,
        )
        self._scope.audit(
            "export", (), path=one_line(str(target)), records=report["records"], format=name
        )
        return report

    def _summaries(self) -> list[dict[str, Any]]:
        """Make the lines of Milton's format for the profile and the projects."""
        profiles = self._scope.parts.profiles
        lines = [milton.project_line(project.to_dict()) for project in profiles.projects()]
        profile = profiles.user_profile()
        if profile.evidence_ids:
            lines.insert(0, milton.profile_line(profile.to_dict()))
        return lines

    def import_(
        self,
        path: Path | str,
        trust: bool,
        progress: Progress | None,
        format: str | None,
        on_conflict: str,
        dry_run: bool,
    ) -> dict[str, Any]:
        """Import a file; its records are external and grant nothing without `trust`."""
        scope = self._scope
        scope.check_whole("import")
        rules.progress(progress)
        rules.flag(trust, "trust")
        source, chosen = given_path(path), policy(on_conflict)
        form = registry.form_for(source, format)
        given = (self._store, source, scope.draft, trust, scope.actor, scope.clock(), progress)
        if form is not None:
            report = jsonl.read(*given, form=form, policy=chosen, dry_run=dry_run)
        else:
            report = native.read(*given, policy=chosen, dry_run=dry_run)
        if dry_run or report["mode"] == "restored":
            self._note_import(source, report, dry_run)
        elif form is not None:
            scope.changed(report["taken"])
        return report

    def _note_import(self, source: Path, report: dict[str, Any], dry_run: bool) -> None:
        """Note an import in the trail of reads, and erase again what an export brought back.

        A restored trail of changes equals the imported one byte for byte, so it cannot say this.
        """
        erasures = self._scope.parts.erasures
        erasures.file_certificates()
        mode, taken = report["mode"], report["taken"]
        self._scope.audit("import", (), path=one_line(str(source)), mode=mode, taken=taken)
        if not dry_run and (again := erasures.resume()):
            report["erased_again"] = sum(len(certificate.records) for certificate in again)


def _target(path: Path | str, *, force: bool) -> Path:
    """Check the target of an export: an existing folder, and no repository unless forced."""
    target = given_path(path)
    if not force:
        native.refuse_work_tree(target)
    if not target.parent.is_dir():
        raise InvalidInput(f"{target.parent} is not a folder")
    return target
