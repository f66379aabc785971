import { labelsView, originsOf } from "../runtime/policy/index.js";
import {
  type Fact,
  type FactId,
  isPerson,
  isWorkflow,
  RathError,
  readFact,
  type Session,
} from "../session/index.js";
import type { Store } from "../store/index.js";
import { MemoryRefusedError } from "./error.js";
import { GROUNDS, isGround, type Source } from "./source.js";

/** More evidence than anybody reads is no evidence. */
const MOST = 1_000;
/** Facts around a piece of evidence that are looked at for where it comes from. */
const AROUND = 2_000;

/** What a memory is to rest on, as it stands in the store. */
export type Evidence = ReadonlyMap<FactId, Fact>;

/**
 * The facts that a memory is written because of, each of them in the store. Evidence that is not there could never be
 * looked at, so that a memory which names it is refused.
 */
export async function evidenceIn(store: Store, because: unknown, use: string): Promise<Evidence> {
  const hint = "because: groundsOf(session), or a list of the ids of the facts that show it";
  if (because !== undefined && !Array.isArray(because))
    throw new MemoryRefusedError("evidence", use, "its `because` is no list of ids", hint);
  if (because === undefined || because.length === 0)
    throw new MemoryRefusedError("evidence", use, "it does not say what shows it", hint);
  if (because.length > MOST)
    throw new MemoryRefusedError(
      "evidence",
      use,
      `it names more than ${MOST} facts`,
      "name those that matter",
    );
  const facts = new Map<FactId, Fact>();
  for (const id of because) {
    if (typeof id !== "string" || !/^[0-9a-f]{64}$/.test(id))
      throw new MemoryRefusedError(
        "evidence",
        use,
        `${JSON.stringify(id)?.slice(0, 80)} is not the id of a fact`,
        hint,
      );
    if (facts.has(id)) continue;
    const line = await store.line(id);
    if (line === undefined)
      throw new MemoryRefusedError(
        "evidence",
        use,
        `the fact ${id.slice(0, 12)} is not in the store`,
        "save the session that has it first: await store.save(session)",
        { fact: id },
      );
    facts.set(id, readFact(line, undefined));
  }
  return facts;
}

/** Throws unless something among the evidence can be what a memory of this source was learnt from. */
export function requireGround(source: Source, evidence: Evidence, use: string): void {
  if ([...evidence.values()].some((fact) => isGround(source, fact))) return;
  const types = [...new Set([...evidence.values()].map(({ type }) => type))].join(", ");
  throw new MemoryRefusedError(
    "source",
    use,
    `its source is "${source}", and what it names is ${types}`,
    `name ${GROUNDS[source]} in \`because\`, or another \`source\``,
    { source },
  );
}

/**
 * Where evidence comes from: what is said by itself says who said it; what somebody concluded comes from everything that
 * they had heard by then. Trust is that of the least trusted of them.
 */
export async function originsIn(store: Store, evidence: Evidence): Promise<ReadonlySet<string>> {
  const origins = new Set<string>();
  for (const [id, fact] of evidence)
    for (const origin of await originsBehind(store, id, fact)) origins.add(origin);
  return origins;
}

async function originsBehind(store: Store, id: FactId, fact: Fact): Promise<readonly string[]> {
  const memory = memoryIn(id, fact);
  if (memory !== undefined) {
    const line = await store.line(memory);
    const written = line === undefined ? undefined : readFact(line, undefined);
    const told =
      written?.type === "memory-write" || written?.type === "memory-revise" ? written.origins : undefined;
    return told ?? ["memory"];
  }
  const own = ownOrigins(fact);
  if (own !== undefined) return own;
  // What a tool leaves stands before its result: that it said something is not yet in what was heard.
  const said = /^(tool|service)(:|$)/.test(fact.by) ? ["tool"] : [];
  try {
    return [...said, ...heardBy(await store.load(id, { horizon: AROUND }))];
  } catch (error) {
    if (!(error instanceof RathError)) throw error;
    // Where that cannot be told any more, it is nothing to be trusted.
    return [...said, "agent"];
  }
}

/** The memory that a fact is about, in the version that it speaks of. */
function memoryIn(id: FactId, fact: Fact): FactId | undefined {
  switch (fact.type) {
    case "memory-write":
    case "memory-revise":
      return id;
    case "memory-promote":
    case "memory-revoke":
      return fact.version ?? fact.of;
    case "memory-expire":
    case "memory-link":
      return fact.of;
    default:
      return undefined;
  }
}

/** The origins of all that a session has heard. */
export function heardBy(session: Session): readonly string[] {
  return Object.keys(session.view(labelsView));
}

const DECIDED: ReadonlySet<string> = new Set([
  "approval-give",
  "signal-give",
  "effect-settle",
  "workspace-resolve",
] satisfies Fact["type"][]);

/** Undefined for what was concluded from other things. */
function ownOrigins(fact: Fact): readonly string[] | undefined {
  if (DECIDED.has(fact.type)) return [isPerson(fact.by) ? "user" : "agent"];
  // What a body says may repeat all that it has heard, as what a model says may.
  if (fact.type === "message-say" && (fact.role === "assistant" || isWorkflow(fact.by))) return undefined;
  const own = originsOf(fact);
  return own.length > 0 ? own : undefined;
}
