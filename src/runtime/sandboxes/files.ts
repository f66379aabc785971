import type { ExportedGit, ExportOptions, Trees, WorkspaceFiles } from "../../sandbox/index.js";
import { requireSession, type Session } from "../../session/index.js";
import { RefusedError } from "../given.js";

/** The files of sessions: looked at, taken in, and written to a git repository. */
export class SessionFiles {
  readonly #trees: () => Promise<Trees>;

  /** @param trees where the files of sessions are kept */
  constructor(trees: () => Promise<Trees>) {
    this.#trees = trees;
  }

  async at(session: Session): Promise<WorkspaceFiles> {
    requireSession(session, "look at the files");
    const { filesAt } = await import("../../sandbox/index.js");
    return filesAt(session, await this.#trees());
  }

  async import(
    session: Session,
    source: string | { readonly git: string; readonly commit?: string },
    options: { readonly exclude?: readonly string[] },
  ): Promise<Session> {
    requireSession(session, "import files");
    if (typeof source !== "string" && options.exclude !== undefined)
      throw new RefusedError(
        "import files",
        "a commit is taken as it is, and nothing of it is excluded",
        "leave out `exclude`, or import a folder: rath.importFiles(session, folder, { exclude })",
      );
    const { importFolder, importGit } = await import("../../sandbox/index.js");
    const trees = await this.#trees();
    const folder =
      typeof source === "string" ? await importFolder(source, trees, options.exclude) : undefined;
    const commit = typeof source === "string" ? undefined : await importGit(trees, source.git, source.commit);
    const { tree, files, bytes, skipped } = (folder ?? commit) as NonNullable<typeof folder>;
    return session.append({
      type: "workspace-import",
      source: typeof source === "string" ? source : `${source.git}#${commit?.commit}`,
      after: tree,
      files,
      bytes,
      ...(skipped.length > 0 && { skipped }),
      by: "runtime",
    });
  }

  async exportGit(session: Session, repository: string, options: ExportOptions): Promise<ExportedGit> {
    requireSession(session, "export to git");
    const { exportGit, stepsOf } = await import("../../sandbox/index.js");
    return exportGit(await this.#trees(), repository, await stepsOf(session), options);
  }
}
