import {
  type Module,
  type RathOptions,
  RefusedError,
  requireKnown,
  requireModule,
} from "../runtime/index.js";
import type { Needs } from "../runtime/submit/index.js";
import type { Store } from "../store/index.js";
import { isObject, isText, optionNames, showValue } from "../util/index.js";
import { type Engine, local } from "./engine.js";
import type { Meter } from "./metrics.js";

export type WorkerOptions = {
  /** The store that the workers share, or its URL. Default: that of the command `rath`. */
  readonly store?: Store | string;
  /** The modules that it can run. A session is taken only where its module is the same, by its digest. */
  readonly modules: { readonly [name: string]: Module };
  /** Sessions at a time. Default: 16. */
  readonly concurrency?: number;
  /** The queues that it serves. Default: all of them. */
  readonly queues?: readonly string[];
  /** Kinds of sandboxes, as in `openRath`; sessions that need one of these kinds come here. */
  readonly sandboxes?: RathOptions["sandboxes"];
  /** The properties that sessions can need: more kinds of sandboxes, labels such as "gpu", and mebibytes of memory in all. */
  readonly offers?: Needs;
  /** Decides which worker hears of a session that is due, such as `restate()`. Default: the store itself. */
  readonly engine?: Engine;
  /** Policies, prices, secrets and budgets of its runs. */
  readonly options?: Omit<RathOptions, "store" | "sandboxes">;
  /** A port on the loopback address for `/health` and `/metrics`; 0 chooses a free one. Default: none. */
  readonly port?: number;
  /** A meter of OpenTelemetry that observes the counts of this worker: `metrics.getMeter("openrath")`. Default: none. */
  readonly meter?: Meter;
  /** Milliseconds that `drain` waits for running effects. Default: 30,000. */
  readonly grace?: number;
};

/** Options as a worker uses them. */
export type Checked = Required<
  Pick<WorkerOptions, "concurrency" | "modules" | "engine" | "offers" | "options">
> &
  Pick<WorkerOptions, "queues"> & {
    readonly sandboxes: NonNullable<WorkerOptions["sandboxes"]>;
    readonly grace: number;
    /** Somebody asked this worker to leave. */
    readonly drained: () => void;
  };

const OPTIONS = optionNames<WorkerOptions>()(
  "store modules concurrency queues sandboxes offers engine options port meter grace",
);

export function checked(given: WorkerOptions, drained: () => void): Checked {
  const use = "start a worker";
  requireKnown(given, OPTIONS, use);
  const {
    modules,
    concurrency = 16,
    queues,
    sandboxes = {},
    offers = {},
    engine = local,
    options = {},
  } = given;
  const { port = 0, meter, grace = 30_000 } = given;
  const refuse = (reason: string, hint: string): never => {
    throw new RefusedError(use, reason, hint);
  };
  if (!isObject(modules) || Object.keys(modules).length === 0)
    refuse(
      `\`modules\` is ${showValue(modules)}`,
      "give the modules that it can run: worker({ modules: { clerk } })",
    );
  for (const module of Object.values(modules)) requireModule(module, use);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    refuse(`\`concurrency\` is ${showValue(concurrency)}`, "give a whole number of at least 1");
  if (queues !== undefined && !(Array.isArray(queues) && queues.length > 0 && queues.every(isText)))
    refuse(`\`queues\` is ${showValue(queues)}`, 'list the names of queues: queues: ["default"]');
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    refuse(`\`port\` is ${showValue(port)}`, "give a port from 0 to 65535; 0 chooses a free one");
  if (!(Number.isFinite(grace) && grace >= 0))
    refuse(`\`grace\` is ${showValue(grace)}`, "give milliseconds: grace: 30_000");
  if (meter !== undefined && typeof meter?.createObservableGauge !== "function")
    refuse(
      `\`meter\` is ${showValue(meter)}`,
      'give a meter of @opentelemetry/api: metrics.getMeter("openrath")',
    );
  if (typeof engine?.connect !== "function")
    refuse(`\`engine\` is ${showValue(engine)}`, "leave it out, or give an engine: engine: restate()");
  // A runtime has one kind on any machine.
  const kinds = [...Object.keys(sandboxes), ...(offers.sandboxes ?? []), "virtual"];
  return {
    modules,
    concurrency,
    ...(queues && { queues }),
    sandboxes,
    offers: { ...offers, sandboxes: [...new Set(kinds)] },
    engine,
    options,
    grace,
    drained,
  };
}
