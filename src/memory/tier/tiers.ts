import { askedLast } from "../../agent/model/index.js";
import type { Tool } from "../../agent/tool/index.js";
import { hostServices, type Module } from "../../runtime/index.js";
import { canonical, type FactOf, type Json, type Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined, optionNames } from "../../util/index.js";
import type { Rebuilds, StepContext } from "../../workflow/index.js";
import {
  called,
  createModule,
  enter,
  optional,
  rebuild,
  refusing,
  requireModule,
  requireName,
  requireOptions,
  step,
  unchangeable,
} from "../../workflow/index.js";
import { requireMemory, requireShare } from "../checks.js";
import type { MemorySpace } from "../memory.js";
import { scopeText } from "../scope.js";
import { archiveTools } from "./archive.js";
import { type Block, type BlockOptions, blocksOf } from "./block.js";
import { type Conversations, conversationSearch, conversationsOf } from "./conversation.js";
import { alone, type CoreState, coreText, type Held, readCore, seedCore } from "./core.js";
import { coreTools } from "./core-tools.js";

export type TierOptions = {
  /** The space that holds the blocks and the archive. */
  readonly memory: MemorySpace;
  /** Core memory: what is always before the model. */
  readonly blocks: readonly BlockOptions[];
  /** Other sessions that are searched beside the own one. Default: none. */
  readonly conversations?: Conversations;
  /** The score that a text of the archive must have at least to be found, from 0 to 1. */
  readonly threshold?: number;
};

/** Core, recall and archival memory on one space, and the tools by which a model pages between them itself. */
export interface Tiers {
  readonly memory: MemorySpace;
  readonly blocks: readonly Block[];
  readonly tools: readonly Tool[];
  /** Puts the core before the model, for the turn that is under way. Through the door, and on the record. */
  show(session: Session): Promise<Session>;
  /** The blocks as they are now, for programs outside a run. */
  read(store: Store): Promise<CoreState>;
}

const KNOWN = optionNames<TierOptions>()("memory blocks conversations threshold");
const EXAMPLE = 'tieredMemory({ memory: notes, blocks: [{ label: "human" }, { label: "persona" }] })';

/**
 * Memory in three tiers: blocks that are always in view, what was said before, and an archive without an end.
 *
 * ```ts
 * const tiers = tieredMemory({ memory: notes, blocks: [{ label: "human", limit: 2_000 }] });
 * const helper = withTiers("helper", agent({ name: "helper", model, tools: [...tiers.tools] }), tiers);
 * ```
 */
export function tieredMemory(options: TierOptions): Tiers {
  const refuse = refusing("tieredMemory");
  requireOptions(options, refuse, EXAMPLE, KNOWN);
  const { memory, threshold } = options;
  requireMemory(memory, "memory", refuse);
  optional(requireShare)(threshold, "threshold", refuse);
  const blocks = blocksOf(options.blocks, refuse);
  const conversations = conversationsOf(options.conversations, refuse);
  const scope = scopeText(memory.scope);
  const show = step(
    `core of ${memory.name}`,
    async (_: Json, context: StepContext) => {
      const { request } = context;
      const space = memory.open(await context.store());
      // The program's text for its blocks is the input of this step: the evidence for their first words.
      await alone(space, () => seedCore(space, blocks, scope, { session: request, because: [request.id] }));
      const core = await readCore(space, blocks, scope);
      const before = askedLast(request);
      context.record({
        type: "memory-read",
        space: memory.name,
        ...defined({ head: core.head }),
        query: { core: blocks.map(({ label }) => label) },
        hits: core.held.flatMap(hitOf),
        settings: { part: "core", now: hostServices(request).time(), scope: memory.scope },
        shown: coreText(memory.name, core),
        ...defined({ before }),
      });
      return core.held.length;
    },
    { effect: "idempotent", origin: "memory" },
  );
  return Object.freeze({
    memory,
    blocks,
    tools: Object.freeze([
      ...coreTools(memory, blocks),
      conversationSearch(conversations),
      ...archiveTools(memory, threshold),
    ]),
    show: async (session: Session) => (await show.call(session, blocks)).session,
    read: (store: Store) => readCore(memory.open(store), blocks, scope),
  });
}

/** A block on the record of who was shown it. */
function hitOf({ block, value, memory }: Held): FactOf<"memory-read">["hits"] {
  if (memory === undefined) return [];
  const { id, version, source, by, at, trust, contradicts } = memory;
  return [
    {
      memory: id,
      version,
      score: 1,
      text: value,
      parts: {
        block: block.label,
        told: true,
        source,
        by,
        at,
        trust,
        ...(contradicts.length > 0 && { contradicts }),
      },
    },
  ];
}

/**
 * A module before which core memory is put into view: an agent inside it reads the blocks at every turn, as they are then.
 *
 * ```ts
 * const helper = withTiers("helper", agent({ name: "helper", model, tools: [...tiers.tools] }), tiers);
 * ```
 */
export function withTiers(name: string, module: Module, tiers: Tiers): Module & Rebuilds {
  requireName(name, "withTiers", 'withTiers("helper", agent, tiers)');
  const where = called("withTiers", name);
  const body = requireModule(module, where);
  if (typeof tiers?.show !== "function")
    throw refusing(where)(
      "it does not say which memory",
      'withTiers("helper", agent, tieredMemory({ memory, blocks }))',
    );
  const made: Module & Rebuilds = createModule<Omit<Module, "forward"> & Rebuilds>(
    {
      name,
      kind: "tiers",
      parts: Object.freeze({ [body.name]: body }),
      state: Object.freeze({ memory: tiers.memory.name, blocks: tiers.blocks }),
      [rebuild]: (state, parts) => {
        // The tools of the agent have the same blocks: other blocks are another memory.
        if (canonical(state as Json) !== canonical(made.state as Json)) throw unchangeable(made);
        return withTiers(name, parts[body.name] as Module, tiers);
      },
    },
    async (entered) => enter(body, await tiers.show(entered)),
  );
  return made;
}
