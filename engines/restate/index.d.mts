import type { Engine } from "openrath/cluster";

export type RestateOptions = {
  /**
   * The URL that gets the wakes. For a cluster, several: the first that answers is used. Default: RESTATE_INGRESS_URL, or
   * http://127.0.0.1:8080.
   */
  readonly ingress?: string | readonly string[];
  /** The URL at which workers register. For a cluster, several. Default: RESTATE_ADMIN_URL, or http://127.0.0.1:9070. */
  readonly admin?: string | readonly string[];
  /** The address of this machine for Restate and the other workers. Default: RESTATE_WORKER_HOST, or 127.0.0.1. */
  readonly host?: string;
  /** The port at that address. Default: RESTATE_WORKER_PORT, or a free one. */
  readonly port?: number;
};

/** Lets Restate decide which worker takes which session: `worker({ engine: restate() })`. */
export default function restate(options?: RestateOptions): Engine;
