import type { FactId } from "../../session/index.js";
import { type Call, factWithin, forbidden } from "../call.js";
import type { Role } from "../contract/route.js";
import { type Identity, mayAll } from "../identity/identity.js";

/** The session of a call as pages name it: its graph is the same whatever point of it is asked about. */
export function refOf({ session }: Pick<Call, "session">): string {
  return session.name ?? session.id;
}

/** The fact that an answer is as of: the one that was asked for, or where `~3` or `@branch` leads; undefined for the newest. */
export async function headOf(
  call: Pick<Call, "store" | "identity" | "session">,
  head: string | undefined,
): Promise<FactId | undefined> {
  if (head !== undefined) return factWithin(call, head);
  const { store, session } = call;
  const { name, id } = session;
  return name === undefined || (await store.head(name)) === id ? undefined : id;
}

/** The names that lists hold for somebody, as catalogues take them; undefined for all. */
export function within(identity: Identity): { readonly within?: readonly string[] } {
  return mayAll(identity, "view") ? {} : { within: identity.grants.map(({ under }) => under) };
}

/** Refuses those who see only some sessions an answer that is made of all of them. */
export function requireAll(identity: Identity, role: Role): void {
  if (!mayAll(identity, role)) throw forbidden(identity, role);
}
