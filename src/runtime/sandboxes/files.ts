import type { Trees } from "../../sandbox/index.js";
import { requireSession, type Session } from "../../session/index.js";
import { RefusedError } from "../given.js";

/** The session with the files of a folder, or of a commit of a git repository. */
export async function importFiles(
  session: Session,
  source: string | { readonly git: string; readonly commit?: string },
  { exclude }: { readonly exclude?: readonly string[] },
  trees: Trees,
): Promise<Session> {
  requireSession(session, "import files");
  if (typeof source !== "string" && exclude !== undefined)
    throw new RefusedError(
      "import files",
      "a commit is taken as it is, and nothing of it is excluded",
      "leave out `exclude`, or import a folder: rath.importFiles(session, folder, { exclude })",
    );
  const { importFolder, importGit } = await import("../../sandbox/index.js");
  const folder = typeof source === "string" ? await importFolder(source, trees, exclude) : undefined;
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
