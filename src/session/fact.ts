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
    tree?: Digest;
    inline?: number;
    key?: string;
  };
  // `labels` are the untrusted origins of content that the body has read outside of this session
  "message-say": { role: Role; content: Content; labels?: readonly string[] };
  "context-compress": {
    from: FactId;
    to: FactId;
    summary: string;
    /** The call of the model that wrote the summary. */
    of?: FactId;
    policy?: string;
    /** What the summary keeps, each with the facts that it is from. */
    claims?: Json;
    tokens?: Json;
  };
  // asking models and tools; an outcome names its request with `of`
  // and, when a finished effect is used again in another run, the outcome it was taken from with `from`;
  // `redacted` are the names of secrets whose values were in it
  "agent-configure": {
    agent: string;
    instructions?: string;
    tools?: Json;
    output?: Json;
    parameters?: Json;
    since?: FactId;
    /** The tools whose descriptions are not of this program. */
    foreign?: readonly string[];
  };
  "model-call": { model: string; agent?: string; config?: FactId; prompt?: Digest; parameters?: Json };
  "model-reply": {
    of: FactId;
    content: Content;
    finish: string;
    usage: Usage;
    cost?: number;
    model?: string;
    response?: string;
    /** Whose words these are: the agent that asked. */
    agent?: string;
    meta?: Json;
    raw?: Json;
    milliseconds?: number;
    from?: FactId;
    redacted?: Json;
  };
  "model-failure": { of: FactId; error: Failure; milliseconds?: number; from?: FactId; redacted?: Json };
  "tool-call": {
    name: string;
    input: Json;
    call?: string;
    effect?: Effect;
    key?: string;
    source?: Json;
    labels?: readonly string[];
  };
  "tool-result": {
    of: FactId;
    output: Json;
    origin?: string;
    /** Who changed the arguments, and to what. */
    edited?: Edited;
    milliseconds?: number;
    from?: FactId;
    redacted?: Json;
  };
  "tool-failure": {
    of: FactId;
    error: Failure;
    edited?: Edited;
    milliseconds?: number;
    from?: FactId;
    redacted?: Json;
  };
  // effects of your own, and what the runtime does about any effect: before each attempt of a `write`, after each
  // attempt that will be repeated, when nobody knows how a `write` ended, and when a person settles that
  "step-call": { name: string; input?: Json; effect?: Effect; key?: string; labels?: readonly string[] };
  "step-result": {
    of: FactId;
    value: Json;
    /** The origin of the value; without one it is not trusted. "input": the value depends on nothing but its input. */
    origin?: string;
    edited?: Edited;
    milliseconds?: number;
    from?: FactId;
    redacted?: Json;
  };
  "step-failure": {
    of: FactId;
    error: Failure;
    edited?: Edited;
    milliseconds?: number;
    from?: FactId;
    redacted?: Json;
  };
  "effect-start": { of: FactId; attempt: number; key?: string };
  "effect-fail": { of: FactId; attempt: number; error: Failure; wait: number };
  "effect-doubt": { of: FactId; attempt: number; error: Failure };
  "effect-settle": {
    of: FactId;
    decision: Settlement;
    value?: Json;
    error?: Failure;
    why?: string;
    /** With "again" on an approved call: the digest of the call that is to be executed a second time. */
    digest?: Digest;
  };
  // waiting: an answer hangs from the request it answers, and the chain takes it in with both as parents
  "timer-set": { milliseconds?: number; until?: string };
  "timer-fire": { of: FactId };
  "signal-await": { name: string; what?: Json };
  "signal-give": { of: FactId; value: Json };
  "answer-take": { of: FactId; answer: FactId };
  "wait-cancel": { of: FactId; why?: string /** Time to answer was up. */; late?: true };
  // what is remembered, and why
  "memory-space": { space: string; scope: Json; rules?: Json };
  "memory-read": {
    space: string;
    head?: FactId;
    query: Json;
    hits: readonly MemoryHit[];
    /** How it was looked for: how many, from which score on, what counts for how much, at what time. */
    settings?: Json;
    /** What stands in the prompt of it, and the message of the conversation that it stands before. */
    shown?: string;
    before?: string;
    of?: FactId;
    /** The modules in which it was read, the outermost first. A run of version 0.1 does not say. */
    module?: readonly string[];
  };
  "memory-write": {
    space: string;
    text: string;
    scope: Json;
    source: string;
    because: Because;
    /** What it is about: two memories about one subject are in each other's way. */
    subject?: string;
    /** Where its evidence comes from, and so whether it can be trusted. */
    origins?: readonly string[];
    importance?: number;
    expires?: string;
    /** What must happen before anybody is told it: a "validation" or an "approval". */
    needs?: string;
    contradicts?: readonly FactId[];
    /** The memories that it takes the place of. */
    merges?: readonly FactId[];
    meta?: Json;
    /** The session that wrote it. */
    of?: FactId;
  };
  "memory-revise": {
    of: FactId;
    text: string;
    because: Because;
    source?: string;
    origins?: readonly string[];
    importance?: number;
    expires?: string;
    needs?: string;
    meta?: Json;
    why?: string;
    /** The session that did it; the same in the types below. */
    from?: FactId;
  };
  "memory-revoke": {
    of: FactId;
    because?: readonly FactId[];
    why: string;
    /** Only this version, which nobody has agreed to. */
    version?: FactId;
    from?: FactId;
  };
  "memory-promote": {
    of: FactId;
    because: Because;
    version?: FactId;
    to?: Json;
    why?: string;
    from?: FactId;
  };
  "memory-expire": { of: FactId; because?: readonly FactId[]; why: string; from?: FactId };
  "memory-link": { of: FactId; to: FactId; relation: string; why?: string; from?: FactId };
  "memory-rollback": { to: FactId; undoes: readonly FactId[]; why: string };
  // where side effects happen
  "placement-change": Placement;
  "sandbox-open": {
    sandbox: string;
    incarnation: number;
    provider: string;
    isolation: string;
    spec: Json;
    status: Json;
    capabilities: Json;
    native?: Json;
    tree: Digest | null;
    parent?: Json;
    of?: FactId;
  };
  "sandbox-suspend": { sandbox: string; incarnation: number; why?: string; of?: FactId };
  "sandbox-resume": { sandbox: string; incarnation: number; why?: string; of?: FactId };
  "sandbox-lose": { sandbox: string; incarnation: number; why: string; of?: FactId };
  "sandbox-close": { sandbox: string; incarnation: number; why?: string; of?: FactId };
  "command-run": {
    sandbox: string;
    incarnation: number;
    command: Json;
    directory?: string;
    outcome: string;
    code: number | null;
    signal?: string;
    stdout?: Json;
    stderr?: Json;
    cut?: number;
    network?: Json;
    milliseconds: number;
    of?: FactId;
  };
  // what is in the workspace: trees of the blob space
  "workspace-import": {
    source: string;
    after: Digest;
    files: number;
    bytes: number;
    skipped?: Json;
    of?: FactId;
  };
  "workspace-read": { tree: Digest | null; sandbox?: string; of?: FactId };
  "workspace-change": {
    before: Digest | null;
    after: Digest;
    paths: readonly PathChange[];
    sandbox?: string;
    skipped?: Json;
    of?: FactId;
  };
  "workspace-merge": {
    base: Digest | null;
    ours: Digest | null;
    theirs: Digest;
    after: Digest;
    paths: readonly PathChange[];
    conflicts: Json;
    of?: FactId;
  };
  "workspace-resolve": {
    merge: FactId;
    after: Digest;
    paths: readonly PathChange[];
    choices: Json;
    /** What each path in conflict came to: the word that was chosen for it, or the entry that was given instead. */
    resolved?: Json;
    why?: string;
    of?: FactId;
  };
  // branches
  "branch-fork": { name: string; why?: string };
  "branch-merge": { adopt: Adopt; why?: string };
  // who was working
  "run-start": {
    nonce: string;
    module: string;
    name?: string;
    digests?: Json;
    from?: Origin;
    /**
     * On whose behalf the run acts: the person or service that began it, else the one who spoke last before it. A run
     * without this field was recorded by version 0.1: there, "user" also stands for what the program did itself.
     */
    for?: Principal;
  };
  "run-cancel": { of: FactId; why?: string };
  "run-suspend": { of: FactId; waiting: readonly FactId[] };
  "run-end": { of: FactId; error?: Failure };
  "module-enter": { module: string; digests?: Json };
  "module-exit": { of: FactId; error?: Failure };
  "route-choose": {
    selector: string;
    candidates: readonly Candidate[];
    chosen: string | null;
    why?: string;
    /** Who chose, what it cost, and the routes that there were to choose from. */
    chooser?: string;
    cost?: number;
    table?: Digest;
    detail?: Json;
  };
  "skill-activate": { name: string; source: string; digest: Digest; instructions: string; of?: FactId };
  // who decided, and what was found
  "approval-ask": {
    what: Json;
    digest: Digest;
    of?: FactId;
    expires?: string;
    /** Who may answer; anybody when it does not say. */
    to?: readonly Principal[];
    /** How the question is called, where it is not about a call. */
    name?: string;
    /** The rule that wants it, why, and how often others were asked for it before. */
    rule?: string;
    why?: string;
    level?: number;
    /** Who put these arguments in place of which. */
    edited?: { readonly by: Principal; readonly was: Json };
    /** No other arguments can be put in place of these. */
    fixed?: true;
    /** It is a question, to be answered with something that fits this JSON schema. */
    answer?: Json;
    /** Why it is asked once more: what was answered cannot be used. */
    problem?: string;
    /** The number of the execution, if the call was started before and may have happened. */
    execution?: number;
  };
  "approval-give": {
    of: FactId;
    decision: "approve" | "reject" | "take-over";
    digest: Digest;
    why?: string;
    /** Agrees to this in place of the arguments that were shown. */
    edit?: Json;
    /** What whoever took over gives in place of the outcome. */
    value?: Json;
  };
  "policy-set": { module: string; policy: string; version: Digest };
  "policy-decide": {
    of: FactId;
    verdict: "allow" | "ask" | "deny";
    policies: Json;
    rules: readonly string[];
    /** On whose behalf it would be done. */
    for?: readonly Principal[];
    /** On whose agreement it may be done. */
    approvals?: Json;
    labels?: Json;
    why?: string;
  };
  "validation-report": { name: string; passed: boolean; score?: number; detail?: Json; of?: FactId };
  "budget-set": { limits: { readonly [name: string]: number } };
  "budget-stop": { limit: string; allowed: number; spent: number; asked: number };
  // the record itself
  "content-erase": { digests: readonly Digest[]; why: string };
  /** Somebody vouches for everything up to `of`: an Ed25519 signature, in base64, by the key of that id. */
  "head-sign": { of: FactId; key: string; signature: string };
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
 * recalls, routes and sums up; a "service" replies; a "tool" gives results; the "runtime" runs and asks. A message
 * is by its role. Inside a run the module that acts takes the place of the "user": "workflow:repair". Who approved, erased or remembered is never guessed: `by` must say.
 */
