import type { Digest, FactId, Usage } from "../../session/index.js";
import type { Item, Listed, Told } from "./told.js";

export type ModelCall = Item & {
  readonly model: string;
  readonly agent?: string;
  readonly config?: FactId;
  readonly parameters?: Told;
  readonly prompt: Prompt;
  readonly reply?: Told;
  readonly reasoning?: Told;
  readonly calls: readonly { readonly name: string; readonly input: Told }[];
  readonly error?: Told;
  readonly finish?: string;
  readonly usage?: Usage;
  readonly cost?: number;
  readonly milliseconds?: number;
  /** The outcome was made in another run and taken over. */
  readonly from?: FactId;
  /** The names of secrets that were taken out. */
  readonly redacted?: readonly string[];
};

/** What a model was asked: rendered again from the record and held against the digest that was recorded. */
export type Prompt =
  | {
      readonly state: "rendered";
      readonly digest: Digest;
      readonly characters: number;
      readonly messages: number;
      /** The first messages are those of an earlier call, and not told twice. */
      readonly shared?: { readonly call: FactId; readonly messages: number };
      /** Tools, output and parameters, as they were sent; left out where they are those of the earlier call. */
      readonly request?: Told;
      readonly news: readonly { readonly role: string; readonly text: Told }[];
    }
  | { readonly state: "not-rendered"; readonly digest?: Digest; readonly why: string };

export type ToolCall = Item & {
  readonly kind: "tool" | "step";
  readonly name: string;
  readonly input: Told;
  readonly effect?: string;
  readonly key?: string;
  readonly source?: Told;
  readonly output?: Told;
  readonly error?: Told;
  readonly state: "done" | "failed" | "open" | "in doubt";
  readonly origin?: string;
  readonly edited?: { readonly by: string; readonly input: Told };
  readonly attempts: number;
  readonly troubles: readonly { readonly fact: FactId; readonly what: string; readonly text: Told }[];
  readonly milliseconds?: number;
  readonly from?: FactId;
  readonly redacted?: readonly string[];
  /** Where the session was placed, and which sandbox was used. */
  readonly placement?: string;
  readonly sandbox?: string;
  readonly verdict?: string;
  /** Commands, changes, checks, approvals and readings that belong to the call. */
  readonly evidence: readonly { readonly fact: FactId; readonly type: string }[];
};

export type Command = Item & {
  readonly command: Told;
  readonly directory?: Told;
  readonly sandbox: string;
  readonly incarnation: number;
  readonly outcome: string;
  readonly code: number | null;
  readonly signal?: string;
  readonly stdout?: Told;
  readonly stderr?: Told;
  readonly cut?: number;
  readonly network?: Told;
  readonly milliseconds: number;
  readonly of?: FactId;
};

export type Change = Item & {
  readonly kind: "import" | "change" | "merge" | "resolve";
  readonly before: Digest | null;
  readonly after: Digest;
  readonly files: Listed<FileDiff>;
  readonly source?: Told;
  readonly conflicts?: Told;
  readonly why?: Told;
  readonly of?: FactId;
  /** The tool that did it. */
  readonly tool?: string;
};

export type FileDiff = {
  readonly path: string;
  readonly change: "add" | "modify" | "delete";
  readonly added: number;
  readonly removed: number;
  /** The unified diff of the file; without it `note` says why. */
  readonly diff?: Told;
  readonly note?: string;
};

export type Patch = {
  readonly from: Digest | null;
  readonly to: Digest;
  readonly files: Listed<FileDiff>;
  readonly added: number;
  readonly removed: number;
  /** The first and the last fact of the files. */
  readonly facts: readonly FactId[];
};

export type Validation = Item & {
  readonly name: string;
  readonly passed: boolean;
  readonly score?: number;
  readonly detail?: Told;
  /** Where it says how many tests there were. */
  readonly tests?: {
    readonly passed: number;
    readonly failed: number;
    readonly skipped?: number;
    readonly total?: number;
    readonly failures: Listed<{ readonly name: string; readonly message?: string }>;
  };
  readonly of?: FactId;
  /** The command that was run for it. */
  readonly command?: FactId;
};
