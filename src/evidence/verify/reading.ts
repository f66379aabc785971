import type { FactId } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { type CheckpointLog, type HeadSignature, headSignatureOf } from "../proof/index.js";
import { allOf, type Keys, signatureIn } from "./keys.js";
import { type CheckpointReport, checkLog, type LogReport, type LogSources } from "./log.js";
import { Findings, signedAnyway, type Verified } from "./report.js";

export type VerifyStoreOptions = {
  readonly keys?: Keys;
  /** The log of the store, and checkpoints that it must continue. */
  readonly log?: CheckpointLog;
  readonly checkpoints?: Partial<Omit<LogSources, "keys">>;
  readonly progress?: (facts: number) => void;
};

type Report = Pick<Verified, "intact" | "findings" | "more" | "signatures" | "notices"> & {
  readonly checkpoints: readonly CheckpointReport[];
};

/** The common part of verifying a store and one session: signatures of heads, and checkpoints. */
export class StoreReading {
  readonly findings = new Findings();
  readonly notices: string[] = [];
  readonly ids = new Set<FactId>();
  readonly #options: VerifyStoreOptions;
  readonly #signatures: HeadSignature[] = [];
  #logged: LogReport | undefined;

  constructor(options: VerifyStoreOptions) {
    this.#options = options;
  }

  /** Reads facts with everything before them, and judges the signatures among them. */
  async read(
    store: Store,
    heads: FactId | readonly FactId[],
    see?: (id: FactId, line: string) => Promise<void>,
  ): Promise<void> {
    const { keys = {}, progress } = this.#options;
    const known = allOf(keys);
    for await (const lines of store.lines(heads)) {
      for (const { id, line } of lines) {
        this.ids.add(id);
        await see?.(id, line);
        const signature = headSignatureOf(id, line, known);
        if (signature === undefined) continue;
        this.#signatures.push(signature);
        if (signature.verdict === "bad")
          this.findings.add({
            place: `fact ${id}`,
            problem: String(signature.problem),
            fact: id,
            type: "head-sign",
          });
      }
      progress?.(this.ids.size);
    }
  }

  /** Checks the log by itself and against the other checkpoints; undefined if neither exists. */
  checkLog(): LogReport | undefined {
    const { keys = {}, log, checkpoints = {} } = this.#options;
    const { given = [], remembered = [] } = checkpoints;
    if (log === undefined || !(log.exists || given.length + remembered.length > 0)) return undefined;
    const sources = { keys: allOf(keys), given, remembered };
    this.#logged = checkLog(log, sources, this.findings, this.notices);
    return this.#logged;
  }

  report(): Report {
    const { findings, notices } = this;
    return {
      // A store without facts is as it was written.
      intact: findings.count === 0,
      findings: findings.list,
      more: findings.more,
      signatures: this.#signatures.map(signatureIn(this.#options.keys ?? {})),
      checkpoints: this.#logged?.checkpoints ?? [],
      notices: [...notices, ...signedAnyway(findings, this.#signatures)],
    };
  }
}
