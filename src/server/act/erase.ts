import { createHash, randomBytes } from "node:crypto";
import { RequestError } from "../../connect/front/index.js";
import { eraseContent, findContent, floorOf, remainsOf } from "../../evidence/audit/index.js";
import { memory, revoke } from "../../memory/index.js";
import { canonical, type Json, type Principal } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { type Call, forbidden, type Handlers, placeOf, requireRole } from "../call.js";
import type { Routes } from "../contract/routes.js";
import { type Identity, may, mayAll } from "../identity/identity.js";

/** The content to erase. */
export type Wanted = {
  readonly about?: string;
  readonly by?: string;
  readonly digests?: readonly string[];
  readonly names?: readonly string[];
};

type Planned = {
  readonly principal: Principal;
  readonly what: Wanted;
  readonly why: string;
  readonly basis?: string;
  /** SHA-256 of the content that was shown. */
  readonly digest: string;
  readonly until: number;
};

/** Plans that wait to be confirmed, and for how long. */
const MOST = 1_000;
const MINUTES = 10;
/** Places that are told one by one. */
const TOLD = 200;

/** Erasures that were shown and wait to be confirmed by the person who saw them. */
export class Erasures {
  readonly #planned = new Map<string, Planned>();

  keep(plan: Omit<Planned, "until">): string {
    const token = randomBytes(24).toString("base64url");
    this.#planned.set(token, { ...plan, until: Date.now() + MINUTES * 60_000 });
    for (const [oldest] of this.#planned) {
      if (this.#planned.size <= MOST) break;
      this.#planned.delete(oldest);
    }
    return token;
  }

  /** Takes a plan, once. */
  take(token: string, principal: Principal): Planned {
    const plan = this.#planned.get(token);
    if (plan === undefined || plan.principal !== principal || plan.until < Date.now())
      throw new RequestError(
        409,
        "erase-unplanned",
        "This token belongs to no erasure that was shown to you.",
        {
          hint: 'request the preview first: POST /api/erase { "what": { "about": "…" }, "why": "…" }',
        },
      );
    this.#planned.delete(token);
    return plan;
  }
}

export const eraseHandlers: Pick<Handlers, "erase" | "revokeMemory"> = {
  erase: (call) => (call.body.token === undefined ? planned(call) : erased(call, call.body.token)),
  revokeMemory: async ({ store, identity, path, body }) => {
    const name = `memory/${path.space}`;
    requireRole(identity, "approve", name);
    if ((await store.head(name)) === undefined)
      throw new RequestError(404, "memory-unknown", "There is no such memory.", {
        hint: "list the memories: GET /api/memory/SPACE",
      });
    const by = identity.principal;
    const space = memory({ name: path.space, scope: "service:server" }).open(store);
    const { written, influence } = await revoke(space, path.id, { why: body.why, by });
    return {
      memory: written.memory,
      version: written.version,
      head: written.head,
      totals: influence.totals,
      sessions: influence.sessions.filter((one) => may(identity, "view", one.name)) as unknown as Json,
    };
  },
};

/** Shows what there is. Nothing is erased. */
async function planned(call: Call<Routes["erase"]>) {
  const { store, identity, body, acts } = call;
  const { what, why, basis } = body;
  if (what === undefined || why === undefined)
    throw new RequestError(400, "request-refused", "The request must say what to erase and why.", {
      hint: 'send { "what": { "about": "Ada Lovelace" }, "why": "request of 3 May" }, then { "token": … }',
    });
  const found = await search(store, identity, what);
  const floor = await floorOf(store, found.erasable);
  const digest = digestOf(found);
  const { principal } = identity;
  const token = acts.erasures.keep({ principal, what, why, digest, ...defined({ basis }) });
  const { erasable, fixed, more, names, files, gone, read, unsearched, runs } = found;
  const plan = {
    pieces: erasable.length,
    erasable: erasable.slice(0, TOLD),
    fixed: fixed.slice(0, TOLD),
    more: more + Math.max(0, fixed.length - TOLD),
    ...{ names, files, gone, read, unsearched, runs },
    ...(floor !== undefined && { floor: { until: floor.until, held: floor.held } }),
  };
  return { erased: false, plan: plan as unknown as Json, token };
}

/** Erases what was shown, if it is still that. */
async function erased({ store, identity, acts }: Call<Routes["erase"]>, token: string) {
  const { what, why, basis, digest } = acts.erasures.take(token, identity.principal);
  const found = await search(store, identity, what);
  if (digestOf(found) !== digest)
    throw new RequestError(409, "erase-moved", "The content to erase has changed since it was shown.", {
      hint: "request the preview again, and confirm it",
    });
  const report = await eraseContent(store, found, {
    why,
    by: identity.principal,
    ...defined({ basis, about: what.about }),
  });
  return {
    erased: true,
    pieces: report.erased.length,
    facts: [...new Set(report.erased.map(({ fact }) => fact))],
    refusals: report.refusals,
    remains: remainsOf(report),
    sound: report.check.findings.length === 0,
  };
}

/** Looks for content, in sessions that the caller may erase from. Content of other sessions too is not theirs to erase. */
async function search(store: Store, identity: Identity, { names, ...what }: Wanted) {
  if (names === undefined && !mayAll(identity, "erase")) throw forbidden(identity, "erase");
  for (const name of names ?? []) await placeOf(store, identity, "erase", name);
  const found = await findContent(store, { ...what, ...defined({ names }), limit: 10 * TOLD });
  for (const { sessions } of found.erasable)
    for (const name of sessions) if (!mayAll(identity, "erase")) requireRole(identity, "erase", name);
  return found;
}

function digestOf({ erasable }: Awaited<ReturnType<typeof search>>): string {
  const shown = erasable.map(({ digest, sessions }) => [digest, [...sessions].sort()]);
  return createHash("sha256")
    .update(canonical(shown.sort() as Json))
    .digest("hex");
}
