import type { BackendContext } from "../../memory/index.js";
import { BackendError } from "../../memory/index.js";
import type { Json } from "../../session/index.js";
import { vikingAddress } from "./address.js";
import type {
  VikingEntry,
  VikingFindOptions,
  VikingLevel,
  VikingLevelsOptions,
  VikingMatch,
} from "./entry.js";
import { entriesIn, entryIn, foundIn, levelsOf } from "./entry.js";
import { type Asking, VikingServer, type VikingSettings } from "./http.js";
import { VikingSessions, VikingSnapshots } from "./sessions.js";

export type VikingListOptions = {
  /** How many entries at most. Default 1,000. */
  readonly limit?: number;
  /** How many folders deep. Default 3. */
  readonly depth?: number;
};

/** A written text. Its summaries may follow later. */
export type VikingWritten = { readonly address: string; readonly created: boolean };

/** OpenViking as it is: folders and files at `viking://` addresses, in three levels of detail. */
export class VikingClient {
  readonly sessions: VikingSessions;
  readonly snapshots: VikingSnapshots;
  readonly #server: VikingServer;

  constructor(settings: VikingSettings, context: BackendContext) {
    this.#server = new VikingServer(settings, context);
    this.sessions = new VikingSessions(this.#server);
    this.snapshots = new VikingSnapshots(this.#server);
  }

  /** Whether it answers, and which version it is. */
  async health(): Promise<{ readonly healthy: boolean; readonly version?: string }> {
    const answer = await this.#state("look whether it is well", "/health");
    return {
      healthy: answer.healthy === true || answer.status === "ok",
      ...(typeof answer.version === "string" && { version: answer.version }),
    };
  }

  /** Whether it can do its work, and the state of its parts. */
  async ready(): Promise<{ readonly ready: boolean; readonly checks: Json }> {
    const answer = await this.#state("look whether it is ready", "/ready");
    return { ready: answer.status === "ready", checks: answer.checks ?? {} };
  }

  async ls(address: string, options: VikingListOptions = {}): Promise<readonly VikingEntry[]> {
    return this.#list("ls", "list", address, { node_limit: options.limit });
  }

  /** All that is in a folder and in the folders in it. */
  async tree(address: string, options: VikingListOptions = {}): Promise<readonly VikingEntry[]> {
    return this.#list("tree", "list all in", address, {
      node_limit: options.limit,
      level_limit: options.depth,
    });
  }

  async stat(address: string): Promise<VikingEntry> {
    const uri = vikingAddress(address).text;
    const use = `look at ${uri}`;
    const answer = await this.#server.get(use, "fs/stat", { uri });
    return entryIn(answer, uri) ?? this.#wrong(use, "an entry");
  }

  /** Level 2: a file as it is. With `raw` also what the server has put into it. */
  async read(address: string, options: { readonly raw?: boolean } = {}): Promise<string> {
    return this.#text("read", address, options.raw === true ? { raw: true } : {});
  }

  /** Level 0: a folder in a sentence. */
  abstract(address: string): Promise<string> {
    return this.#text("abstract", address);
  }

  /** Level 1: a folder on a page. */
  overview(address: string): Promise<string> {
    return this.#text("overview", address);
  }

  /** A folder in a sentence, then on a page, then file by file: stop when you know enough. */
  levels(address: string, options: VikingLevelsOptions = {}): AsyncGenerator<VikingLevel> {
    return levelsOf(this, vikingAddress(address), options);
  }

  /** Puts a text at an address. Versions of the server differ in create and replace, so both are tried. */
  async write(
    address: string,
    content: string,
    options: { readonly append?: boolean } = {},
  ): Promise<VikingWritten> {
    const uri = vikingAddress(address).text;
    const write = (mode: string): Promise<Json> =>
      this.#server.post(`write ${uri}`, "content/write", { uri, content: content.toWellFormed(), mode });
    const mode = options.append === true ? "append" : "replace";
    try {
      await write(mode);
      return { address: uri, created: false };
    } catch (error) {
      if (!(error instanceof BackendError) || error.fault !== "not-found") throw error;
    }
    try {
      await write("create");
      return { address: uri, created: true };
    } catch (error) {
      // Somebody else was quicker: it is there now.
      if (!(error instanceof BackendError) || !CONFLICTS.has(String(error.data.code))) throw error;
      await write(mode);
      return { address: uri, created: false };
    }
  }

