import type { Trees } from "../sandbox/index.js";
import { requireSession, type Session } from "../session/index.js";
import { RefusedError } from "./given.js";

/** The session with the files of a folder, or of a commit of a git repository. */
export async function importFiles(
  session: Session,
  source: string | { readonly git: string; readonly commit?: string },
  { exclude }: { readonly exclude?: readonly string[] },
  open: () => Promise<Trees>,
): Promise<Session> {
  requireSession(session, "import files");
  if (typeof source !== "string" && exclude !== undefined)
    throw new RefusedError(
      "import files",
      "a commit is taken as it is, and nothing of it is excluded",
      "leave out `exclude`, or import a folder: rath.importFiles(session, folder, { exclude })",
    );
  const trees = await open();
  const { importFolder, importGit } = await import("../sandbox/index.js");
  const git = typeof source === "string" ? undefined : await importGit(trees, source.git, source.commit);
  const taken = git ?? (await importFolder(source as string, trees, exclude));
  const { tree: after, files, bytes, skipped } = taken;
  return session.append({
    type: "workspace-import",
    source: typeof source === "string" ? source : `${source.git}#${git?.commit}`,
    after,
    files,
    bytes,
    ...(skipped.length > 0 && { skipped }),
    by: "runtime",
  });
}
