// Replays recorded programs on whatever Node it is started with, for tests. It is put beside the JavaScript of drive.ts.
// Reads {program, id, lines} from stdin, a line of JSON each, and answers each with the id that the replay ended in.
import { createInterface } from "node:readline";
import { replayed } from "./drive.js";

const [dist] = process.argv.slice(2);
const { openStore } = await import(`${dist}/entry/store.js`);
const tell = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

tell({ version: process.version });
for await (const text of createInterface({ input: process.stdin })) {
  const { program, id, lines } = JSON.parse(text);
  const store = await openStore("memory:");
  try {
    await store.import(lines, { head: id });
    const { session, caught } = await replayed(program, store, id, "verify");
    tell({ id: session.id, caught });
  } catch (error) {
    tell({ error: String(error.stack) });
  } finally {
    await store.close();
  }
}
