import { setTimeout as sleep } from "node:timers/promises";
import { MemoryRefusedError } from "../../memory/index.js";
import type { Json } from "../../session/index.js";
import { isObject } from "../../util/index.js";
import { requireMilliseconds } from "../../workflow/index.js";
import { vikingAddress } from "./address.js";
import type { VikingServer } from "./http.js";

/** Something that was said in a session there. */
export type VikingMessage = {
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly at?: string;
};

/** The result of a commit. Work that goes on in the background has a task. */
export type VikingCommitted = {
  readonly status: "skipped" | "running" | "completed";
  readonly task?: string;
  readonly archive?: string;
  /** The number of extracted memories by kind, when it is completed. */
  readonly extracted?: { readonly [kind: string]: number };
};

/** An id is a step of a path in the request. */
const ID = /^[\w.-]{1,200}$/;
const SLOWEST = 1_000;

/** Conversations there, of which the server learns when they are committed. */
export class VikingSessions {
  readonly #server: VikingServer;

  constructor(server: VikingServer) {
    this.#server = server;
  }

  /** Begins one, under an id of your own or one that the server makes. */
  async create(id?: string): Promise<string> {
    const use = "begin a session";
    const session_id = id === undefined ? undefined : checked(id);
    const answer = await this.#server.post(use, "sessions", { session_id });
    if (!isObject(answer) || typeof answer.session_id !== "string" || !ID.test(answer.session_id))
      throw this.#server.failed(use, "its answer names no session");
    return answer.session_id;
  }

  async say(id: string, { role, content, at }: VikingMessage): Promise<void> {
    await this.#server.post("add a message to a session", `sessions/${checked(id)}/messages`, {
      role,
      content: content.toWellFormed(),
      created_at: at,
    });
  }

  /** Says what of the things there was really used, which counts when something is found again. */
  async used(id: string, addresses: readonly string[]): Promise<void> {
    await this.#server.post("say what a session used", `sessions/${checked(id)}/used`, {
      contexts: addresses.map((one) => vikingAddress(one).text),
    });
  }

  /** Archives the messages; the server learns from them in the background. `wait` is in milliseconds. */
  async commit(id: string, options: { readonly wait?: number } = {}): Promise<VikingCommitted> {
    const use = "commit a session";
    const { wait } = options;
    if (wait !== undefined)
      requireMilliseconds(
        wait,
        "wait",
        (reason, hint) => new MemoryRefusedError("option", use, reason, hint),
      );
    const answer = await this.#server.post(use, `sessions/${checked(id)}/commit`, {});
    if (!isObject(answer)) throw this.#server.failed(use, "its answer is not a commit");
    const { task_id: task, archive_uri: archive } = answer;
    const place = typeof archive === "string" ? { archive } : {};
    if (answer.status === "skipped" || typeof task !== "string") return { status: "skipped", ...place };
    if (!ID.test(task)) throw this.#server.failed(use, "its answer names no task");
    const started: VikingCommitted = { status: "running", task, ...place };
    return wait === undefined ? started : await this.#settled(started, task, wait);
  }

  /** The state of a task. One that failed is thrown. */
  async task(id: string): Promise<Pick<VikingCommitted, "status" | "extracted">> {
    const use = "look at a task";
    const answer = await this.#server.get(use, `tasks/${checked(id)}`);
    if (!isObject(answer) || typeof answer.status !== "string")
      throw this.#server.failed(use, "its answer is not a task");
    const { status, result, error } = answer;
    if (status === "failed" || status === "cancelled")
      throw this.#server.failed("learn from a session", `the task ${status}: ${textOf(error)}`, "refused");
    if (status !== "completed") return { status: "running" };
    const counts = isObject(result) && isObject(result.memories_extracted) ? result.memories_extracted : {};
    const extracted = Object.fromEntries(
      Object.entries(counts).flatMap(([kind, count]) => (typeof count === "number" ? [[kind, count]] : [])),
    );
    return { status: "completed", extracted };
  }

  async #settled(started: VikingCommitted, task: string, wait: number): Promise<VikingCommitted> {
    const until = performance.now() + wait;
    for (let pause = 20; ; pause = Math.min(pause * 2, SLOWEST)) {
      const found = await this.task(task);
      if (found.status === "completed") return { ...started, ...found };
      const left = until - performance.now();
      if (left <= 0) return started;
      // An abort is told by the next request, as what it is.
      await sleep(Math.min(pause, left), undefined, { signal: this.#server.signal }).catch(() => {});
    }
  }
}

