import { isDead } from "../../store/index.js";
import type { SandboxRef } from "../spec.js";
import { LABELS, labelled } from "./body.js";
import type { Engine } from "./engine.js";
import { made } from "./launch.js";
import { removeContainer } from "./retry.js";
import { statusOf } from "./status.js";

type Listed = {
  readonly Id: string;
  /** Seconds since 1970. */
  readonly Created: number;
  readonly State?: string;
  readonly Labels?: { readonly [name: string]: string } | null;
};

/** The sandboxes of an engine, of any process. */
export async function* inventory(engine: Engine): AsyncGenerator<SandboxRef, void, void> {
  for (const { Id, Labels } of await listed(engine, LABELS.id)) {
    const about = labelled(Labels ?? {});
    // Removed since the list was made.
    const inspected = about === undefined ? undefined : await made(engine, Id);
    if (about === undefined || inspected === undefined) continue;
    const native = { container: Id, engine: engine.about.name, version: engine.about.version };
    yield Object.freeze({ ...about, native, status: statusOf(inspected.State) });
  }
}

/**
 * Removes what nobody owns: sandboxes whose process has certainly ended, unless they were given a time of their
 * own that is not over. What another process of this machine or elsewhere may still use is left alone. How many it was.
 */
export async function sweep(engine: Engine): Promise<number> {
  let removed = 0;
  for (const { Id, Labels, Created, State } of await listed(engine, LABELS.owner)) {
    if (!isDead(Labels?.[LABELS.owner] ?? "")) continue;
    const { ttl, onExpire = "delete" } = labelled(Labels ?? {})?.spec ?? {};
    if (ttl !== undefined && Date.now() < Created * 1000 + ttl) continue;
    if (ttl !== undefined && onExpire === "retain") continue;
    if (ttl !== undefined && onExpire === "suspend") {
      if (State === "running") await engine.json("POST", `/containers/${Id}/pause`).catch(() => {});
      continue;
    }
    // Another process may be sweeping too.
    await removeContainer(engine, Id).then(
      () => {
        removed += 1;
      },
      () => {},
    );
  }
  return removed;
}

async function listed(engine: Engine, label: string): Promise<readonly Listed[]> {
  const filters = encodeURIComponent(JSON.stringify({ label: [label] }));
  return engine.json<readonly Listed[]>("GET", "/containers/json", { query: { all: "true", filters } });
}
