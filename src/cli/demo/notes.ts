import { type MemorySpace, memory } from "../../memory/index.js";
import { digestOf, Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { NOTES, PROJECT } from "./repository.js";

/** The memory space of a demonstration. */
export function notesOf(name: string): MemorySpace {
  return memory({ name, scope: PROJECT });
}

/** Takes in what is known of earlier work, with the import as its evidence. Done twice, it is done once. */
export async function takeInNotes(store: Store, name: string): Promise<void> {
  const text = NOTES.map((note) => note.text).join("\n");
  const digest = digestOf(text);
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