  async mkdir(address: string, description?: string): Promise<void> {
    const uri = vikingAddress(address).text;
    await this.#server.post(`make the folder ${uri}`, "fs/mkdir", { uri, description });
  }

  async move(from: string, to: string): Promise<void> {
    const [from_uri, to_uri] = [vikingAddress(from).text, vikingAddress(to).text];
    await this.#server.post(`move ${from_uri} to ${to_uri}`, "fs/mv", { from_uri, to_uri });
  }

  /** Takes a file away, or with `recursive` a folder and all in it. A missing address is not an error. */
  async remove(address: string, options: { readonly recursive?: boolean } = {}): Promise<void> {
    const uri = vikingAddress(address).text;
    const query = { uri, recursive: options.recursive === true };
    try {
      await this.#server.ask({ use: `remove ${uri}`, method: "DELETE", path: "/api/v1/fs", query });
    } catch (error) {
      if (!(error instanceof BackendError) || error.fault !== "not-found") throw error;
    }
  }

  /** Finds texts by their meaning, the nearest first. */
  async find(query: string, options: VikingFindOptions = {}): Promise<readonly VikingMatch[]> {
    return this.#search("find", query, options, {});
  }

  /** The same in the light of a conversation: the server thinks about what is meant first. */
  async search(
    query: string,
    options: VikingFindOptions & { readonly session?: string } = {},
  ): Promise<readonly VikingMatch[]> {
    const { session, ...rest } = options;
    return this.#search("search", query, rest, { session_id: session });
  }

  /** Closes the conversation of a session and waits, no longer than it may, for what is learnt from it. */
  commit(...given: Parameters<VikingSessions["commit"]>): ReturnType<VikingSessions["commit"]> {
    return this.sessions.commit(...given);
  }

  async #search(
    kind: "find" | "search",
    query: string,
    { limit = 10, within, threshold }: VikingFindOptions,
    more: { readonly [name: string]: Json | undefined },
  ): Promise<readonly VikingMatch[]> {
    const places = (typeof within === "string" ? [within] : (within ?? [])).map(
      (one) => vikingAddress(one).text,
    );
    const use = `${kind} something`;
    const answer = await this.#server.post(use, `search/${kind}`, {
      query: query.toWellFormed(),
      limit,
      target_uri: places.length === 0 ? undefined : places.length === 1 ? places[0] : places,
      score_threshold: threshold,
      ...more,
    });
    return foundIn(answer, limit) ?? this.#wrong(use, "lists of what was found");
  }

  async #text(kind: "read" | "abstract" | "overview", address: string, more = {}): Promise<string> {
    const uri = vikingAddress(address).text;
    const use = kind === "read" ? `read ${uri}` : `read the ${kind} of ${uri}`;
    const answer = await this.#server.get(use, `content/${kind}`, { uri, ...more });
    return typeof answer === "string" ? answer.toWellFormed() : this.#wrong(use, "a text");
  }

  async #list(
    kind: "ls" | "tree",
    verb: string,
    address: string,
    limits: Asking["query"],
  ): Promise<readonly VikingEntry[]> {
    const uri = vikingAddress(address).text;
    const use = `${verb} ${uri}`;
    const query = { uri, output: "original", ...limits };
    const answer = await this.#server.get(use, `fs/${kind}`, query);
    return entriesIn(answer, uri) ?? this.#wrong(use, "a list of entries");
  }

  async #state(use: string, path: string): Promise<{ readonly [key: string]: Json }> {
    return (await this.#server.ask({ use, path, bare: true })) as { readonly [key: string]: Json };
  }

  #wrong(use: string, wanted: string): never {
    throw this.#server.failed(use, `its answer is not ${wanted}`);
  }
}

const CONFLICTS: ReadonlySet<string> = new Set(["ALREADY_EXISTS", "CONFLICT"]);
