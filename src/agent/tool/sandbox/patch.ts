import { FileError, type PatchFiles, type Sandbox } from "../../../sandbox/index.js";
import { appliedSections, isBeginPatch, movesIn, readBeginPatch } from "./begin-patch.js";
import { PatchRefusedError } from "./error.js";
import { fitted } from "./list.js";
import { CHANGE, placeOf, SHARED, sandboxTool } from "./options.js";
import { bufferOf, plural } from "./text.js";

/** A tool that applies a patch to several files at once, all of it or nothing. */
export const patchTool = sandboxTool({
  name: "patch",
  description:
    'Applies a patch to the files of the workspace, all of it or nothing: a unified diff as git writes it, or the form "*** Begin Patch" … "*** Update File: path" … "*** End Patch".',
  properties: { patch: { type: "string", minLength: 1, description: "The patch." } },
  required: ["patch"],
  ...SHARED,
  ...CHANGE,
  reversible: true,
  run: async ({ patch }, context, { maxOutput }) => {
    const sandbox = await context.sandbox();
    const sections = isBeginPatch(patch) ? readBeginPatch(patch) : undefined;
    const files = patchFiles(sandbox, patch, sections === undefined ? movesOf(patch) : movesIn(sections));
    const done =
      sections === undefined ? await appliedDiff(files, patch) : await appliedSections(files, sections);
    if (done.length === 0)
      throw new PatchRefusedError([{ line: 1, why: "there is no change of a file in it" }]);
    return fitted(`Applied to ${plural(done.length, "file")}:`, done, maxOutput);
  },
});

/** The changes of a diff, one line per file. Models miscount hunks, so headers are not believed. */
async function appliedDiff(files: PatchFiles, patch: string): Promise<readonly string[]> {
  const { applyPatch } = await import("../../../sandbox/index.js");
  const outcome = await applyPatch(files, patch, { recount: true });
  if (!outcome.applied)
    throw new PatchRefusedError(
      outcome.failures.map(({ path, line, why, hunk }) => ({
        ...(path !== undefined && { path }),
        line,
        why: hunk === undefined ? why : `hunk ${hunk}: ${why}`,
      })),
    );
  return outcome.files.map(
    ({ path, change, from }) => `${change} ${path}${from === undefined ? "" : ` (from ${from})`}`,
  );
}

/** The files of a sandbox for a patch. "\r\n" files are shown with "\n" and get it back; modes are kept. */
function patchFiles({ files }: Sandbox, patch: string, moves: ReadonlyMap<string, string>): PatchFiles {
  const known = new Map<string, { readonly mode: number; readonly returns: boolean }>();
  const adapts = !patch.includes("\r\n");
  return {
    read: async (path) => {
      const place = placeOf(path);
      const entry = await files.stat(place);
      if (entry === undefined) return undefined;
      if (entry.kind !== "file") throw new FileError("not-a-file", place, `it is a ${entry.kind}`);
      const bytes = await files.read(place);
      const returns = adapts && isAllReturns(bytes);
      known.set(place, { mode: entry.mode, returns });
      return returns ? converted(bytes, "\r\n", "\n") : bytes;
    },
    write: async (path, bytes, mode) => {
      const place = placeOf(path);
      const old = known.get(place) ?? known.get(moves.get(place) ?? "");
      const text = old?.returns === true ? converted(bytes, "\n", "\r\n") : bytes;
      const kept = mode ?? old?.mode;
      await files.write(place, text, kept === undefined ? {} : { mode: kept });
    },
    mode: async (path) => (await files.stat(placeOf(path)))?.mode,
    remove: (path) => files.remove(placeOf(path)),
  };
}

function movesOf(patch: string): ReadonlyMap<string, string> {
  const found = patch.matchAll(/^(?:rename|copy) from (.*)\n(?:rename|copy) to (.*)$/gm);
  return new Map([...found].map(([, from = "", to = ""]) => [to, from]));
}

function converted(bytes: Uint8Array, from: string, to: string): Buffer {
  return Buffer.from(bufferOf(bytes).toString("latin1").replaceAll(from, to), "latin1");
}

function isAllReturns(bytes: Uint8Array): boolean {
  const text = bufferOf(bytes).toString("latin1");
  return text.includes("\r\n") && !/(^|[^\r])\n/.test(text);
}
