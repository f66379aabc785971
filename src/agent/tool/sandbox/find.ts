import type { Tool } from "../tool.js";
import { globOf, isGlob } from "./glob.js";
import { fitted } from "./list.js";
import { type SandboxToolOptions, SHARED, sandboxTool } from "./options.js";
import { placeOf, shownPlace } from "./place.js";
import { plural, printable } from "./text.js";
import { walk } from "./walk.js";

type FindInput = { readonly name: string; readonly path?: string };

/** A tool that finds files and directories by name. */
export function findTool(options: SandboxToolOptions = {}): Tool {
  return sandboxTool<FindInput>(options, {
    name: "find",
    description:
      'Finds files and directories of the workspace by a part of their name ("config"), or by a glob: "*.ts" for names, "src/**/*.ts" for paths.',
    properties: {
      name: { type: "string", minLength: 1, description: "A part of a name, or a glob." },
      path: { type: "string", description: "The directory to look in; default the workspace." },
    },
    required: ["name"],
    effect: "read",
    ...SHARED,
    run: async ({ name, path = "" }, context, { maxOutput, skip }) => {
      const { files } = await context.sandbox();
      const root = placeOf(path);
      const { entries, cut } = await walk(files, root, { skip, signal: context.signal });
      const fits = nameTest(name);
      const inside = (place: string): string => (root === "" ? place : place.slice(root.length + 1));
      const found = entries.filter((one) => fits(one.path) || (root !== "" && fits(inside(one.path))));
      const closed = [
        ...new Set(entries.filter((one) => one.closed === "skipped").map((one) => one.entry.name)),
      ];
      const notes = [
        ...(closed.length > 0 ? [`, not looking into ${closed.join(", ")}`] : []),
        ...(cut ? [", among the first 200000 entries"] : []),
      ];
      const where = root === "" ? "" : ` in ${shownPlace(root)}`;
      return fitted(
        `[${plural(found.length, "match", "matches")} for ${JSON.stringify(name)}${where}${notes.join("")}]`,
        found.map(
          ({ path: place, entry }) =>
            printable(place.toWellFormed().replaceAll("\n", "\\n")) + (entry.kind === "directory" ? "/" : ""),
        ),
        maxOutput,
      );
    },
  });
}

/** Without wildcards a name is a part of one, in capitals or not; with a slash a part of the path. */
function nameTest(name: string): (path: string) => boolean {
  if (isGlob(name)) return globOf(name);
  const names = name.split("/").filter((part) => part !== "" && part !== ".");
  const wanted = names.join("/").toLowerCase();
  return (path) => {
    const where = wanted.includes("/") ? path : path.slice(path.lastIndexOf("/") + 1);
    return where.toLowerCase().includes(wanted);
  };
}
