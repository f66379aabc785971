import type { Withheld } from "../blob.js";
import type { Json } from "../json.js";

/** The id of a session, and so of the fact that made it: SHA-256 of the record line, in hex. */
export type FactId = string;
/** SHA-256 of some bytes, in hex. */
export type Digest = string;
/** The actor of a fact: a kind, or a kind and a name, such as `user:ada` or `agent:coder`. */
export type Principal = PrincipalKind | `${PrincipalKind}:${string}`;
/** A `workflow` is a program that acts: its body decides, not a person. */
export type PrincipalKind = "user" | "agent" | "workflow" | "tool" | "runtime" | "service";
export type Role = "user" | "assistant" | "system";
export type Content = string | readonly Part[];
/**
 * A piece of a message. `meta` is what the provider needs back with it (signatures, item ids), by provider. The
 * `data` of a file is base64, or a URL. A provider that runs tools itself marks its call and gives its result;
 * `other` keeps what this version has no word for.
 */
export type Part =
  | { readonly type: "text"; readonly text: string; readonly meta?: Json }
  | { readonly type: "reasoning"; readonly text: string; readonly meta?: Json }
  | {
      readonly type: "tool-call";
      readonly call: string;
      readonly name: string;
      readonly input: Json;
      readonly provider?: true;
      readonly meta?: Json;
    }
  | {
      readonly type: "tool-result";
      readonly call: string;
      readonly name: string;
      readonly output: Json;
      readonly failed?: true;
      readonly meta?: Json;
    }
  | {
      readonly type: "file";
      readonly media: string;
      readonly data: string;
      readonly name?: string;
      readonly meta?: Json;
    }
  | { readonly type: "source"; readonly source: Json }
  | { readonly type: "other"; readonly value: Json }
  | { readonly type: "withheld"; readonly reason: Withheld["reason"]; readonly digest: Digest };
/** One entry of the conversation. `author` is the agent whose words these are, or who called the tool. */
export type Message =
  | { readonly role: Role; readonly content: Content; readonly author?: string }
  | {
      readonly role: "tool";
      readonly author?: string;
      readonly call: string;
      readonly name: string;
      readonly output?: Json;
      readonly error?: Failure;
      readonly edited?: Edited;
    };
export type Usage = {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly reasoning?: number;
};
export type Failure = {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly data?: Json;
};
/**
 * The effect of a call on the world, which decides what may happen after a crash: `pure` nothing, `read` looks, `idempotent`
 * may be sent again with the same key, `write` must never be repeated unless a person or a reconciler says so.
 */
export type Effect = "pure" | "read" | "idempotent" | "write";
/** The arguments that a person put in place of those that were asked for. */
export type Edited = { readonly by: Principal; readonly input: Json };
/** The settlement of an effect in doubt: it happened, it did not happen and must not, or do it again. */
export type Settlement = "done" | "failed" | "again";
/** The run that a what-if starts from, by its nonce and its `run-start`, and the leaves that its tape was read from. */
export type Origin = {
  readonly run: string;
  readonly start: FactId;
  readonly leaves: readonly FactId[];
  /** The call that made the other run fail is done again. */
  readonly again?: boolean;
};
export type Placement = { readonly sandbox: string; readonly spec?: Json };
export type PathChange = { readonly path: string; readonly change: "add" | "modify" | "delete" };
export type MemoryHit = {
  readonly memory: FactId;
  readonly score: number;
  readonly text?: string;
  /** The fact that says it as it was found, where it was revised since it was written. */
  readonly version?: FactId;
  /** The parts that add up to the score. */
  readonly parts?: Json;
};
export type Candidate = { readonly name: string; readonly description?: string; readonly score?: number };
/** A memory needs evidence, so an empty list does not compile. */
export type Because = readonly [FactId, ...FactId[]];
/** Which side's placement and conversation go on: by name, both, or the place of a parent in the list. */
export type Adopt = "ours" | "theirs" | "both" | "none" | number;
