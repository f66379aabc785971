import { randomBytes, timingSafeEqual } from "node:crypto";
import { isPerson, type Principal } from "../../session/index.js";
import { isObject, optionNames } from "../../util/index.js";
import { requireOptions } from "../../workflow/index.js";
import { ROLES } from "../contract/route.js";
import { ServerError } from "../error.js";
import { EVERYTHING, type Identity } from "./identity.js";
import { Oidc, type OidcOptions } from "./oidc.js";
import { hashOf, Users } from "./users.js";

/** How people prove who they are. At least one way; several may be used side by side. */
export type AuthOptions = {
  /** The file of users and the hashes of their tokens, as `rath user add` writes it. */
  readonly users?: string;
  /** Bearer tokens of an OpenID Connect provider. */
  readonly oidc?: OidcOptions;
  /** One person who may do everything, for a server that only this machine reaches: "user:ada". */
  readonly single?: Principal;
};

const OPTIONS = optionNames<AuthOptions>()("users oidc single");

/** A cookie stands for a bearer token that was exchanged for it, and is worth as much as that token is at the time. */
type Ticket = { readonly bearer: string; readonly until: number };

const COOKIE_MS = 12 * 3_600_000;
const START_MS = 600_000;
/** Cookies and start tokens that are remembered; the oldest goes first. */
const MOST = 10_000;

/** Finds out who sent a request. */
export class Auth {
  /** The bearer token of single-user mode. */
  readonly token: string | undefined;
  readonly #single: Identity | undefined;
  readonly #users: Users | undefined;
  readonly #oidc: Oidc | undefined;
  /** Cookies do not know ports: servers of one machine need names of their own. */
  readonly #cookie = `rath_${randomBytes(6).toString("hex")}`;
  readonly #cookies = new Map<string, Ticket>();
  readonly #starts = new Map<string, Ticket>();

  constructor(options: AuthOptions) {
    const refuse = (reason: string, hint: string) => new ServerError(reason, hint);
    const example = 'server(rath, { auth: { users: "rath.db.users.json" } })';
    if (!isObject(options)) throw refuse("`auth` must be an object", example);
    requireOptions(options, refuse, example, OPTIONS);
    const { users, oidc, single } = options;
    if (users === undefined && oidc === undefined && single === undefined)
      throw refuse("`auth` names no way to know who sends a request", example);
    if (users !== undefined && typeof users !== "string")
      throw refuse("`users` must be the path of a file", example);
    if (single !== undefined && !(typeof single === "string" && isPerson(single)))
      throw refuse("`single` must be a person", 'auth: { single: "user:ada" }');
    this.#users = users === undefined ? undefined : new Users(users);
    this.#oidc = oidc === undefined ? undefined : new Oidc(oidc);
    if (single === undefined) return;
    this.token = `single_${randomBytes(32).toString("base64url")}`;
    const grants = [{ roles: ROLES, under: EVERYTHING }];
    this.#single = { principal: single, grants, via: "single", isOwner: true };
  }

  get isSingle(): boolean {
    return this.#single !== undefined;
  }

  /** Another one after each change of the users. */
  get version(): string {
    return this.#users?.version ?? "";
  }

  /** The sender of a request; undefined when nobody is proved. */
  async identify(request: Request): Promise<Identity | undefined> {
    const given = request.headers.get("authorization");
    if (given !== null) {
      const [, token] = /^Bearer ([\w.~+/=-]{1,8192})$/i.exec(given) ?? [];
      return token === undefined ? undefined : this.#bearer(token);
    }
    const ticket = this.#ticketIn(request);
    if (ticket === undefined) return undefined;
    const identity = await this.#bearer(ticket.bearer);
    return identity && { ...identity, via: "cookie" };
  }

  /** A token that can be exchanged for a cookie once, within ten minutes: for the fragment of a link. */
  start(bearer = this.token): string {
    if (bearer === undefined)
      throw new ServerError(
        "a start link is for one person",
        'start the server for one person: auth: { single: "user:ada" }',
      );
    return remember(this.#starts, `start_${randomBytes(32).toString("base64url")}`, bearer, START_MS);
  }

  /** Exchanges a start token or a bearer token for a cookie; undefined for one that proves nobody. */
  async enter(
    token: string,
    isSecure = false,
  ): Promise<{ readonly cookie: string; readonly identity: Identity } | undefined> {
    const start = this.#starts.get(hashOf(token));
    this.#starts.delete(hashOf(token));
    const bearer = start !== undefined && start.until > Date.now() ? start.bearer : token;
    const identity = await this.#bearer(bearer);
    if (identity === undefined) return undefined;
    const secret = remember(this.#cookies, randomBytes(32).toString("base64url"), bearer, COOKIE_MS);
    return {
      identity: { ...identity, via: "cookie" },
      cookie: this.#cookieText(secret, COOKIE_MS / 1000, isSecure),
    };
  }

  /** Ends the cookie of a request, and gives the one that takes it away. */
  leave(request: Request): string {
    for (const secret of this.#secretsIn(request)) this.#cookies.delete(hashOf(secret));
    return this.#cookieText("", 0, isSecure(request));
  }

  #cookieText(secret: string, seconds: number, isSecure: boolean): string {
    return `${this.#cookie}=${secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}${isSecure ? "; Secure" : ""}`;
  }

  async #bearer(token: string): Promise<Identity | undefined> {
    if (this.token !== undefined && isSame(token, this.token)) return this.#single;
    const local = this.#users?.identify(token);
    if (local !== undefined || this.#oidc === undefined) return local;
    const foreign = await this.#oidc.identify(token);
    return foreign !== undefined && this.#isLocal(foreign.principal) ? undefined : foreign;
  }

  /** Whether a name is of a person of this server: a provider cannot speak for them. */
  #isLocal(principal: Principal): boolean {
    return (
      this.#single?.principal === principal ||
      this.#users?.tokens.some(({ name }) => `user:${name}` === principal) === true
    );
  }

  #ticketIn(request: Request): Ticket | undefined {
    const [secret, other] = this.#secretsIn(request);
    // Two of one name: one of them was put there by somebody else.
    if (secret === undefined || other !== undefined) return undefined;
    const ticket = this.#cookies.get(hashOf(secret));
    return ticket !== undefined && ticket.until > Date.now() ? ticket : undefined;
  }

  #secretsIn(request: Request): readonly string[] {
    const start = `${this.#cookie}=`;
    return (request.headers.get("cookie") ?? "")
      .split(/;\s*/)
      .flatMap((pair) => (pair.startsWith(start) ? [pair.slice(start.length)] : []));
  }
}

/** Whether a browser reached the server by https, also where a proxy speaks http with it. */
export function isSecure(request: Request): boolean {
  const origin = request.headers.get("origin") ?? request.url;
  return origin.startsWith("https:");
}

/** Keeps a ticket under the hash of its secret, so that looking it up takes as long for a near guess as for any other. */
function remember(tickets: Map<string, Ticket>, secret: string, bearer: string, ms: number): string {
  const now = Date.now();
  for (const [oldest, { until }] of tickets) {
    if (until > now && tickets.size < MOST) break;
    tickets.delete(oldest);
  }
  tickets.set(hashOf(secret), { bearer, until: now + ms });
  return secret;
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(hashOf(one)), Buffer.from(hashOf(other)));
}
