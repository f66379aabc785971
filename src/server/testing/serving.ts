import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import { serve } from "../../connect/front/index.js";
import { openRath, type Rath } from "../../runtime/index.js";
import { openStore, type Store } from "../../store/index.js";
import type { OidcOptions } from "../identity/oidc.js";
import { Users } from "../identity/users.js";
import { type Server, type ServerOptions, server } from "../server.js";

/** A folder that is gone when the test is over. */
export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "rath-server-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

type Approval = true | { readonly from: "user:bea" };

/** Pays after Bea agreed, or whoever else the terms name. */
export function clerk(approval?: Approval) {
  const model = scripted({ text: "I ask.", tools: [{ tool: "pay", input: { amount: 7 } }] }, "It is paid.");
  return payer(model, "clerk", approval);
}

export function payer(
  model: Parameters<typeof agent>[0]["model"],
  name = "payer",
  approval: Approval = { from: "user:bea" },
) {
  const pay = tool({
    name: "pay",
    description: "Pays an invoice.",
    input: { type: "object", properties: { amount: { type: "integer" } }, required: ["amount"] },
    effect: "write",
    approval,
    run: ({ amount }: { amount: number }) => ({ paid: amount }),
  });
  return agent({ name, model, tools: [pay] });
}

export type Serving = {
  readonly rath: Rath;
  readonly store: Store;
  readonly users: Users;
  readonly handler: Server;
  readonly url: string;
  /** A token of a person of that name, with these roles. */
  token(name: string, roles: readonly string[], under?: string): string;
};

/** A server at a free port over a new store, with users. */
export async function serving(
  options: Partial<ServerOptions> = {},
  {
    patience,
    url: storeUrl = "memory:",
    oidc,
  }: { readonly patience?: number; readonly url?: string; readonly oidc?: OidcOptions } = {},
): Promise<Serving> {
  const store = await openStore(storeUrl);
  const rath = openRath({ store });
  const users = new Users(join(folder(), "users.json"));
  const handler = server(rath, {
    modules: { clerk: clerk() },
    auth: { users: users.file, ...(oidc && { oidc }) },
    ...options,
  });
  const { url, close } = await serve(handler, patience === undefined ? {} : { patience });
  onTestFinished(async () => {
    handler.close();
    await close();
    await rath.close();
    await store.close();
  });
  return {
    rath,
    store,
    users,
    handler,
    url,
    token: (name, roles, under = "*") => users.add({ name, roles: roles as never, under }).token,
  };
}

/** Everything in a store that a request could have changed. */
export async function stateOf(store: Store): Promise<string> {
  const names = (await store.names()).map(({ name, id }) => `${name} ${id}`);
  return JSON.stringify([names, (await store.check()).facts]);
}
