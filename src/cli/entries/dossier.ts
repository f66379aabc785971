import type { Entry } from "../entry.js";

/** All of a session in files for others. */
export const entries: readonly Entry[] = [
  {
    name: "dossier",
    summary: "everything about a session in two files: a page for people, and the bundle that proves it",
    arguments: [{ name: "SESSION", text: "a name, an id or its beginning, NAME~3, NAME@branch" }],
    options: [
      {
        flags: "-o, --output <file>",
        text: "writes FILE.html and FILE.json; default: the name of the session",
      },
      { flags: "--html-only", text: "only the page" },
      { flags: "--bundle-only", text: "only the bundle" },
      { flags: "--most <n>", text: "at most so many items in each section of the page; default 300" },
      {
        flags: "--characters <n>",
        text: "at most so many characters of one text of the page; default 12000",
      },
      { flags: "--memory", text: "the bundle takes the memory spaces along, with everything that they held" },
      { flags: "--sign <name>", text: "signs the bundle with this key" },
    ],
    examples: [
      "rath dossier demo-1 -o demo-1",
      "rath dossier demo-1 -o ./out/demo-1 --sign ada",
      "rath dossier demo-1 --html-only --most 1000",
    ],
    load: () => import("../command/dossier.js"),
  },
];
