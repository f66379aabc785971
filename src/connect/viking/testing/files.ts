import { digestOf } from "../../../session/index.js";

/** What the server says when it cannot: its code, and the HTTP status that goes with it. */
export class Refusal extends Error {
  readonly code: string;
  readonly http: number;
  readonly details: object;

  constructor(code: string, http: number, message: string, details: object = {}) {
    super(message);
    this.code = code;
    this.http = http;
    this.details = details;
  }
}

const L0 = 256;
const L1 = 4_000;

/** Files and folders by their paths, with levels 0 and 1 cut from the texts, and versions of all of it. */
export class Files {
  readonly #files = new Map<string, string>();
  readonly #folders = new Set<string>(["", "resources", "user", "agent"]);
  readonly #versions: {
    oid: string;
    parents: string[];
    message: string;
    at: number;
    files: Map<string, string>;
  }[] = [];

  read(path: string): string {
    const text = this.#files.get(path);
    if (text !== undefined) return text;
    if (this.#isFolder(path))
      throw new Refusal("INVALID_ARGUMENT", 400, `${path} is a directory`, {
        expected: "file",
        actual: "directory",
        resource: path,
      });
    throw new Refusal("NOT_FOUND", 404, `Resource not found: viking://${path}`);
  }

  /** As older versions do: `replace` only what is there, `create` only what is not. */
  write(path: string, content: string, mode: string, strict: boolean): void {
    if (this.#isFolder(path)) throw new Refusal("INVALID_ARGUMENT", 400, "it is a directory");
    if (!["replace", "append", "create"].includes(mode))
      throw new Refusal("INVALID_ARGUMENT", 400, "unknown mode");
    const before = this.#files.get(path);
    if (strict && mode !== "create" && before === undefined)
      throw new Refusal("NOT_FOUND", 404, `Resource not found: viking://${path}`);
    if (strict && mode === "create" && before !== undefined)
      throw new Refusal("ALREADY_EXISTS", 409, "it exists already");
    this.#files.set(path, mode === "append" ? `${before ?? ""}${content}` : content);
    this.mkdir(path.split("/").slice(0, -1).join("/"));
  }

  mkdir(path: string): void {
    const names = path.split("/");
    for (let depth = 1; depth <= names.length; depth++) this.#folders.add(names.slice(0, depth).join("/"));
  }

  remove(path: string, recursive: boolean): void {
    if (this.#isFolder(path) && !recursive)
      throw new Refusal("FAILED_PRECONDITION", 412, "it is a directory");
    for (const one of this.#under(path)) this.#files.delete(one);
    for (const one of [...this.#folders])
      if (one === path || one.startsWith(`${path}/`)) this.#folders.delete(one);
  }

  move(from: string, to: string): void {
    const moved = this.#under(from);
    if (moved.length === 0) throw new Refusal("NOT_FOUND", 404, "there is nothing to move");
    for (const one of moved) {
      this.write(`${to}${one.slice(from.length)}`, this.read(one), "replace", false);
      this.#files.delete(one);
    }
  }

  stat(path: string): object {
    if (this.#files.has(path)) return this.#entry(path);
    if (this.#isFolder(path)) return { ...this.#entry(path), count: this.#under(path).length };
    throw new Refusal("NOT_FOUND", 404, `Resource not found: viking://${path}`);
  }

  list(path: string, depth: number, limit: number): object[] {
    this.#folderAt(path);
    const prefix = path === "" ? "" : `${path}/`;
    const all = [...this.#files.keys(), ...this.#folders].filter(
      (one) => one !== path && one.startsWith(prefix) && one.slice(prefix.length).split("/").length <= depth,
    );
    return all
      .sort()
      .slice(0, limit)
      .map((one) => ({ ...this.#entry(one), rel_path: one.slice(prefix.length) }));
  }

  abstract(path: string): string {
    return this.#textOf(this.#folderAt(path)).slice(0, L0);
  }

  overview(path: string): string {
    const lines = this.#under(this.#folderAt(path)).map(
      (one) => `- ${one}: ${(this.#files.get(one) ?? "").slice(0, 80)}`,
    );
    return `# ${path}\n${lines.join("\n")}`.slice(0, L1);
  }

  /** What has words in common with the query; also the summaries of folders, as the real one does. */
  find(
    query: string,
    places: readonly string[],
  ): { path: string; level: number; score: number; abstract: string }[] {
    const wanted = wordsOf(query);
    const scored = (path: string, level: number, text: string) => {
      const there = wordsOf(text);
      const score = [...wanted].filter((word) => there.has(word)).length / Math.max(wanted.size, 1);
      return { path, level, score, abstract: text.slice(0, L0) };
    };
    const inPlace = (path: string) =>
      places.length === 0 || places.some((one) => path === one || path.startsWith(`${one}/`));
    return [
      ...[...this.#files].filter(([path]) => inPlace(path)).map(([path, text]) => scored(path, 2, text)),
      ...[...this.#folders]
        .filter((path) => path !== "" && inPlace(path))
        .map((path) => scored(`${path}/.abstract.md`, 0, this.#textOf(path).slice(0, L0))),
    ]
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score);
  }

  commit(message: string, places: readonly string[] | undefined): object {
    const head = this.#versions.at(-1);
    const files = new Map(places === undefined ? this.#files : (head?.files ?? []));
    for (const place of places ?? []) {
      for (const one of files.keys()) if (one === place || one.startsWith(`${place}/`)) files.delete(one);
      for (const one of this.#under(place)) files.set(one, this.read(one));
    }
    const changed = [...files].filter(([path, text]) => head?.files.get(path) !== text).length;
    if (head !== undefined && changed === 0 && head.files.size === files.size)
      return { result: "noop", commit_oid: head.oid };
    const parents = head === undefined ? [] : [head.oid];
    const oid = digestOf(JSON.stringify([parents, message, [...files]])).slice(0, 40);
    this.#versions.push({ oid, parents, message, at: 1_750_300_000 + this.#versions.length, files });
    return { result: "created", commit_oid: oid, changed };
  }

  log(limit: number): object[] {
    if (this.#versions.length === 0) throw new Refusal("NOT_FOUND", 404, "the branch has no commits");
    const person = (at: number) => ({
      name: "bot",
      email: "bot@example",
      time_seconds: at,
      tz_offset_seconds: 0,
    });
    return this.#versions
      .toReversed()
      .slice(0, limit)
      .map(({ oid, parents, message, at }) => ({
        oid,
        tree: oid,
        parents,
        author: person(at),
        committer: person(at),
        message,
      }));
  }

  /** A new version on top that has the content of an old one. */
  restore(ref: string, place: string, message: string, dry: boolean): object {
    const source = this.#versions.find(({ oid }) => oid.startsWith(ref));
    const head = this.#versions.at(-1);
    if (source === undefined || head === undefined)
      throw new Refusal("NOT_FOUND", 404, "there is no such commit");
    const isHere = (path: string) => place === "" || path === place || path.startsWith(`${place}/`);
    const written = [...source.files].filter(
      ([path, text]) => isHere(path) && this.#files.get(path) !== text,
    );
    const deleted = [...this.#files.keys()].filter((path) => isHere(path) && !source.files.has(path));
    const relative = (path: string) => (place === "" ? path : path.slice(place.length + 1));
    if (dry)
      return {
        result: "dry_run",
        head: head.oid,
        source: source.oid,
        diff: {
          to_write: written.map(([path]) => ({ path: relative(path), oid: "0" })),
          to_delete: deleted.map(relative),
          unchanged: [],
        },
      };
    if (written.length + deleted.length === 0) return { result: "noop", head: head.oid, source: source.oid };
    for (const [path, text] of written) this.write(path, text, "replace", false);
    for (const path of deleted) this.#files.delete(path);
    const { commit_oid } = this.commit(message, undefined) as { commit_oid: string };
    return {
      result: "applied",
      new_commit_oid: commit_oid,
      source_commit: source.oid,
      parent_commit: head.oid,
      written: written.length,
      deleted: deleted.length,
      unchanged: 0,
      written_paths: written.map(([path]) => path),
      deleted_paths: deleted,
    };
  }

  #entry(path: string): object {
    const folder = !this.#files.has(path);
    const size = folder ? 4096 : Buffer.byteLength(this.#files.get(path) ?? "");
    return {
      name: path.split("/").at(-1),
      size,
      mode: folder ? 16877 : 33188,
      modTime: "2026-01-01T00:00:00Z",
      isDir: folder,
      uri: `viking://${path}`,
    };
  }

  #isFolder(path: string): boolean {
    return this.#folders.has(path);
  }

  #folderAt(path: string): string {
    if (this.#isFolder(path)) return path;
    if (this.#files.has(path)) throw new Refusal("INVALID_ARGUMENT", 400, `${path} is no directory`);
    throw new Refusal("NOT_FOUND", 404, `Resource not found: viking://${path}`);
  }

  #under(path: string): string[] {
    return [...this.#files.keys()]
      .filter((one) => path === "" || one === path || one.startsWith(`${path}/`))
      .sort();
  }

  #textOf(path: string): string {
    return this.#under(path)
      .map((one) => this.#files.get(one))
      .join("\n");
  }
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}
