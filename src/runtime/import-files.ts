import type { Trees } from "../sandbox/index.js";
import { requireSession, type Session } from "../session/index.js";
import { RefusedError } from "./given.js";

/** The session with the files of a folder, or of a commit of a git repository. */
export async function importFiles(
  session: Session,
  from: string | { readonly git: string; readonly commit?: string },
  { exclude }: { readonly exclude?: readonly string[] },
  trees: Trees,
): Promise<Session> {
  requireSession(session, "import files");
  if (typeof from !== "string" && exclude !== undefined)
    throw new RefusedError(
      "import files",
      "a commit is taken as it is, and nothing of it is excluded",
      "leave out `exclude`, or import a folder: rath.importFiles(session, folder, { exclude })",
    );
  const { importFolder, importGit } = await import("../sandbox/index.js");
  const folder = typeof from === "string";
  const taken = folder
    ? { source: from, ...(await importFolder(from, trees, exclude)) }
    : await importGit(trees, from.git, from.commit).then((git) => ({
        source: `${from.git}#${git.commit}`,
        ...git,
      }));
  const { source, tree: after, files, bytes, skipped } = taken;
  return session.append({
    type: "workspace-import",
    source,
    after,
    files,
    bytes,
    ...(skipped.length > 0 && { skipped }),
    by: "runtime",
  });
}
