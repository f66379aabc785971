import { hostServices } from "../runtime/index.js";
import { type FactId, isPerson, type Json, type Session, type Terms } from "../session/index.js";
import type { Store } from "../store/index.js";
import { defined, optionNames, showValue } from "../util/index.js";
import type { StepContext, StepResult } from "../workflow/index.js";
import { approve, refusing, requireName, requireOptions, step } from "../workflow/index.js";
import { type Backend, mirrored } from "./backend.js";
import type { Contradicts } from "./contradiction.js";
import { type Embedding, embedderOf } from "./embedding/embedder.js";
import { refusing as refusingMemory } from "./error.js";
import { requireSpaceName } from "./name.js";
import type {
  Draft,
  Ending,
  Linking,
  Promotion,
  Revision,
  RollbackTo,
  SpaceSettings,
  Undone,
  WriteOptions,
  Written,
} from "./operation.js";
import type { Recollection } from "./reading.js";
import { type RecallOptions, recallFrom } from "./recall.js";
import { type Admission, rulesOf } from "./rules.js";
import { type Scope, type ScopeGiven, scopeOf } from "./scope.js";
import { Space } from "./space.js";

export type MemoryOptions = {
  /** The name of the space. It is kept in the store under `memory/<name>`. */
  readonly name: string;
  /** The default scope of what is written, and the scope from which it is recalled. */
  readonly scope: ScopeGiven;
  /** The validation or approval that a memory needs before it is recalled. Default: none. */
  readonly admit?: Admission | readonly Admission[];
  /** Finds texts by their meaning. Default: the word vectors of `@openrath/embedding`, which need no network. */
  readonly embedding?: Embedding;
  /** Says whether two texts contradict each other; false disables the check. Default: by their words. */
  readonly contradicts?: Contradicts | false;
  /** Another system that also keeps and finds the texts. */
  readonly backend?: Backend;
};

/** A memory space for modules: every call is recorded in the session and the same at a replay. */
export interface MemorySpace {
  readonly name: string;
  readonly scope: Scope;
  readonly backend?: Backend;
  /** Searches the memory and shows the hits to the model as notes. */
  recall(
    session: Session,
    query: string,
    options?: RecallOptions,
  ): Promise<StepResult<readonly Recollection[]>>;
  write(session: Session, draft: Draft): Promise<StepResult<Written>>;
  revise(session: Session, memory: FactId, revision: Revision): Promise<StepResult<Written>>;
  revoke(session: Session, memory: FactId, ending: Ending): Promise<StepResult<Written>>;
  expire(session: Session, memory: FactId, ending: Ending): Promise<StepResult<Written>>;
  promote(session: Session, memory: FactId, promotion: Promotion): Promise<StepResult<Written>>;
  link(session: Session, memory: FactId, linking: Linking): Promise<StepResult<Written>>;
  rollback(session: Session, back: RollbackTo): Promise<StepResult<Undone>>;
  /** Shows a held memory to a person, and approves or revokes it by their answer. */
  review(session: Session, memory: FactId, terms?: Terms): Promise<StepResult<Written>>;
  /** The space in a store, for use outside a run: scripts, tests. */
  open(store: Store): Space;
}

const KNOWN = optionNames<MemoryOptions>()("name scope admit embedding contradicts backend");
const EXAMPLE = 'memory({ name: "notes", scope: "project:rath" })';
/** How often a review asks again when a principal that is not a person has answered. */
const ASKED = 10;

/**
 * A memory space: itself a session in the same store.
 *
 * ```ts
 * const notes = memory({ name: "notes", scope: "project:rath" });
 * const { session: told, value: hits } = await notes.recall(session, "how are releases made?");
 * ```
 */