export type FactInput = {
  [Type in FactType]: Readonly<FactBodies[Type]> &
    (Type extends Decision ? Omit<Partial<Stamp>, "by"> & Pick<Stamp, "by"> : Partial<Stamp>) & {
      readonly type: Type;
    };
}[FactType];
type Decision =
  | "approval-give"
  | "content-erase"
  | "effect-settle"
  | "head-sign"
  | "signal-give"
  | "workspace-resolve"
  | "memory-space"
  | "memory-write"
  | "memory-revise"
  | "memory-revoke"
  | "memory-promote"
  | "memory-expire"
  | "memory-link"
  | "memory-rollback";

/** The id of a session, and so of the fact that made it: SHA-256 of the record line, in hex. */
export type FactId = string;
/** SHA-256 of some bytes, in hex. */
export type Digest = string;
/** Who acted: a kind, or a kind and a name, such as `user:ada` or `agent:coder`. */
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
 * What an effect does to the world, and so what may happen after a crash: `pure` nothing, `read` looks, `idempotent`
 * may be sent again with the same key, `write` must never be repeated unless a person or a reconciler says so.
 */
export type Effect = "pure" | "read" | "idempotent" | "write";
/** The arguments that a person put in place of those that were asked for. */
export type Edited = { readonly by: Principal; readonly input: Json };
/** What became of an effect that nobody knew the outcome of: it happened, it did not and shall not, or do it again. */
export type Settlement = "done" | "failed" | "again";
/** The run that a what-if starts from, by its nonce and its `run-start`, and the leaves that its tape was read from. */
export type Origin = {
  readonly run: string;
  readonly start: FactId;
  readonly leaves: readonly FactId[];
  /** What made the other run fail is done again. */
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
  /** What the score is made of. */
  readonly parts?: Json;
};
export type Candidate = { readonly name: string; readonly description?: string; readonly score?: number };
/** A memory needs evidence, so an empty list does not compile. */
export type Because = readonly [FactId, ...FactId[]];
/** Which side's placement and conversation go on: by name, both, or the place of a parent in the list. */
export type Adopt = "ours" | "theirs" | "both" | "none" | number;
