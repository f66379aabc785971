import type { Engine } from "openrath/cluster";

export type RestateOptions = {
  /** Where wakes are sent. Several for a cluster: the first that answers. Default: RESTATE_INGRESS_URL, or http://127.0.0.1:8080. */
  readonly ingress?: string | readonly string[];
  /** Where workers make themselves known. Default: RESTATE_ADMIN_URL, or http://127.0.0.1:9070. */
  readonly admin?: string | readonly string[];
  /** The address of this machine for Restate and the other workers. Default: RESTATE_WORKER_HOST, or 127.0.0.1. */
  readonly host?: string;
  /** The port there. Default: RESTATE_WORKER_PORT, or any that is free. */
  readonly port?: number;
};

/** Lets Restate decide which worker takes which session: `worker({ engine: restate() })`. */
export default function restate(options?: RestateOptions): Engine;