export function memory(options: MemoryOptions): MemorySpace {
  const refuse = refusing("a memory");
  requireOptions(options, refuse, EXAMPLE, KNOWN);
  const { name, backend } = options;
  requireName(name, "memory", EXAMPLE);
  requireSpaceName(name, refuse);
  const use = `make the memory "${name}"`;
  const { contradicts } = options;
  if (contradicts !== undefined && contradicts !== false && typeof contradicts !== "function")
    throw refuse(
      `its \`contradicts\` is ${showValue(contradicts)}`,
      "contradicts: (one, other) => true or false",
    );
  const settings: SpaceSettings = {
    name,
    scope: scopeOf(options.scope, use),
    rules: rulesOf(options.admit, use),
    embedder: embedderOf(options.embedding),
    ...defined({ contradicts }),
  };
  const space = (store: Store): Space => new Space(store, settings);

  // A step of its own: a backend that is down does not undo the write, and can be asked again.
  const mirror =
    backend === undefined
      ? undefined
      : step(
          `bring ${name} to ${backend.name}`,
          async (memories: readonly FactId[], context: StepContext) =>
            mirrored(space(await context.store()), backend, memories, context),
          { effect: "idempotent", origin: "input" },
        );

  /** An operation on the space as an effect of the session. It is done once, also after a crash. */
  function operation<Input extends Json, Value>(
    verb: string,
    act: (opened: Space, input: Input, options: Required<WriteOptions>) => Promise<Value>,
  ): (session: Session, input: Input) => Promise<StepResult<Value>> {
    const run = step(
      `${verb} ${name}`,
      async (input: Json, context: StepContext) => {
        const { request, key } = context;
        const options = { from: request, key, at: hostServices(request).time() };
        // Secrets that the record of the session leaves out stay out of the space too.
        return act(space(await context.store()), context.redact(input) as Input, options);
      },
      { effect: "idempotent", origin: "input" },
    );
    return async (session, input) => {
      const told = (await run.call(session, input)) as StepResult<Value>;
      if (mirror === undefined) return told;
      const { memory: one, memories = [one] } = told.value as {
        memory?: FactId;
        memories?: readonly FactId[];
      };
      const { session: next } = await mirror.call(told.session, memories as readonly FactId[]);
      return { session: next, value: told.value };
    };
  }
  /** An operation on one memory, whose details are recorded under the name of a field. */
  function change<Method extends "revise" | "revoke" | "expire" | "promote" | "link">(
    method: Method,
    field: string,
  ): MemorySpace[Method] {
    type Act = (memory: FactId, details: Json, options: WriteOptions) => Promise<Written>;
    const run = operation(`${method} in`, (opened, input: { readonly [field: string]: Json }, options) =>
      (opened[method] as Act).call(opened, input.memory as FactId, input[field] as Json, options),
    );
    const made = (session: Session, memory: FactId, details: Json) =>
      run(session, { memory, [field]: details });
    return made as MemorySpace[Method];
  }
  const changes = {
    write: operation("remember in", (opened, draft: Draft, options) => opened.write(draft, options)),
    revise: change("revise", "revision"),
    revoke: change("revoke", "ending"),
    expire: change("expire", "ending"),
    promote: change("promote", "promotion"),
    link: change("link", "linking"),
    rollback: operation("roll back", (opened, back: RollbackTo, options) => opened.rollback(back, options)),
  };
  /** Everything that a person needs to decide about a memory. */
  const show = step(
    `look at ${name}`,
    async (id: string, context: StepContext) => {
      const opened = space(await context.store());
      const found = await opened.get(id);
      if (found === undefined) return null;
      const version = await opened.waiting(found);
      const { text, status, by, source, trust, origins, because, scope, contradicts } = found;
      return {
        space: name,
        memory: found.id,
        version: version?.id ?? found.version,
        text: version?.text ?? text,
        ...(version !== undefined && version.id !== found.id && { instead: text }),
        status,
        waits: version !== undefined,
        by,
        source,
        trust,
        origins,
        scope: scope,
        because,
        ...(contradicts.length > 0 && { contradicts }),
      } as const;
    },
    { effect: "read", origin: "memory" },
  );
  const recall = recallFrom(settings, space, backend);

  const made: MemorySpace = {
    name,
    scope: settings.scope,
    ...defined({ backend }),
    recall: (session, query, given) => recall(session, query, given),
    ...changes,
    open: space,
    async review(session, of, terms) {
      const { session: seen, value: shown } = await show.call(session, of);
      const refuseReview = refusingMemory(`review a memory of "${name}"`, "held");
      if (shown === null || !shown.waits)
        throw refuseReview(
          shown === null
            ? `${String(of).slice(0, 12)} is not there`
            : `it is ${shown.status}, and waits for no approval`,
          'one that is held: space.list({ statuses: ["held"] })',
          { memory: String(of) },
        );
      let asking = seen;
      for (let time = 0; time < ASKED; time++) {
        const question = approve(`memory ${shown.memory.slice(0, 12)}`, shown, terms);
        const { session: told, approved, why = "a person did not agree to it" } = await question.call(asking);
        const given = wordIn(told, asking);
        const by = given?.fact.by ?? "runtime";
        // Only the answer of a person counts.
        if (given !== undefined && !isPerson(by)) {
          asking = told;
          continue;
        }
        if (approved && given !== undefined)
          return changes.promote(told, shown.memory, { because: [given.id], by, version: shown.version });
        // Where something else of it is told already, only the new words are taken back.
        const version = shown.version === shown.memory ? {} : { version: shown.version };
        const because = [given?.id ?? told.id];
        return changes.revoke(told, shown.memory, { why, by, because, ...version });
      }
      throw refuseReview(
        `${ASKED} times the answer came from a principal that is not a person`,
        'rath.approve(run, { by: "user:ada" })',
        { memory: shown.memory },
      );
    },
  };
  return Object.freeze(made);
}

/** The word of a person that came between two sessions: that of the last who was asked. */
function wordIn(told: Session, before: Session): Session | undefined {
  const seen = new Set<Session>([before]);
  const open: Session[] = [told];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (seen.has(node) || node.id === before.id) continue;
    seen.add(node);
    if (node.fact.type === "approval-give") return node;
    open.push(...node.parents);
  }
  return undefined;
}
