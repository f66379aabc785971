import type { FactId, FactInput, FactOf, Json, Principal } from "../../session/index.js";
import { mayAgree, visible } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { ConflictError } from "../../store/index.js";
import { compareText, defined } from "../../util/index.js";
import { AnswerError } from "../error.js";
import { type Always, callerOf, delegationOf, type StandingApproval, standingIn } from "../policy/index.js";
import { answerName, STANDING, standingName } from "../run/names.js";
import { factAt, nameOf, recordedRun } from "../tape/recorded.js";
import type { Decision } from "./people.js";

/** A standing approval as its givers see it. */
export type GivenApproval = {
  readonly id: FactId;
  /** The session in which it was given, by the name of its run. */
  readonly session: string;
  readonly by: Principal;
  readonly at: string;
  readonly why?: string;
  /** The calls that it covers: the same call again, or every call of the tool. */
  readonly always: Always;
  /** The tool or step, who calls it, and on whose behalf. */
  readonly what: string;
  readonly caller: Principal;
  readonly for: readonly Principal[];
  /** The call that was shown. */
  readonly shown: Json;
  readonly rule?: string;
  /** It lapses then. */
  readonly expires?: string;
  /** Its revocation. Later calls ask again. */
  readonly revoked?: { readonly by: Principal; readonly at: string; readonly why?: string };
};

/**
 * The standing approvals that were given in a store, or those that a session has, oldest first; revoked ones too. One that no
 * run has taken in yet belongs to the session that it answers.
 */
export async function standingApprovals(store: Store, nameOrId?: string): Promise<readonly GivenApproval[]> {
  const given = await store.names({ under: STANDING });
  if (given.length === 0 && nameOrId === undefined) return [];
  const wanted = nameOrId === undefined ? undefined : await idsIn(store, nameOrId, given.length > 0);
  const all: GivenApproval[] = [];
  for (const { name, id: newest } of given) {
    const id = name.slice(STANDING.length);
    if (wanted !== undefined && !wanted.has(id)) continue;
    const found = await describe(store, id, newest);
    if (found !== undefined) all.push(found);
  }
  return all.sort((one, other) => compareText(one.at, other.at));
}

/** The standing approvals of a session, and the answers that its runs have not taken in. */
async function idsIn(store: Store, nameOrId: string, any: boolean): Promise<ReadonlySet<FactId>> {
  const run = await recordedRun(store, nameOrId);
  const heads = run === undefined || run.over ? [await store.resolve(nameOrId)] : run.leaves;
  const ids = new Set<FactId>();
  if (!any) return ids;
  for (const head of heads) {
    const session = await store.load(head, { fetch: true });
    for (const { id } of standingIn(session)) ids.add(id);
    for (const { id } of run === undefined ? [] : session.pending) {
      const answer = await store.head(answerName(run?.nonce ?? "", id));
      if (answer !== undefined) ids.add(answer);
    }
  }
  return ids;
}

async function describe(store: Store, id: FactId, newest: FactId): Promise<GivenApproval | undefined> {
  const { fact, soleParent: asked } = await store.load(id, { fetch: true });
  if (fact.type !== "approval-give" || fact.always === undefined || asked === undefined) return undefined;
  const ask = asked.fact as FactOf<"approval-ask">;
  const call = ask.of === undefined ? undefined : await store.load(ask.of, { fetch: true });
  if (call === undefined) return undefined;
  const run = await recordedRun(store, asked.id);
  const { by, at, why, always } = fact;
  const { rule, expires } = ask;
  const revocation = newest === id ? undefined : (await store.load(newest)).fact;
  const texts = visible(
    defined({ why, rule, shown: ask.what, what: (call.fact as { readonly name?: string }).name ?? "" }),
  ) as Pick<GivenApproval, "why" | "rule" | "shown" | "what">;
  return {
    id,
    session: run === undefined ? "" : nameOf(run),
    by,
    at,
    always,
    caller: call.fact.by,
    for: delegationOf(call),
    ...defined({ expires }),
    ...texts,
    ...(revocation?.type === "approval-give" && {
      revoked: { by: revocation.by, at: revocation.at, ...defined({ why: revocation.why }) },
    }),
  };
}

/** The standing approvals that hold for the tool and the caller of a question, so that its approver knows of them. */
export async function standingFor(
  store: Store,
  question: FactId,
): Promise<{ readonly standing?: readonly Pick<StandingApproval, "id" | "by" | "always">[] }> {
  if ((await store.names({ under: STANDING })).length === 0) return {};
  const asked = await store.load(question, { fetch: true });
  const { of } = asked.fact as FactOf<"approval-ask">;
  const caller = of === undefined ? undefined : callerOf(await store.load(of, { fetch: true }));
  const held: Pick<StandingApproval, "id" | "by" | "always">[] = [];
  for (const one of standingIn(asked)) {
    const { id, by, always } = one;
    if (one.caller === caller && (await store.head(standingName(id))) === id) held.push({ id, by, always });
  }
  return held.length === 0 ? {} : { standing: held };
}

/**
 * Revokes a standing approval: appends a rejection to it, so that the record keeps both. Calls that have relied on it stay as they
 * are; later ones ask again, also in a run that is under way.
 */
export async function revokeStanding(
  store: Store,
  nameOrId: string,
  decision: Decision & { readonly approval: FactId; readonly now: number },
  conceal: (fact: FactInput) => FactInput,
): Promise<FactId> {
  const { by, approval, why = "the standing approval was revoked", now } = decision;
  const refused = (reason: string, hint: string) => new AnswerError(reason, hint, { by, approval });
  const given = await standingApprovals(store, nameOrId);
  const found = given.filter(({ id }) => approval !== "" && id.startsWith(approval));
  const [only] = found;
  if (only === undefined || found.length > 1)
    throw refused(
      `${found.length === 0 ? "no" : found.length} standing approvals of ${JSON.stringify(nameOrId)} begin with ${JSON.stringify(approval)}`,
      `list the standing approvals: await rath.approvals(${JSON.stringify(nameOrId)})`,
    );
  const session = await store.load(only.id, { fetch: true });
  const { digest, of } = session.fact as FactOf<"approval-give">;
  const ask = (await factAt(store, of)) as FactOf<"approval-ask">;
  if (by !== only.by && !mayAgree(ask, by))
    throw refused(`${String(by)} may not revoke it`, `${only.by} can, or another of its approvers`);
  const gone = () => refused("it was revoked already", "nothing is left to do");
  if (only.revoked !== undefined) throw gone();
  const at = new Date(now).toISOString();
  const revocation = session.append(
    conceal({ type: "approval-give", of, decision: "reject", digest, by, why, at }),
  );
  await store.save(revocation, { name: standingName(only.id), expect: only.id }).catch((error: unknown) => {
    throw error instanceof ConflictError ? gone() : error;
  });
  return revocation.id;
}
