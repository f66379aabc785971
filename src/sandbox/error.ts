import { type Json, RathError } from "../session/index.js";

/** This kind of sandbox cannot be had here. Nothing is run without the isolation that was asked for. */
export class SandboxUnavailableError extends RathError {
  constructor(provider: string, missing: string, remedy: string, cause?: unknown) {
    super("sandbox-unavailable", `Cannot open a ${provider} sandbox: ${missing}.`, {
      hint: remedy,
      data: { provider, missing, remedy },
      cause,
    });
  }
}

/** The sandbox is gone, and nobody knows what became of its commands. */
export class SandboxLostError extends RathError {
  constructor(id: string, why: string, cause?: unknown) {
    super("sandbox-lost", `The sandbox ${id} is lost: ${why}.`, {
      hint: "open it again from the tree that was recorded last; processes that were running may not have ended",
      data: { sandbox: id, why },
      cause,
    });
  }
}

/** A path that leads out of the workspace, or through a link. */
export class PathRefusedError extends RathError {
  constructor(path: string, reason: string) {
    super("path-refused", `Cannot use the path ${JSON.stringify(path)}: ${reason}.`, {
      hint: 'give a path inside the workspace that goes through no link: "src/index.ts"',
      data: { path, reason },
    });
  }
}

/** A file operation that the workspace cannot do: nothing there, a directory where a file should be. */
export class FileError extends RathError {
  constructor(
    reason: "missing" | "not-a-file" | "not-a-directory" | "failed",
    path: string,
    why: string,
    cause?: unknown,
  ) {
    super(`file-${reason}`, `Cannot do this with ${JSON.stringify(path)}: ${why}.`, {
      hint: "look at what is there: sandbox.files.list(directory)",
      data: { path, why },
      cause,
    });
  }
}

export function missingFile(path: string, name?: string): FileError {
  const why = name === undefined ? "nothing is there" : `there is no ${JSON.stringify(name)}`;
  return new FileError("missing", path, why);
}

export function linkRefused(path: string): PathRefusedError {
  return new PathRefusedError(path, "it is a link, and links are not followed");
}

/** Longer files are read in parts by anyone who needs them; a file can pretend any length. */
const READ_BYTES = 512 * 1024 ** 2;

type Found = { readonly kind: string; readonly size: number };

/** Refuses what is not a file that can be read at once. */
export function requireFile<Entry extends Found>(there: Entry | undefined, path: string): Entry {
  if (there === undefined) throw missingFile(path);
  if (there.kind === "link") throw linkRefused(path);
  if (there.kind !== "file") {
    const why = there.kind === "directory" ? "it is a directory" : "it is not a regular file";
    throw new FileError("not-a-file", path, why);
  }
  if (there.size > READ_BYTES)
    throw new FileError("failed", path, `it has ${there.size} bytes, too many to read at once`);
  return there;
}

/** Refuses a step of a path that does not lead on. */
export function requireDirectory(
  { kind }: Pick<Found, "kind">,
  path: string,
  name: string | undefined,
): void {
  if (kind === "link") throw new PathRefusedError(path, `${JSON.stringify(name)} is a link`);
  if (kind !== "directory")
    throw new FileError("not-a-directory", path, `${JSON.stringify(name)} is not a directory`);
}

/** More bytes were added to a workspace than one snapshot may take in. Nothing of it is kept. */
export class SnapshotLimitError extends RathError {
  /** The same files are too large the next time as well. */
  readonly isRetryable = false;

  constructor(path: string, bytes: number, limit: number) {
    super(
      "snapshot-too-large",
      `Cannot keep the files of the workspace: with ${JSON.stringify(path)}, ${bytes} bytes were added since the last snapshot, and ${limit} are allowed (holes of files count in full).`,
      {
        hint: "remove large files at the end of the command, leave them out with `exclude`, or allow more with `limits: { disk }`",
        data: { path, bytes, limit },
      },
    );
  }
}

/** A setting of a sandbox that makes no sense, or that this provider cannot honour. */
export class SandboxSpecError extends RathError {
  constructor(setting: string, reason: string, hint: string, data: { [name: string]: Json } = {}) {
    super("sandbox-spec-refused", `Cannot open a sandbox with this ${setting}: ${reason}.`, {
      hint,
      data: { setting, reason, ...data },
    });
  }
}

/** A tree or a file that the record names and the store does not hold. */
export class MissingFileError extends RathError {
  constructor(what: string, digest: string) {
    super("file-withheld", `Cannot read ${what} of a workspace: the store does not hold ${digest}.`, {
      hint: "it was erased, or this store got the record without its files: bring them with store.sync(from)",
      data: { digest },
    });
  }
}

