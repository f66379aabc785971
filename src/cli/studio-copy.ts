import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { readBundle } from "../evidence/bundle/index.js";
import { openRath } from "../runtime/index.js";
import { server } from "../server/index.js";
import type { Principal } from "../session/index.js";
import { openStore, type Store } from "../store/index.js";
import { StudioError } from "./studio-page.js";

/** A page of files: nothing runs but its own scripts, and nothing is loaded from anywhere. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'none'";
/** So many characters of answers stand in one script. */
const CHUNK = 4_000_000;
/** Files of the workspace up to this size are shown, and so many of them. */
const FILE = 262_144;
const FILES = 2_000;

type Query = { readonly [name: string]: string | number };
type Row = { readonly [field: string]: unknown };

/** Writes the studio over one bundle as files: whole answers of the server, which the page looks up by their address. */
export async function writeCopy(
  studio: string,
  file: string,
  folder: string,
  person: Principal,
): Promise<{ readonly name: string; readonly answers: number; readonly facts: number }> {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new StudioError(`${folder} is not empty`, "name a new folder: rath studio --bundle FILE -o FOLDER");
  const bundle = await readBundle(file);
  const lines: string[] = [];
  for await (const line of bundle.lines()) lines.push(line);
  const store = await openStore("memory:");
  const rath = openRath({ store });
  try {
    const { heads } = await store.import(lines);
    const name = nameOf(bundle.about) ?? basename(file).replace(/\.[a-z]+$/i, "");
    for (const [place, id] of heads.entries()) {
      const known = place === 0 ? name : await spaceOf(store, id);
      await store.point(known ?? `${name}/${place + 1}`, id, { expect: null });
    }
    const rate = { burst: 1e9, perSecond: 1e9 };
    const handler = server(rath, { auth: { single: person }, limits: { requests: rate } });
    const reader = new Reader(async (path, query) => {
      const url = new URL(path, "http://127.0.0.1");
      for (const [key, value] of Object.entries(query)) url.searchParams.set(key, String(value));
      return handler(new Request(url, { headers: { authorization: `Bearer ${handler.token}` } }));
    });
    await reader.session(name);
    const facts = lines.filter((line) => line.startsWith('{"rath":'));
    write(studio, folder, { name, answers: reader.answers, lines: facts });
    return { name, answers: Object.keys(reader.answers).length, facts: facts.length };
  } finally {
    await rath.close();
    await store.close();
  }
}

/** The name of a session that is a memory space: without it, its memories would be nobody's. */
async function spaceOf(store: Store, id: string): Promise<string | undefined> {
  const [, second] = (await store.load(id)).history();
  return second?.fact.type === "memory-space" ? `memory/${second.fact.space}` : undefined;
}

function nameOf(about: unknown): string | undefined {
  const { session } = Object(about) as { readonly session?: { readonly name?: unknown } };
  return typeof session?.name === "string" ? session.name : undefined;
}

/** Asks what the page asks, and keeps the answers by address: a list in one piece, however the page pages through it. */
class Reader {
  readonly answers: { [address: string]: unknown } = Object.create(null);
  readonly #ask: (path: string, query: Query) => Promise<Response>;

  constructor(ask: (path: string, query: Query) => Promise<Response>) {
    this.#ask = ask;
  }

  async session(name: string): Promise<void> {
    const base = `/api/sessions/${encodeURIComponent(name)}`;
    for (const path of ["/api/me", "/api/pending", base, `${base}/series`]) await this.one(path);
    await this.all("/api/sessions");
    await this.#memory();
    const summary = await this.one(`${base}/graph/summary`);
    for (const [level, rows] of Object.entries((summary?.rows ?? {}) as { [level: string]: number }))
      for (let page = 0; page < Math.max(1, Math.ceil(rows / 256)); page++)
        await this.one(`${base}/graph`, { level, page });
    for (const only of ["failed", "waiting", "people", "fork"]) await this.all(`${base}/facts`, { only });
    await this.all(`${base}/turns`);
    await this.all(`${base}/timeline`);
    for (const { id, type } of await this.all(`${base}/facts`)) {
      await this.one(`/api/facts/${id}`);
      if (type === "model-call") await this.all(`${base}/prompt`, { fact: String(id) });
    }
    for (const { head } of (summary?.branches ?? []) as readonly Row[]) {
      await this.one(`/api/facts/${head}`);
      await this.all("/api/compare", { a: name, b: String(head) }, { differences: "false" }, "rows");
    }
    const first = await this.one(`${base}/dossier/summary`);
    for (const { section } of (first?.sections ?? []) as readonly Row[])
      await this.one(`${base}/dossier/${encodeURIComponent(String(section))}`);
    await this.#files(base);
  }

