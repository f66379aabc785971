import {
  type Digest,
  digestOf,
  EMPTY_TREE,
  type FactId,
  RecordError,
  readFact,
  refsOf,
} from "../../session/index.js";
import type { Erasure, Store } from "../../store/index.js";
import { TreeWalk, treesIn } from "../../store/index.js";
import { optionNames } from "../../util/index.js";
import { requireOptions } from "../proof/given.js";
import { type CheckpointLog, type HeadSignature, headSignatureOf } from "../proof/index.js";
import { allOf, type Keys, signatureIn } from "./keys.js";
import { type CheckpointReport, checkLog, type LogSources } from "./log.js";
import { Findings, reasonOf, signedAnyway, type Verified } from "./report.js";

export type VerifySessionOptions = {
  readonly keys?: Keys;
  /** The log of the store, and checkpoints that it must go on from. */
  readonly log?: CheckpointLog;
  readonly checkpoints?: Partial<Omit<LogSources, "keys">>;
  readonly progress?: (facts: number) => void;
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
  const { keys = {}, log, progress } = options;
  const head = await store.resolve(nameOrId);
  const findings = new Findings();
  const notices: string[] = [];
  const known = allOf(keys);
  const blobs = new BlobCheck(store, findings);
  const signatures: HeadSignature[] = [];
  const ids = new Set<FactId>();
  try {
    for await (const lines of store.lines(head)) {
      for (const { id, line } of lines) {
        ids.add(id);
        await blobs.need(id, line);
        const signature = headSignatureOf(id, line, known);
        if (signature === undefined) continue;
        signatures.push(signature);
        if (signature.verdict === "bad")
          findings.add({
            place: `fact ${id}`,
            problem: String(signature.problem),
            fact: id,
            type: "head-sign",
          });
      }
      progress?.(ids.size);
    }
  } catch (error) {
    findings.add({
      place: `session ${head}`,
      problem: `its past cannot be read to the end: ${reasonOf(error)}`,
      fact: head,
    });
  }
  const { given = [], remembered = [] } = options.checkpoints ?? {};
  const isLogged = log !== undefined && (log.exists || given.length + remembered.length > 0);
  const logged = isLogged ? checkLog(log, { keys: known, given, remembered }, findings, notices) : undefined;
  const covered = (logged?.ids ?? []).filter((id) => ids.has(id)).length;
  if (logged !== undefined && covered < ids.size)
    notices.push(`${ids.size - covered} of its facts are in no checkpoint: rath checkpoint covers them`);
  const replayed = options.replay && (await replayOf(options.replay, head, findings));
  return {
    kind: "session",
    intact: findings.count === 0,
    facts: ids.size,
    blobs: blobs.sound,
    erased: blobs.erased.size,
    findings: findings.list,
    more: findings.more,
    heads: [head],
    erasures: [...blobs.erased.values()],
    signatures: signatures.map(signatureIn(keys)),
    checkpoints: logged?.checkpoints ?? [],
    covered,
    notices: [...notices, ...signedAnyway(findings, signatures), ONLY_THE_STORE],
    ...(replayed !== undefined && { replayed }),
  };
}

const ONLY_THE_STORE =
  "this is about what the session leads to: whether facts were taken away since a checkpoint, only rath verify tells, of the whole store";

async function replayOf(
  replay: () => Promise<FactId>,
  head: FactId,
  findings: Findings,
): Promise<FactId | undefined> {
  try {
    const id = await replay();
    if (id !== head)
      findings.add({ place: `session ${head}`, problem: `a replay of it ends in ${id}`, fact: head });
    return id;
  } catch (error) {
    findings.add({
      place: `session ${head}`,
      problem: `it cannot be replayed: ${reasonOf(error)}`,
      fact: head,
    });
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
        let sum = 0;
        for (const { digest, path, kind, size } of named) {
          const length = await this.#length(digest, fact, `${JSON.stringify(path)} in the tree ${tree}`);
          sum += length ?? Number.NaN;
          if (kind === "file" && length !== undefined && length !== size)
            this.#tell(fact, line, `${JSON.stringify(path)} has ${length} bytes, and its tree says ${size}`);
        }
        if (node.kind === "parts" && !Number.isNaN(sum) && sum !== node.size)
          this.#tell(
            fact,
            line,
            `the pieces of ${JSON.stringify(node.path)} have ${sum} bytes, and its tree says ${node.size}`,
          );
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
      this.#findings.add({
        place,
        problem: `its bytes are not those that were written; ${fact} refers to it`,
        fact,
      });
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