/** Some conflicts of a merge of files were not settled. */
export class UnresolvedConflictsError extends RathError {
  constructor(conflicts: readonly { readonly path: string; readonly kind: string }[]) {
    super(
      "conflicts-unresolved",
      `Cannot resolve the merge: ${conflicts.length} conflicts have no choice (${named(conflicts.map(({ path }) => path))}).`,
      {
        hint: 'choose for each path: "ours", "theirs", "base", "delete", { text } or { bytes }; or one word for all',
        data: { conflicts: conflicts.map(({ path, kind }) => ({ path, kind })) },
      },
    );
  }
}

/** A choice that does not fit the conflicts of a merge. */
export class ConflictChoiceError extends RathError {
  constructor(paths: readonly string[], reason: string, hint: string) {
    super("conflict-choice-refused", `Cannot resolve the merge at ${named(paths)}: ${reason}.`, {
      hint,
      data: { paths: [...paths], reason },
    });
  }
}

/** The files of a session are those of two branches that do not go together. */
export class UnmergedFilesError extends RathError {
  constructor(session: string, conflicts: readonly { readonly path: string; readonly kind: string }[]) {
    super(
      "files-unmerged",
      `Cannot tell the files of ${session.slice(0, 12)}: its branches changed ${named(conflicts.map(({ path }) => path))} differently.`,
      {
        hint: 'merge them first, and settle what is in conflict: mergeFiles({ resolve: "ours" }).forward(session)',
        data: { session, conflicts: conflicts.map(({ path, kind }) => ({ path, kind })) },
      },
    );
  }
}

/** There is no git here. */
export class GitUnavailableError extends RathError {
  constructor(cause?: unknown) {
    super("git-unavailable", "Cannot run git: it is not installed, or not on the PATH.", {
      hint: "install it: apt-get install git (Debian, Ubuntu), dnf install git (Fedora), brew install git (macOS)",
      cause,
    });
  }
}

/** Git refused, or the repository is not what it should be. */
export class GitError extends RathError {
  constructor(
    attempt: string,
    why: string,
    hint = "look at the repository with git: git -C <repository> status",
    data: { [name: string]: Json } = {},
  ) {
    super("git-failed", `Cannot ${attempt}: ${why}.`, { hint, data: { attempt, why, ...data } });
  }
}

/** The files to be exported are those of a merge that nobody has decided yet, with the marks of its conflicts in them. */
export class ConflictedExportError extends RathError {
  constructor(attempt: string, session: string, paths: readonly string[]) {
    super(
      "export-conflicted",
      `Cannot ${attempt}: ${named(paths)} ${paths.length === 1 ? "is" : "are"} still in conflict.`,
      {
        hint: 'settle the merge first: mergeFiles({ resolve: "ours" }); or export the files with the marks in them: { conflicts: "keep" }',
        data: { session, paths: [...paths] },
      },
    );
  }
}

/** A call of a sandbox with an argument that cannot be meant. */
export class SandboxCallError extends RathError {
  constructor(call: string, argument: string, reason: string, hint: string) {
    super("sandbox-call-refused", `Cannot ${call}: ${argument} ${reason}.`, {
      hint,
      data: { call, argument, reason },
    });
  }
}

function named(paths: readonly string[]): string {
  const more = paths.length > 5 ? ` and ${paths.length - 5} more` : "";
  return (
    paths
      .slice(0, 5)
      .map((path) => JSON.stringify(path))
      .join(", ") + more
  );
}

/** The engine refused a request, or gave no answer to it: then the status is null. */
export class EngineError extends RathError {
  readonly status: number | null;

  constructor(request: string, status: number | null, reason: string, cause?: unknown) {
    super(
      "engine-refused",
      `The container engine ${status === null ? "did not answer" : "refused"} ${request}: ${reason}.`,
      {
        hint:
          status === null
            ? "see whether it runs: docker info"
            : "see what it says about itself: docker info, journalctl -u docker",
        data: { request, status, reason },
        cause,
      },
    );
    this.status = status;
  }
}

/** An archive that is cut off, damaged, or of a kind that is not read here. */
export class ArchiveError extends RathError {
  constructor(reason: string) {
    super("archive-refused", `Cannot read the archive of a workspace: ${reason}.`, {
      hint: "take the snapshot again; an engine that sends such archives every time is broken",
      data: { reason },
    });
  }
}
