// @ts-check
// The small repository that the agents repair, the task, and what is known of earlier work.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Session } from "openrath";
import { memory } from "openrath/memory";
import { digestOf } from "openrath/session";

export const TASK = "Fix issue 41 (ISSUE.md): when a bill is split, the shares do not add up to the total.";

/** Tests that the agents do not see: they decide what a repair is worth. */
export const HELD_OUT_PATH = "test/held-out.test.js";
export const HELD_OUT = readFileSync(new URL("fixtures/held-out.test.js.txt", import.meta.url), "utf8");

const NOTES = [
  {
    subject: "amounts",
    text: "Amounts in tally are whole cents inside; an amount as text is read and written only in src/money.js.",
  },
  {
    subject: "issue 12",
    text: "In issue 12 a bill was rounded share by share, and nobody noticed that refunds are negative bills.",
  },
  { subject: "releases", text: "Releases of tally are made on Fridays, with a line in the change log." },
];

/** Writes the repository into a new folder. Only contents are copied: an installed package may be read-only. */
export function writeRepository(/** @type {string} */ folder) {
  const source = fileURLToPath(new URL("fixtures/tally", import.meta.url));
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const from = join(entry.parentPath, entry.name);
    const to = join(folder, from.slice(source.length));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, readFileSync(from));
  }
}

/** The memory space of a demonstration. */
export function notesOf(/** @type {string} */ name) {
  return memory({ name, scope: "project:tally" });
}

/**
 * Imports what is known of earlier work into the memory; the import is the evidence. Doing it twice changes nothing.
 *
 * @param {import("openrath/store").Store} store
 * @param {string} name
 */
export async function importNotes(store, name) {
  const digest = digestOf(NOTES.map((note) => note.text).join("\n"));
  const imported = Session.start("Notes of earlier work on tally.", {
    nonce: `${name} ${digest}`,
    by: "service:demo",
    at: new Date().toISOString(),
  }).append({
    type: "record-import",
    format: "text",
    source: "notes of the demonstration",
    digest,
    by: "service:demo",
  });
  await store.save(imported, { name: `${name}/notes` });
  const space = notesOf(name).open(store);
  for (const note of NOTES)
    await space.write(
      { ...note, because: [imported.id], source: "import", by: "service:demo" },
      { key: `${name} ${note.subject}` },
    );
}
