import type { Rest } from "./job.js";

const RESTS = [
  "ended",
  "failed",
  "waiting",
  "left",
  "elsewhere",
  "stuck",
  "lost",
] as const satisfies readonly Rest[];

/** The counts of a worker since it started, as Prometheus reads them. */
export class Metrics {
  readonly #rests = new Map<Rest, number>();
  #taken = 0;
  #waited = 0;

  /** @param waited milliseconds since the session was submitted */
  taken(waited: number): void {
    this.#taken += 1;
    this.#waited += waited / 1_000;
  }

  rested(how: Rest): void {
    this.#rests.set(how, (this.#rests.get(how) ?? 0) + 1);
  }

  text(worker: string, now: { readonly running: number; readonly room: number }): string {
    const label = `worker=${JSON.stringify(worker)}`;
    const lines = [
      "# HELP rath_worker_running Sessions that run here.",
      "# TYPE rath_worker_running gauge",
      `rath_worker_running{${label}} ${now.running}`,
      "# HELP rath_worker_concurrency Sessions that can run here at a time.",
      "# TYPE rath_worker_concurrency gauge",
      `rath_worker_concurrency{${label}} ${now.room}`,
      "# HELP rath_worker_taken_total Times that this worker took a session.",
      "# TYPE rath_worker_taken_total counter",
      `rath_worker_taken_total{${label}} ${this.#taken}`,
      "# HELP rath_worker_age_seconds_total Seconds from submission to each taking, in sum.",
      "# TYPE rath_worker_age_seconds_total counter",
      `rath_worker_age_seconds_total{${label}} ${this.#waited.toFixed(3)}`,
      "# HELP rath_worker_rested_total Times that a session came to rest here, by how.",
      "# TYPE rath_worker_rested_total counter",
      ...RESTS.map((how) => `rath_worker_rested_total{${label},how="${how}"} ${this.#rests.get(how) ?? 0}`),
    ];
    return `${lines.join("\n")}\n`;
  }
}