  async #memory(): Promise<void> {
    for (const { space } of await this.all("/api/memory")) {
      const base = `/api/memory/${encodeURIComponent(String(space))}`;
      for (const { id } of await this.all(base))
        for (const about of ["why", "influence"]) await this.one(`${base}/${id}/${about}`);
    }
  }

  async #files(base: string): Promise<void> {
    const given = await this.all(`${base}/facts`, { type: "workspace-import" });
    const before: Query = given[0] === undefined ? {} : { before: String(given[0].id) };
    for (const { path } of await this.all(`${base}/changes`, before))
      await this.one(`${base}/diff`, { path: String(path), ...before });
    const folders: Query[] = [{}];
    let files = 0;
    for (const folder of folders)
      for (const { path, kind, size } of await this.all(`${base}/files`, folder)) {
        if (kind === "directory") folders.push({ path: String(path) });
        if (kind !== "file" || Number(size) > FILE || ++files > FILES) continue;
        await this.text(`${base}/file`, { path: String(path) });
        await this.one(`${base}/blame`, { path: String(path) });
      }
  }

  /** One answer. The copy lacks answers that the server refuses, and the page says so. */
  async one(path: string, query: Query = {}, extra: Query = {}): Promise<Row | undefined> {
    const response = await this.#ask(path, { ...query, ...extra });
    if (!response.ok) return undefined;
    const answer = (await response.json()) as Row;
    this.answers[addressOf(path, query)] = answer;
    return answer;
  }

  async text(path: string, query: Query): Promise<void> {
    const response = await this.#ask(path, query);
    if (response.ok) this.answers[addressOf(path, query)] = await response.text();
  }

  /** All pages of a list, as one. */
  async all(path: string, query: Query = {}, extra: Query = {}, list = "items"): Promise<readonly Row[]> {
    const items: Row[] = [];
    let first: Row | undefined;
    let after: string | null | undefined;
    do {
      const page = await this.#ask(path, { ...query, ...extra, limit: 1_000, ...(after && { after }) });
      if (!page.ok) break;
      const answer = (await page.json()) as Row;
      first ??= answer;
      items.push(...(answer[list] as readonly Row[]));
      after = answer.next as string | null;
    } while (after);
    if (first !== undefined)
      this.answers[addressOf(path, query)] = { ...first, [list]: items, next: null, previous: null };
    return items;
  }
}

/** As the page computes it: parameters in order, without those that only page. */
function addressOf(path: string, query: Query): string {
  const given = Object.entries(query).map(([name, value]) => `${name}=${value}`);
  return given.length === 0 ? path : `${path}?${given.sort().join("&")}`;
}

type Copy = {
  readonly name: string;
  readonly answers: { readonly [address: string]: unknown };
  readonly lines: readonly string[];
};

function write(studio: string, folder: string, { name, answers, lines }: Copy): void {
  const assets = join(folder, "assets");
  mkdirSync(assets, { recursive: true });
  for (const file of ["page.css", "page.js"]) {
    const built = join(studio, "copy", file);
    if (!existsSync(built)) throw new StudioError("this installation lacks files", "install openrath again");
    cpSync(built, join(assets, file));
  }
  cpSync(join(studio, "icon.svg"), join(assets, "icon.svg"));
  const scripts = ["data.js"];
  writeFileSync(
    join(assets, "data.js"),
    `window.RATH_OFFLINE = { name: ${text(name)}, answers: Object.create(null), lines: [] };\n`,
  );
  const add = (
    statement: (json: string) => string,
    values: readonly unknown[],
    make: (some: readonly unknown[]) => unknown,
  ) => {
    for (const some of chunks(values)) {
      const part = `data-${scripts.length}.js`;
      // JSON.parse, because a name such as __proto__ means something else in a literal.
      writeFileSync(join(assets, part), `${statement(`JSON.parse(${text(JSON.stringify(make(some)))})`)};\n`);
      scripts.push(part);
    }
  };
  add(
    (json) => `Object.assign(window.RATH_OFFLINE.answers, ${json})`,
    Object.entries(answers),
    (some) => Object.fromEntries(some as readonly [string, unknown][]),
  );
  add(
    (json) => `window.RATH_OFFLINE.lines.push(...${json})`,
    lines,
    (some) => some,
  );
  writeFileSync(join(folder, "index.html"), pageOf(scripts));
}

function text(value: string): string {
  return JSON.stringify(value);
}

/** Values in groups whose JSON is not much longer than a script should be. */
function* chunks(values: readonly unknown[]): Generator<readonly unknown[]> {
  let some: unknown[] = [];
  let length = 0;
  for (const value of values) {
    const size = JSON.stringify(value).length;
    if (some.length > 0 && (length + size > CHUNK || some.length >= 10_000)) {
      yield some;
      [some, length] = [[], 0];
    }
    some.push(value);
    length += size;
  }
  if (some.length > 0) yield some;
}

function pageOf(scripts: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="content-security-policy" content="${POLICY}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="referrer" content="no-referrer" />
    <title>OpenRath studio</title>
    <link rel="icon" href="assets/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="assets/page.css" />
  </head>
  <body>
    <div id="root"></div>
${[...scripts, "page.js"].map((one) => `    <script src="assets/${one}"></script>`).join("\n")}
  </body>
</html>
`;
}
