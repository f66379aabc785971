import { labelsView, originsOf } from "../runtime/policy/index.js";
import type { Because, Fact, FactId, Principal, Session } from "../session/index.js";
import { factTypes, isPerson, isWorkflow, RathError, readFact } from "../session/index.js";
import type { Store } from "../store/index.js";
import { showValue } from "../util/index.js";
import { refusing } from "./error.js";
import { GROUNDS, isGround, type Source } from "./source.js";

/** The maximum number of facts that one memory names. Nobody reads more. */
const MOST = 1_000;
/** Facts around a piece of evidence that are searched for its origins. */
const AROUND = 2_000;
const HINT = "because: groundsOf(session), or a list of the ids of the facts that show it";

/** The evidence of a memory: facts of the store, by id. */
export type Evidence = ReadonlyMap<FactId, Fact>;

/** The facts that a memory names as its evidence. A fact that is not in the store is refused: nobody could look at it. */
export async function evidenceIn(store: Store, because: unknown, use: string): Promise<Evidence> {
  const refuse = refusing(use, "evidence");
  if (!Array.isArray(because) || because.length === 0)
    throw refuse(`\`because\` must be a list of fact ids; got ${showValue(because)}`, HINT);
  if (because.length > MOST)
    throw refuse(`it names more than ${MOST} facts`, "name only the facts that matter");
  const facts = new Map<FactId, Fact>();
  for (const id of because) {
    if (typeof id !== "string" || !/^[0-9a-f]{64}$/.test(id))
      throw refuse(`${showValue(id)} is not the id of a fact`, HINT);
    if (facts.has(id)) continue;
    const line = await store.line(id);
    if (line === undefined)
      throw refuse(
        `the fact ${id.slice(0, 12)} is not in the store`,
        "save the session that has it first: await store.save(session)",
        { fact: id },
      );
    facts.set(id, readFact(line, undefined));
  }
  return facts;
}

/** Throws unless the evidence has a fact that a memory of this source can be learnt from. */
export function requireGround(source: Source, evidence: Evidence, use: string): void {
  if ([...evidence.values()].some((fact) => isGround(source, fact))) return;
  const types = [...new Set([...evidence.values()].map(({ type }) => type))].join(", ");
  throw refusing(use, "source")(
    `its source is "${source}", and its evidence is ${types}`,
    `name ${GROUNDS[source]} in \`because\`, or another \`source\``,
    { source },
  );
}

/** The origins of evidence. A conclusion comes from everything its author had read; trust is the least. */
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
    const isText = written?.type === "memory-write" || written?.type === "memory-revise";
    return (isText ? written.origins : undefined) ?? ["memory"];
  }
  const own = ownOrigins(fact);
  if (own !== undefined) return own;
  // The evidence of a tool is recorded before its result, so the session does not yet count the tool as an origin.
  const said = /^(tool|service)(:|$)/.test(fact.by) ? ["tool"] : [];
  try {
    return [...said, ...heardBy(await store.load(id, { horizon: AROUND }))];
  } catch (error) {
    if (!(error instanceof RathError)) throw error;
    // The session is no longer in the store, so its origins are unknown and not trusted.
    return [...said, "agent"];
  }
}

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

/** The origins of everything that a session has read. */
export function heardBy(session: Session): readonly string[] {
  return Object.keys(session.view(labelsView));
}

const DECIDED: ReadonlySet<string> = factTypes("approval-give signal-give effect-settle workspace-resolve");

/** Undefined for a fact that was concluded from others. */
function ownOrigins(fact: Fact): readonly string[] | undefined {
  if (DECIDED.has(fact.type)) return [isPerson(fact.by) ? "user" : "agent"];
  // A message of a workflow may repeat everything that it has read, as a message of a model may.
  if (fact.type === "message-say" && (fact.role === "assistant" || isWorkflow(fact.by))) return undefined;
  const own = originsOf(fact);
  return own.length > 0 ? own : undefined;
}

/** The maximum number of facts of a turn that are named as evidence, the newest. */
const MOST_OF_TURN = 24;
/** How far back the beginning of a turn is searched. */
const FARTHEST = 5_000;

/** The evidence of a turn so far: question, tool results, recalled memories, the model's own words. */
export function groundsOf(session: Session): Because {
  const found: FactId[] = [];
  let node: Session | undefined = session;
  for (let steps = 0; node !== undefined && steps < FARTHEST; steps++) {
    const { fact, id } = node;
    const asked = (fact.type === "message-say" && fact.role === "user") || fact.type === "session-start";
    if (asked || TURN_GROUNDS.has(fact.type)) found.push(id);
    if (asked) break;
    node = node.parents[0];
  }
  const newest = found.slice(0, MOST_OF_TURN);
  const first = found.at(-1);
  if (first !== undefined && !newest.includes(first)) newest[newest.length - 1] = first;
  return becauseOf(newest.length === 0 ? [session.id] : newest.reverse());
}

/** Evidence as it is recorded: at least one fact, and each once. */
export function becauseOf(ids: Iterable<FactId>): Because {
  const [first, ...others] = new Set(ids);
  if (first === undefined) throw new RangeError("evidence must name at least one fact");
  return [first, ...others];
}

const TURN_GROUNDS: ReadonlySet<string> = factTypes(
  "tool-result tool-failure step-result step-failure command-run validation-report memory-read",
  "model-reply approval-give signal-give record-import",
);

/** The agent that spoke last in a session, or the program itself. */
export function agentOf(session: Session): Principal {
  for (let node: Session | undefined = session; node !== undefined; node = node.parents[0]) {
    const { fact } = node;
    if (fact.type === "model-reply") return fact.agent === undefined ? "agent" : `agent:${fact.agent}`;
    if (fact.type === "run-start") break;
  }
  return "runtime";
}
