import { type Fact, factTypes, isPerson } from "../session/index.js";

/** The kind of evidence that a memory was learnt from. */
export type Source =
  | "tool-result"
  | "human-correction"
  | "failed-attempt"
  | "validation"
  | "reflection"
  | "import";

/** The evidence that a memory with this source needs, in words; a reflection may be about anything. */
export const GROUNDS: { readonly [source in Source]: string } = {
  "tool-result": "the result of a tool, a step or a command",
  "human-correction": "something that a person said, answered or decided",
  "failed-attempt": "a validation that did not pass, or the failure of a call or a run",
  validation: "a validation",
  reflection: "anything",
  import: "the record of an import",
};

export const SOURCES: readonly Source[] = Object.keys(GROUNDS) as Source[];

const RESULTS: ReadonlySet<string> = factTypes(
  "tool-result step-result command-run workspace-change workspace-read",
);

const PERSONAL: ReadonlySet<string> = factTypes(
  "session-start message-say approval-give signal-give effect-settle tool-result step-result",
  "workspace-resolve validation-report note",
);

const FAILURES: ReadonlySet<string> = factTypes(
  "tool-failure step-failure model-failure effect-doubt budget-stop",
);

/** Whether a fact can be what a memory with this source was learnt from. */
export function isGround(source: Source, fact: Fact): boolean {
  switch (source) {
    case "tool-result":
      return RESULTS.has(fact.type) || fact.type === "tool-failure";
    case "human-correction":
      return PERSONAL.has(fact.type) && isPerson(fact.by);
    case "failed-attempt":
      if (fact.type === "validation-report") return !fact.passed;
      if (fact.type === "run-end" || fact.type === "module-exit") return fact.error !== undefined;
      return FAILURES.has(fact.type);
    case "validation":
      return fact.type === "validation-report";
    case "import":
      return fact.type === "record-import";
    case "reflection":
      return true;
  }
}
