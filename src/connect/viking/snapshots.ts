import type { BackendError } from "../../memory/index.js";
import type { Json } from "../../session/index.js";
import { isObject } from "../../util/index.js";
import { vikingAddress } from "./address.js";
import type { Asking } from "./http.js";

/** A version of all that is there. */
export type VikingSnapshot = {
  readonly id: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly at?: string;
};

/** What going back did, or would do. It is a new version on top: nothing is lost by it. */
export type VikingRestored = {
  readonly done: boolean;
  readonly id?: string;
  readonly written: readonly string[];
  readonly deleted: readonly string[];
};

type Ask = (asking: Asking) => Promise<Json>;
type Refuse = (use: string, reason: string) => BackendError;

/** The versions that the server keeps of its files. */
export class VikingSnapshots {
  readonly #ask: Ask;
  readonly #malformed: Refuse;

  constructor(asked: Ask, malformed: Refuse) {
    this.#ask = asked;
    this.#malformed = malformed;
  }

  /** Keeps what is there now, or what is there at some addresses; `changed` says whether that was anything new. */
  async commit(
    message: string,
    addresses?: readonly string[],
  ): Promise<{ readonly id: string; readonly changed: boolean }> {
    const use = "take a snapshot";
    const answer = await this.#ask({
      use,
      method: "POST",
      path: "/api/v1/snapshot/commit",
      body: { message: message.toWellFormed(), paths: addresses?.map((one) => vikingAddress(one).text) },
    });
    if (!isObject(answer) || typeof answer.commit_oid !== "string")
      throw this.#malformed(use, "its answer names no snapshot");
    return { id: answer.commit_oid, changed: answer.result === "created" };
  }

  /** The newest first. */
  async log(options: { readonly limit?: number } = {}): Promise<readonly VikingSnapshot[]> {
    const use = "list the snapshots";
    const { limit = 20 } = options;
    const answer = await this.#ask({ use, path: "/api/v1/snapshot/log", query: { limit } });
    if (!Array.isArray(answer)) throw this.#malformed(use, "its answer is not a list");
    return (answer as readonly Json[]).map((one) => {
      if (!isObject(one) || typeof one.oid !== "string") throw this.#malformed(use, "one of them has no id");
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
    const answer = await this.#ask({
      use,
      method: "POST",
      path: "/api/v1/snapshot/restore",
      body: {
        source_commit: id,
        project_dir: within === undefined ? undefined : vikingAddress(within).text,
        message,
        dry_run: dryRun,
      },
    });
    if (!isObject(answer) || typeof answer.result !== "string")
      throw this.#malformed(use, "its answer does not say what it did");
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
