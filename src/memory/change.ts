import { type FactId, type FactOf, isPerson, type Principal, readFact } from "../session/index.js";
import type { Store } from "../store/index.js";
import { defined } from "../util/index.js";
import { type MemoryFault, type RefuseMemory, refusing, UnknownMemoryError } from "./error.js";
import { type Evidence, evidenceIn, heardBy, originsIn } from "./evidence.js";
import type { SpaceSettings, WriteOptions } from "./operation.js";
import { hasRead } from "./reading.js";
import { type Needs, needsOf, type Rules, rulesIn } from "./rules.js";
import { holdsIn, type Scope } from "./scope.js";
import type { SpaceIndex } from "./search/space-index.js";
import type { Source } from "./source.js";
import { type Memory, type Status, trustOf } from "./state.js";

/** The checks of one change of a space. */
export class Change {
  /** The operation in words, for errors. */
  readonly use: string;
  readonly options: WriteOptions;
  readonly #store: Store;
  readonly #settings: SpaceSettings;

  constructor(store: Store, settings: SpaceSettings, use: string, options: WriteOptions) {
    this.#store = store;
    this.#settings = settings;
    this.use = use;
    this.options = options;
  }

  refusing(fault?: MemoryFault): RefuseMemory {
    return refusing(this.use, fault);
  }

  async evidence(because: unknown): Promise<Evidence> {
    // Evidence in a session that is not saved would be lost in a crash.
    if (this.options.from !== undefined) await this.#store.save(this.options.from);
    return evidenceIn(this.#store, because, this.use);
  }

  /** A writer that is not a person writes from everything it has read, including other memories. */
  async origins(evidence: Evidence, by: Principal): Promise<Set<string>> {
    const { from } = this.options;
    const origins = new Set(await originsIn(this.#store, evidence));
    if (await hasRead(this.#store, [...evidence.keys()], from)) origins.add("memory");
    if (isPerson(by)) return origins;
    if (from !== undefined) for (const origin of heardBy(from)) origins.add(origin);
    // The program says only what was written into it. The reading of another agent is unknown.
    else if (!/^(runtime|workflow)(:|$)/.test(by)) origins.add("agent");
    return origins;
  }

  rules(index: SpaceIndex): readonly Rules[] {
    return [rulesIn(index.rules), this.#settings.rules];
  }

  needs(index: SpaceIndex, source: Source, origins: ReadonlySet<string>): Needs | undefined {
    return needsOf(this.rules(index), { source, trusted: trustOf([...origins]) === "trusted" });
  }

  memory(index: SpaceIndex, id: FactId, statuses?: readonly Status[]): Memory {
    const known = index.get(id);
    const { name } = this.#settings;
    if (known === undefined)
      throw new UnknownMemoryError(this.use, name, String(id), "look at what there is with space.list()");
    const { status } = known;
    if (statuses === undefined || statuses.includes(status)) return known;
    const hint = "write a new one, with its evidence";
    throw this.refusing("over")(`it is ${status}`, hint, { memory: id, status });
  }

  /** A memory that the session may change. */
  changeable(index: SpaceIndex, id: FactId, statuses?: readonly Status[]): Memory {
    const known = this.memory(index, id, statuses);
    this.requireInside(known.scope, known.id);
    return known;
  }

  /** A session writes only to its own scope; without one (an administrator of the space), to any. */
  requireInside(scope: Scope, memory?: FactId): void {
    const { name, scope: own } = this.#settings;
    if (this.options.from === undefined || holdsIn(own, scope)) return;
    const [wide, narrow] = [scope.join(" / "), own.join(" / ")];
    throw this.refusing("scope")(
      `it is for ${wide}, and this scope may only write for ${narrow}`,
      `write a memory for ${narrow} instead, or change it with a memory made for ${wide}: memory({ name: ${JSON.stringify(name)}, scope: ${JSON.stringify(scope)} })`,
      { scope: wide, own: narrow, ...defined({ memory }) },
    );
  }

  async requireVersion(memory: FactId, version: FactId | undefined): Promise<void> {
    if (version === undefined || version === memory) return;
    const fact = await this.version(version);
    if (fact?.type === "memory-revise" && fact.of === memory) return;
    const hint = "a version of the memory: its id, or that of a revision";
    throw new UnknownMemoryError(this.use, this.#settings.name, version, hint);
  }

  async version(id: FactId): Promise<FactOf<"memory-write"> | FactOf<"memory-revise"> | undefined> {
    const line = await this.#store.line(id);
    const fact = line === undefined ? undefined : readFact(line, undefined);
    return fact?.type === "memory-write" || fact?.type === "memory-revise" ? fact : undefined;
  }
}
