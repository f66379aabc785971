import type { Engine, EngineHost, Taken, Wake } from "openrath/cluster";

export type TemporalOptions = {
  /** The address of the server. Default: TEMPORAL_ADDRESS, or 127.0.0.1:7233. */
  readonly address?: string;
  /** Default: TEMPORAL_NAMESPACE, or default. */
  readonly namespace?: string;
  /** Default: TEMPORAL_API_KEY. A connection with a key is encrypted. */
  readonly apiKey?: string;
};

/** Lets Temporal decide which worker takes which session: `worker({ engine: temporal() })`. */
export default function temporal(options?: TemporalOptions): Engine;

/** The activities of a worker. */
export function activitiesOf(host: Pick<EngineHost, "take" | "rested">): {
  take(wake: Wake): Promise<Taken>;
};
