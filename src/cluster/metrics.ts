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

/** The part of an OpenTelemetry meter that a worker uses: `metrics.getMeter("openrath")` gives one. */
export interface Meter {
  createObservableGauge(name: string, options: { readonly description: string }): Instrument;
  createObservableCounter(name: string, options: { readonly description: string }): Instrument;
}
type Instrument = {
  addCallback(callback: Observe): void;
  removeCallback(callback: Observe): void;
};
type Observe = (result: {
  observe(value: number, attributes: { readonly [name: string]: string }): void;
}) => void;

type State = { readonly worker: string; readonly running: number; readonly room: number };
type Metric = {
  /** As OpenTelemetry writes it. Prometheus has `_` for `.`, and `_total` at the end of a counter. */
  readonly name: string;
  readonly help: string;
  readonly kind: "gauge" | "counter";
  readonly values: (state: State) => readonly (readonly [value: number, how?: Rest])[];
};

/** The counts of a worker since it started, for Prometheus and OpenTelemetry. */
export class Metrics {
  readonly #rests = new Map<Rest, number>();
  #taken = 0;
  #waited = 0;

  readonly #all: readonly Metric[] = [
    {
      name: "rath.worker.running",
      help: "Sessions that run here.",
      kind: "gauge",
      values: ({ running }) => [[running]],
    },
    {
      name: "rath.worker.concurrency",
      help: "Sessions that can run here at a time.",
      kind: "gauge",
      values: ({ room }) => [[room]],
    },
    {
      name: "rath.worker.taken",
      help: "Times that this worker took a session.",
      kind: "counter",
      values: () => [[this.#taken]],
    },
    {
      name: "rath.worker.age_seconds",
      help: "Seconds from submission to each taking, in sum.",
      kind: "counter",
      values: () => [[this.#waited]],
    },
    {
      name: "rath.worker.rested",
      help: "Times that a session came to rest here, by how.",
      kind: "counter",
      values: () => RESTS.map((how) => [this.#rests.get(how) ?? 0, how]),
    },
  ];

  /** @param waited milliseconds since the session was submitted */
  taken(waited: number): void {
    this.#taken += 1;
    this.#waited += waited / 1_000;
  }

  rested(how: Rest): void {
    this.#rests.set(how, (this.#rests.get(how) ?? 0) + 1);
  }

  /** The text that Prometheus reads. */
  text(state: State): string {
    const lines = this.#all.flatMap(({ name, help, kind, values }) => {
      const told = name.replaceAll(".", "_") + (kind === "counter" ? "_total" : "");
      return [
        `# HELP ${told} ${help}`,
        `# TYPE ${told} ${kind}`,
        ...values(state).map(([value, how]) => {
          const labels = `worker=${JSON.stringify(state.worker)}${how === undefined ? "" : `,how="${how}"`}`;
          return `${told}{${labels}} ${Number(value.toFixed(3))}`;
        }),
      ];
    });
    return `${lines.join("\n")}\n`;
  }

  /** Shows the counts to a meter, until the returned function is called. */
  observedBy(meter: Meter, state: () => State): () => void {
    const ends = this.#all.map(({ name, help, kind, values }) => {
      const options = { description: help };
      const instrument =
        kind === "gauge"
          ? meter.createObservableGauge(name, options)
          : meter.createObservableCounter(name, options);
      const observe: Observe = (result) => {
        const now = state();
        for (const [value, how] of values(now))
          result.observe(value, { worker: now.worker, ...(how && { how }) });
      };
      instrument.addCallback(observe);
      return () => instrument.removeCallback(observe);
    });
    return () => {
      for (const end of ends) end();
    };
  }
}
