import type { Withheld } from "./blob.js";
import type { Json } from "./json.js";

/**
 * What can happen to a session: one closed union, written as a table from type to body. `note` is the open
 * door for facts of your own. A fact names other facts by the id of the session they made.
 */
export interface FactBodies {
  // the conversation
  "session-start": { nonce: string; text?: Content; inline?: number; key?: string };
  "session-detach": {
    nonce: string;
    from: FactId;
    why?: string;
    messages: readonly Message[];
    placement?: Placement;
    inline?: number;
    key?: string;
  };
  "message-say": { role: Role; content: Content };
  "context-compress": { from: FactId; to: FactId; summary: string; of?: FactId };
  // asking models and tools; an outcome names its request with `of`
  "model-call": { model: string; agent?: string; config?: Digest; prompt?: Digest; parameters?: Json };
  "model-reply": {
    of: FactId;
    content: Content;
    finish: string;
    usage: Usage;
    model?: string;
    response?: string;
    raw?: Json;
  };
  "model-failure": { of: FactId; error: Failure };
  "tool-call": { name: string; input: Json; call?: string; effect?: Effect; key?: string };
  "tool-result": { of: FactId; output: Json; milliseconds?: number };
  "tool-failure": { of: FactId; error: Failure; milliseconds?: number };
  // what is remembered, and why
  "memory-read": { space: string; head?: FactId; query: Json; hits: readonly MemoryHit[] };
  "memory-write": { space: string; text: string; scope: Json; source: string; because: Because };
  "memory-revise": { of: FactId; text: string; because: Because; why?: string };
  "memory-revoke": { of: FactId; because?: readonly FactId[]; why: string };
  // where side effects happen
  "placement-change": Placement;
  "workspace-change": { before: Digest | null; after: Digest; paths: readonly PathChange[]; of?: FactId };
  // branches
  "branch-fork": { name: string; why?: string };
  "branch-merge": { adopt: Adopt; why?: string };
  // who was working
  "run-start": { nonce: string; module: string; digests?: Json; key?: string };
  "run-suspend": { of: FactId; waiting: readonly FactId[] };
  "run-end": { of: FactId; error?: Failure };
  "module-enter": { module: string; digests?: Json };
  "module-exit": { of: FactId; error?: Failure };
  "route-choose": { selector: string; candidates: readonly Candidate[]; chosen: string | null; why?: string };
  // who decided, and what was found
  "approval-ask": { what: Json; digest: Digest; of?: FactId; expires?: string };
  "approval-give": { of: FactId; decision: "approve" | "reject"; digest: Digest; why?: string; edit?: Json };
  "validation-report": { name: string; passed: boolean; score?: number; detail?: Json; of?: FactId };
  "budget-set": { limits: { readonly [name: string]: number } };
  "budget-stop": { limit: string; allowed: number; spent: number; asked: number };
  // the record itself
  "content-erase": { digests: readonly Digest[]; why: string };
  "record-import": { format: string; source: string; digest: Digest; detail?: Json };
  // yours
  note: { kind?: string; readonly [field: string]: Json | undefined };
}

export type FactType = keyof FactBodies;

/** When it happened and who did it; inside the line, so the id covers both. A runtime adds its run and place in it. */
export interface Stamp {
  readonly at: string;
  readonly by: Principal;
  readonly run?: string;
  readonly seq?: number;
}

export type FactOf<Type extends FactType> = Type extends FactType
  ? Readonly<FactBodies[Type]> & Stamp & { readonly type: Type }
  : never;
export type Fact = FactOf<FactType>;
/**
 * What `append` takes: a fact whose stamp may be left to the session. Left out, `at` is now and `by` is who does
 * such things (the table in shape.ts): the "user" says, branches and places; an "agent" calls models and tools,
 * remembers, routes and sums up; a "service" replies; a "tool" gives results; the "runtime" runs and asks. A message
 * is by its role. Who approved or erased is never guessed: `by` must say.
 */
export type FactInput = {
  [Type in FactType]: Readonly<FactBodies[Type]> &
    (Type extends Decision ? Omit<Partial<Stamp>, "by"> & Pick<Stamp, "by"> : Partial<Stamp>) & {
      readonly type: Type;
    };
}[FactType];
type Decision = "approval-give" | "content-erase";

/** The id of a session, and so of the fact that made it: SHA-256 of the record line, in hex. */
export type FactId = string;
/** SHA-256 of some bytes, in hex. */
export type Digest = string;
/** Who acted: a kind, or a kind and a name, such as `user:ada` or `agent:coder`. */
export type Principal = PrincipalKind | `${PrincipalKind}:${string}`;
export type PrincipalKind = "user" | "agent" | "tool" | "runtime" | "service";
export type Role = "user" | "assistant" | "system";
export type Content = string | readonly Part[];
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string; readonly meta?: Json }
  | { readonly type: "tool-call"; readonly call: string; readonly name: string; readonly input: Json }
  | { readonly type: "file"; readonly media: string; readonly data: string }
  | { readonly type: "withheld"; readonly reason: Withheld["reason"]; readonly digest: Digest };
/** One entry of the conversation as a model would see it. */
export type Message =
  | { readonly role: Role; readonly content: Content }
  | {
      readonly role: "tool";
      readonly call: string;
      readonly name: string;
      readonly output?: Json;
      readonly error?: Failure;
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
export type Effect = "pure" | "read" | "idempotent" | "write";
export type Placement = { readonly sandbox: string; readonly spec?: Json };
export type PathChange = { readonly path: string; readonly change: "add" | "modify" | "delete" };
export type MemoryHit = { readonly memory: FactId; readonly score: number; readonly text?: string };
export type Candidate = { readonly name: string; readonly description?: string; readonly score?: number };
/** A memory needs evidence, so an empty list does not compile. */
export type Because = readonly [FactId, ...FactId[]];
/** Which side's placement and conversation go on: by name, both, or the place of a parent in the list. */
export type Adopt = "ours" | "theirs" | "both" | number;
