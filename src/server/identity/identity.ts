import type { Principal } from "../../session/index.js";
import type { Role } from "../contract/route.js";

/** Roles for the sessions whose names fit `under`: a name, or the beginning of names and "*". */
export type Grant = { readonly roles: readonly Role[]; readonly under: string };

/** A verified person or service, and what they may do. */
export type Identity = {
  readonly principal: Principal;
  readonly grants: readonly Grant[];
  readonly via: "token" | "oidc" | "single" | "cookie";
  /** The one person of single-user mode, proved as such: a token of somebody of that name is not. */
  readonly isOwner?: true;
};

/** Whether somebody has a role for a name. Each role includes "view". */
export function may({ grants }: Identity, role: Role, name: string): boolean {
  return grants.some((grant) => (role === "view" || grant.roles.includes(role)) && covers(grant.under, name));
}

/** Whether somebody has a role for every session, also for those without a name. */
export function mayAll({ grants }: Identity, role: Role): boolean {
  return grants.some(({ roles, under }) => (role === "view" || roles.includes(role)) && under === EVERYTHING);
}

/** Whether somebody may view anything under a prefix. */
export function prefixesOf({ grants }: Identity): readonly string[] {
  return grants.map(({ under }) => under);
}

export const EVERYTHING = "*";

function covers(under: string, name: string): boolean {
  return under.endsWith("*") ? name.startsWith(under.slice(0, -1)) : name === under;
}
