import type { Digest, FactId } from "../../session/index.js";
import { digestOf, EMPTY_TREE, RecordError, readFact, refsOf } from "../../session/index.js";
import { type Erasure, type Store, TreeWalk, treesIn } from "../../store/index.js";
import { defined, optionNames } from "../../util/index.js";
import { reasonOf, requireOptions } from "../proof/error.js";
import type { CheckpointReport } from "./log.js";
import { StoreReading, type VerifyStoreOptions } from "./reading.js";
import { wrongSizes } from "./record-check.js";
import type { Findings, Verified } from "./report.js";

export type VerifySessionOptions = VerifyStoreOptions & {
  /** Runs the program again on its tape and answers with the id that it ends in: it must be that of the session. */
  readonly replay?: () => Promise<FactId>;
};
const OPTIONS = optionNames<VerifySessionOptions>()("keys log checkpoints progress replay");

export type VerifiedSession = Verified & {
  readonly kind: "session";
  readonly checkpoints: readonly CheckpointReport[];
  /** How many of its facts are in the log. */
  readonly covered: number;
  /** The id that a replay ended in. */
  readonly replayed?: FactId;
};

/** Verifies one session of a store and its whole past: every line, every blob, every signature, and its checkpoints. */
export async function verifySession(
  store: Store,
  nameOrId: string,
  options: VerifySessionOptions = {},
): Promise<VerifiedSession> {
  requireOptions(options, OPTIONS, "verifySession");
  const head = await store.resolve(nameOrId);
  const reading = new StoreReading(options);
  const { findings, notices, ids } = reading;
  const blobs = new BlobCheck(store, findings);
  const tell = (problem: string): void => findings.add({ place: `session ${head}`, problem, fact: head });
  try {
    await reading.read(store, head, (id, line) => blobs.need(id, line));
  } catch (error) {
    tell(`its past cannot be read to the end: ${reasonOf(error)}`);
  }
  const logged = reading.checkLog();
  const covered = (logged?.ids ?? []).filter((id) => ids.has(id)).length;
  if (logged !== undefined && covered < ids.size)
    notices.push(`${ids.size - covered} of its facts are in no checkpoint: rath checkpoint covers them`);
  const replayed = options.replay && (await replayOf(options.replay, head, tell));
  const report = reading.report();
  return {
    kind: "session",
    ...report,
    facts: ids.size,
    blobs: blobs.sound,
    erased: blobs.erased.size,
    heads: [head],
    erasures: [...blobs.erased.values()],
    covered,
    notices: [...report.notices, ONLY_THE_STORE],
    ...defined({ replayed }),
  };
}

const ONLY_THE_STORE =
  "this is about what the session leads to: whether facts were taken away since a checkpoint, only rath verify tells, of the whole store";

async function replayOf(replay: () => Promise<FactId>, head: FactId, tell: (problem: string) => void) {
  try {
    const id = await replay();
    if (id !== head) tell(`a replay of it ends in ${id}`);
    return id;
  } catch (error) {
    tell(`it cannot be replayed: ${reasonOf(error)}`);
    return undefined;
  }
}

/** Reads every blob that facts lead to, each once. */
class BlobCheck {
  sound = 0;
  readonly erased = new Map<Digest, Erasure>();
  readonly #store: Store;
  readonly #findings: Findings;
  readonly #met = new Map<Digest, number>();
  readonly #walk = new TreeWalk();
  #erasures: ReadonlyMap<Digest, Erasure> | undefined;

  constructor(store: Store, findings: Findings) {
    this.#store = store;
    this.#findings = findings;
  }

  async need(fact: FactId, line: string): Promise<void> {
    for (const { digest, size } of Object.values(refsOf(line))) {
      const length = await this.#length(digest, fact, "");
      if (length !== undefined && length !== size)
        this.#tell(fact, line, `its blob ${digest} has ${length} bytes, and the line says ${size}`);
    }
    for (const tree of treesIn(line)) {
      if (!this.#walk.add(tree)) continue;
      if (tree !== EMPTY_TREE) await this.#length(tree, fact, "a tree of it");
      await this.#follow(tree, fact, line);
    }
  }

  async #follow(tree: Digest, fact: FactId, line: string): Promise<void> {
    for (let node = this.#walk.next(); node !== undefined; node = this.#walk.next()) {
      const bytes = await this.#store.blob(node.digest).catch(() => undefined);
      if (bytes === undefined) continue;
      try {
        const named = this.#walk.enter(node, bytes);
        const sizes: (number | undefined)[] = [];
        for (const { digest, path } of named)
          sizes.push(await this.#length(digest, fact, `${JSON.stringify(path)} in the tree ${tree}`));
        for (const problem of wrongSizes(node, named, sizes)) this.#tell(fact, line, problem);
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        this.#tell(fact, line, `the blob ${node.digest}: ${String(error.data.reason)}`);
      }
    }
  }

  /** How long a blob is; undefined when it is not here, or not what it was. Each is read once. */
  async #length(digest: Digest, fact: FactId, what: string): Promise<number | undefined> {
    const known = this.#met.get(digest);
    if (known !== undefined) return known < 0 ? undefined : known;
    this.#met.set(digest, -1);
    const place = what === "" ? `blob ${digest}` : `blob ${digest} (${what})`;
    let bytes: Uint8Array | undefined;
    try {
      bytes = await this.#store.blob(digest);
    } catch (error) {
      this.#findings.add({ place, problem: `${reasonOf(error)}; ${fact} refers to it`, fact });
      return undefined;
    }
    if (bytes === undefined) {
      if (digest === EMPTY_TREE) return undefined;
      this.#erasures ??= new Map((await this.#store.erasures()).map((one) => [one.digest, one]));
      const erasure = this.#erasures.get(digest);
      if (erasure !== undefined) this.erased.set(digest, erasure);
      else this.#findings.add({ place, problem: `it is missing, and ${fact} refers to it`, fact });
      return undefined;
    }
    if (digestOf(bytes) !== digest) {
      const problem = `its bytes are not those that were written; ${fact} refers to it`;
      this.#findings.add({ place, problem, fact });
      return undefined;
    }
    this.sound += 1;
    this.#met.set(digest, bytes.length);
    return bytes.length;
  }

  #tell(fact: FactId, line: string, problem: string): void {
    this.#findings.add({ place: `fact ${fact}`, problem, fact, type: readFact(line, undefined).type });
  }
}
