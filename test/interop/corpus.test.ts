import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { dossierHtml, dossierOf, verifySession } from "openrath/evidence";
import { formatOf, type ImportSource } from "openrath/interop";
import { digestOf } from "openrath/session";
import { openStore } from "openrath/store";
import { describe, expect, it } from "vitest";
import { describe as told } from "../../src/cli/text.js";

const data = fileURLToPath(new URL("../../../shared/data", import.meta.url));
/** How many sessions of a file with very many are looked at closely. OPENRATH_CORPUS=all: all of them. */
const CLOSELY = process.env.OPENRATH_CORPUS === "all" ? Number.POSITIVE_INFINITY : 2;

/** The traces among the supplied files: what was recorded of some run. */
const traces = [
  ...files("atif", /_ato?i?f\.jsonl?$/),
  ...files("inspect-ai", /^(?!inspect-openapi).*\.(json|eval)$/),
  ...files("openai-agents-run-state/historical", /\.json$/),
  ...files("openhands", /\.jsonl$/),
  ...files("provider-cassettes", /\.yaml$/),
  ...files("react", /^FEVER-output\.txt$/),
  ...files("reflexion", /\.jsonl$/),
  ...files("reflexion/alfworld", /\.json$/),
  ...files("swe-agent/trajectories", /\.traj$/),
  ...files("tau-bench/historical", /^gpt-4o.*\.json$/),
];
const refused = files("openai-agents-run-state/negative", /\.json$/);

describe.skipIf(traces.length === 0)("the supplied traces (../shared/data)", () => {
  it.each(traces)("[E1] %s imports, shows, makes a dossier, verifies", async (file) => {
    const source = sourceOf(file);
    const format = await formatOf(source);
    const imported = await format.read(source);
    expect(imported.length).toBeGreaterThan(0);
    expect(new Set(imported.map(({ name }) => name)).size).toBe(imported.length);
    for (const { name, session } of imported.slice(0, CLOSELY)) {
      const store = await openStore("memory:");
      await store.save(session, { name });
      const origins = [...session.history()].flatMap(({ fact }) =>
        fact.type === "record-import" ? [fact.digest] : [],
      );
      expect(origins).toContain(source.digest);
      for (const { fact } of session.history()) expect(told(fact)).toContain(fact.type);
      expect(await verifySession(store, session.id)).toMatchObject({ intact: true });
      const page = dossierHtml(await dossierOf(store, name));
      expect(page).toContain(session.id);
      await store.close();
    }
  });

  it.each(traces)("[E5] %s says of a person only their words and decisions", async (file) => {
    const source = sourceOf(file);
    const imported = await (await formatOf(source)).read(source);
    const byPeople = new Set<string>();
    for (const { session } of imported)
      for (const { fact } of session.history())
        if (/^user(:|$)/.test(fact.by) && !(fact.type === "session-start" && fact.text !== undefined))
          byPeople.add(fact.type);
    for (const type of ["message-say", "approval-give"]) byPeople.delete(type);
    expect([...byPeople]).toEqual([]);
  });

  it.each(refused)("[E2] %s is refused", async (file) => {
    const source = sourceOf(file);
    const read = async (): Promise<unknown> => (await formatOf(source)).read(source);
    await expect(read()).rejects.toMatchObject({
      code: "import-refused",
      data: { source: basename(file), reason: expect.any(String) },
      hint: expect.any(String),
    });
  });
});

function files(folder: string, pattern: RegExp): string[] {
  const place = join(data, folder);
  if (!existsSync(place)) return [];
  return readdirSync(place)
    .filter((name) => pattern.test(name))
    .map((name) => join(folder, name));
}

function sourceOf(file: string): ImportSource {
  const bytes = readFileSync(join(data, file));
  return { name: basename(file), bytes, digest: digestOf(bytes) };
}