function checked(id: string): string {
  if (typeof id === "string" && ID.test(id) && !/^\.+$/.test(id)) return id;
  throw new MemoryRefusedError(
    "option",
    "name a session or a task of OpenViking",
    `${JSON.stringify(String(id).slice(0, 60))} is not an id`,
    "use the id that create or commit gave: letters, digits, dots, - and _",
  );
}

function textOf(error: Json | undefined): string {
  return typeof error === "string"
    ? error
    : error === undefined || error === null
      ? "it does not say why"
      : JSON.stringify(error);
}

/** A version of all that is there. */
export type VikingSnapshot = {
  readonly id: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly at?: string;
};

/** The changes of a restore. It is a new version on top, so nothing is lost. */
export type VikingRestored = {
  readonly done: boolean;
  readonly id?: string;
  readonly written: readonly string[];
  readonly deleted: readonly string[];
};

/** The versions that the server keeps of its files. */
export class VikingSnapshots {
  readonly #server: VikingServer;

  constructor(server: VikingServer) {
    this.#server = server;
  }

  /** Keeps what is there now, or what is there at some addresses; `changed` says whether that was anything new. */
  async commit(
    message: string,
    addresses?: readonly string[],
  ): Promise<{ readonly id: string; readonly changed: boolean }> {
    const use = "take a snapshot";
    const answer = await this.#server.post(use, "snapshot/commit", {
      message: message.toWellFormed(),
      paths: addresses?.map((one) => vikingAddress(one).text),
    });
    if (!isObject(answer) || typeof answer.commit_oid !== "string")
      throw this.#server.failed(use, "its answer names no snapshot");
    return { id: answer.commit_oid, changed: answer.result === "created" };
  }

  /** The newest first. */
  async log(options: { readonly limit?: number } = {}): Promise<readonly VikingSnapshot[]> {
    const use = "list the snapshots";
    const { limit = 20 } = options;
    const answer = await this.#server.get(use, "snapshot/log", { limit });
    if (!Array.isArray(answer)) throw this.#server.failed(use, "its answer is not a list");
    return (answer as readonly Json[]).map((one) => {
      if (!isObject(one) || typeof one.oid !== "string")
        throw this.#server.failed(use, "one of them has no id");
      const { author } = one;
      const seconds = isObject(author) ? author.time_seconds : undefined;
      const time = new Date(typeof seconds === "number" ? seconds * 1_000 : Number.NaN);
      return {
        id: one.oid,
        parents: textsIn(one.parents),
        message: typeof one.message === "string" ? one.message.toWellFormed() : "",
        ...(!Number.isNaN(time.getTime()) && { at: time.toISOString() }),
      };
    });
  }

  /** Goes back to a version, in one folder or everywhere; with `dryRun` it only says what that would change. */
  async restore(
    id: string,
    options: { readonly within?: string; readonly message?: string; readonly dryRun?: boolean } = {},
  ): Promise<VikingRestored> {
    const use = "go back to a snapshot";
    const { within, message, dryRun } = options;
    const answer = await this.#server.post(use, "snapshot/restore", {
      source_commit: id,
      project_dir: within === undefined ? undefined : vikingAddress(within).text,
      message,
      dry_run: dryRun,
    });
    if (!isObject(answer) || typeof answer.result !== "string")
      throw this.#server.failed(use, "its answer does not say what it did");
    const { diff } = answer;
    const planned = isObject(diff) && Array.isArray(diff.to_write) ? diff.to_write : [];
    return {
      done: answer.result === "applied",
      ...(typeof answer.new_commit_oid === "string" && { id: answer.new_commit_oid }),
      written: isObject(diff)
        ? planned.flatMap((one) => (isObject(one) && typeof one.path === "string" ? [one.path] : []))
        : textsIn(answer.written_paths),
      deleted: textsIn(isObject(diff) ? diff.to_delete : answer.deleted_paths),
    };
  }
}

function textsIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value)
    ? value.flatMap((one) => (typeof one === "string" ? [one.toWellFormed()] : []))
    : [];
}
