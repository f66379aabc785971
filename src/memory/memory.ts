import { hostServices } from "../runtime/index.js";
import { type FactId, isPerson, type Json, type Session, type Terms } from "../session/index.js";
import type { Store } from "../store/index.js";
import { defined, optionNames, showValue } from "../util/index.js";
import {
  approve,
  refusing,
  requireName,
  requireOptions,
  type StepContext,
  type StepResult,
  step,
} from "../workflow/index.js";
import type { Backend } from "./backend.js";
import type { Contradicts } from "./contradiction.js";
import type { Draft } from "./draft.js";
import { type Embedding, embedderOf } from "./embedding/embedder.js";
import { MemoryRefusedError } from "./error.js";
import { mirrored } from "./mirror.js";
import { requireSpaceName } from "./name.js";
import type {
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
  /** What the space is called. It is kept in the store under `memory/<name>`. */
  readonly name: string;
  /** Where what is written holds, unless it says otherwise; and for whom it is recalled. */
  readonly scope: ScopeGiven;
  /** What must happen before a memory is told to anybody. Default: nothing. */
  readonly admit?: Admission | readonly Admission[];
  /** What finds texts by their meaning. Default: the small one that is built in, which needs nobody. */
  readonly embedding?: Embedding;
  /** Says whether two texts cannot both be so; false looks for none. Default: by their words. */
  readonly contradicts?: Contradicts | false;
  /** Another system that keeps and finds the texts too. */
  readonly backend?: Backend;
};

/**
 * A memory space, for modules: everything goes through the door, is on the record of the session that does it, and is the
 * same at a replay.
 */
export interface MemorySpace {
  readonly name: string;
  readonly scope: Scope;
  readonly backend?: Backend;
  /** Looks for what is known about something, and puts it before the model as notes. */
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
  /** Shows a memory that is held to a person, and lets it be told or revokes it as they say. */
  review(session: Session, memory: FactId, terms?: Terms): Promise<StepResult<Written>>;
  /** The space in a store, for whoever is in no run: scripts, people, tests. */
  open(store: Store): Space;
}

const KNOWN = optionNames<MemoryOptions>()("name scope admit embedding contradicts backend");
const EXAMPLE = 'memory({ name: "notes", scope: "project:rath" })';
/** Times that a review asks, when it is answered by those who may not. */
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

  // After the deed, and for itself: a backend that is down does not undo what was remembered, and can be asked again.
  const mirror =
    backend === undefined
      ? undefined
      : step(
          `bring ${name} to ${backend.name}`,
          async (memories: readonly FactId[], context: StepContext) =>
            mirrored(space(await context.store()), backend, memories, context),
          { effect: "idempotent", origin: "input" },
        );

  /** A deed in the space as an effect of the session: once, whatever crashes. */
  function deed<Input extends Json, Value>(
    verb: string,
    act: (opened: Space, input: Input, context: StepContext) => Promise<Value>,
  ): (session: Session, input: Input) => Promise<StepResult<Value>> {
    const made = step(
      `${verb} ${name}`,
      async (input: Json, context: StepContext) =>
        // What the record of the session does not say, the space does not say either.
        act(space(await context.store()), context.redact(input) as Input, context),
      { effect: "idempotent", origin: "input" },
    );
    return async (session, input) => {
      const told = (await made.call(session, input)) as StepResult<Value>;
      if (mirror === undefined) return told;
      const { memory: one, memories = [one] } = told.value as {
        memory?: FactId;
        memories?: readonly FactId[];
      };
      const { session: next } = await mirror.call(told.session, memories as readonly FactId[]);
      return { session: next, value: told.value };
    };
  }
  const from = ({ request, key }: StepContext): Required<WriteOptions> => ({
    from: request,
    key,
    at: hostServices(request).time(),
  });
  type Of<More> = { readonly memory: FactId } & More;
  const write = deed<Draft, Written>("remember in", (opened, draft, context) =>
    opened.write(draft, from(context)),
  );
  const revise = deed<Of<{ revision: Revision }>, Written>(
    "revise in",
    (opened, { memory: of, revision }, context) => opened.revise(of, revision, from(context)),
  );
  const revoke = deed<Of<{ ending: Ending }>, Written>(
    "revoke in",
    (opened, { memory: of, ending }, context) => opened.revoke(of, ending, from(context)),
  );
  const expire = deed<Of<{ ending: Ending }>, Written>(
    "expire in",
    (opened, { memory: of, ending }, context) => opened.expire(of, ending, from(context)),
  );
  const promote = deed<Of<{ promotion: Promotion }>, Written>(
    "promote in",
    (opened, { memory: of, promotion }, context) => opened.promote(of, promotion, from(context)),
  );
  const link = deed<Of<{ linking: Linking }>, Written>(
    "link in",
    (opened, { memory: of, linking }, context) => opened.link(of, linking, from(context)),
  );
  const rollback = deed<RollbackTo, Undone>("roll back", (opened, back, context) =>
    opened.rollback(back, from(context)),
  );
  /** What a person must know to decide about it. */
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
    write,
    revise: (session, of, revision) => revise(session, { memory: of, revision }),
    revoke: (session, of, ending) => revoke(session, { memory: of, ending }),
    expire: (session, of, ending) => expire(session, { memory: of, ending }),
    promote: (session, of, promotion) => promote(session, { memory: of, promotion }),
    link: (session, of, linking) => link(session, { memory: of, linking }),
    rollback,
    open: space,
    async review(session, of, terms) {
      const { session: seen, value: shown } = await show.call(session, of);
      if (shown === null || !shown.waits)
        throw new MemoryRefusedError(
          "held",
          `review a memory of "${name}"`,
          shown === null
            ? `${String(of).slice(0, 12)} is not there`
            : `it is ${shown.status}, and waits for nobody`,
          'one that is held: space.list({ statuses: ["held"] })',
          { memory: String(of) },
        );
      let asking = seen;
      for (let time = 0; time < ASKED; time++) {
        const question = approve(`memory ${shown.memory.slice(0, 12)}`, shown, terms);
        const { session: told, approved, why = "a person did not agree to it" } = await question.call(asking);
        const given = wordIn(told, asking);
        const by = given?.fact.by ?? "runtime";
        // Only a person's word counts, for it or against it; whoever else answered was not asked.
        if (given !== undefined && !isPerson(by)) {
          asking = told;
          continue;
        }
        if (approved && given !== undefined)
          return promote(told, {
            memory: shown.memory,
            promotion: { because: [given.id], by, version: shown.version },
          });
        // Where something else of it is told already, only the new words are taken back.
        const version = shown.version === shown.memory ? {} : { version: shown.version };
        const because = [given?.id ?? told.id];
        return revoke(told, { memory: shown.memory, ending: { why, by, because, ...version } });
      }
      throw new MemoryRefusedError(
        "held",
        `review a memory of "${name}"`,
        `${ASKED} times somebody answered who is no person`,
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
