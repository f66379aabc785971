import { showValue } from "../../util/index.js";
import { type refusing, requireOptions } from "../../workflow/index.js";
import { McpOptionError } from "./error.js";
import { type Authorization, type Values, valuesOf } from "./http.js";
import type { Command } from "./stdio.js";

/** A server that is started as a process. Values of `env` may be functions; they are never recorded. */
export type CommandPeer = {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  /** Beside the few variables that a program needs to run at all. */
  readonly env?: Values;
  readonly cwd?: string;
};

/** A server at an address. Values of `headers` may be functions; they are never recorded. */
export type AddressPeer = {
  readonly name: string;
  readonly url: string | URL;
  readonly headers?: Values;
  /** For a server that asks for leave by OAuth. */
  readonly auth?: Authorization;
};

export type Peer = CommandPeer | AddressPeer;

/**
 * Refuses a peer that is not a server.
 * @param options the names of the options, which are given beside the peer
 */
export function checkPeer(peer: Peer, options: readonly string[]): void {
  const { name } = (peer ?? {}) as Partial<Peer>;
  const refuse = (reason: string, hint: string): Error => new McpOptionError(String(name), reason, hint);
  if (typeof peer !== "object" || peer === null)
    throw refuse(`it is ${showValue(peer)}, not an object`, EXAMPLE);
  if (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,32}$/.test(name))
    throw refuse(
      "its name is not 1 to 32 of a-z, A-Z, 0-9, _ and -",
      'name: "files": the names of its tools begin with it',
    );
  const misplaced = Object.keys(peer).find((field) => options.includes(field));
  if (misplaced !== undefined)
    throw refuse(
      `\`${misplaced}\` is an option, and not of the server`,
      `give it as the second argument: mcp({ name: ${JSON.stringify(name)}, … }, { ${misplaced}: … })`,
    );
  if ("url" in peer) {
    requireOptions(peer, refuse, EXAMPLE, { name: true, url: true, headers: true, auth: true });
    checkAddress(peer, refuse);
    checkValues(peer.headers, "headers", refuse);
    checkAuthorization(peer.auth, refuse);
    return;
  }
  requireOptions(peer, refuse, EXAMPLE, { name: true, command: true, args: true, env: true, cwd: true });
  const { command, args = [], env, cwd } = peer;
  if (typeof command !== "string" || command === "")
    throw refuse("it has neither a command nor a url", EXAMPLE);
  if (!Array.isArray(args) || !args.every((one) => typeof one === "string"))
    throw refuse("its `args` are not a list of texts", EXAMPLE);
  if (cwd !== undefined && typeof cwd !== "string") throw refuse("its `cwd` must be a path", 'cwd: "/srv"');
  checkValues(env, "env", refuse);
}

/** The command with the values of its environment, as they are now. */
export async function commandOf({ command, args = [], env = {}, cwd }: CommandPeer): Promise<Command> {
  return { command, args, env: await valuesOf(env), cwd };
}

const EXAMPLE =
  'mcp({ name: "files", command: "npx", args: ["server"] }), or mcp({ name: "files", url: "https://example.com/mcp" })';

function checkAddress({ url }: AddressPeer, refuse: ReturnType<typeof refusing>): void {
  let protocol: string | undefined;
  try {
    ({ protocol } = new URL(url));
  } catch {
    // Said below.
  }
  if (protocol !== "http:" && protocol !== "https:")
    throw refuse(
      `${showValue(String(url))} is not the address of a web server`,
      'url: "https://example.com/mcp"',
    );
}

function checkAuthorization(auth: Authorization | undefined, refuse: ReturnType<typeof refusing>): void {
  if (auth === undefined) return;
  requireOptions(auth, refuse, "auth: { provider }", { provider: true, callback: true });
  const { provider, callback } = auth;
  if (typeof provider?.tokens !== "function" || (callback !== undefined && typeof callback !== "function"))
    throw refuse(
      "its `auth` needs a provider, and its callback must be a function",
      "auth: { provider, callback }",
    );
}

function checkValues(values: unknown, what: string, refuse: ReturnType<typeof refusing>): void {
  if (values === undefined) return;
  const fits =
    typeof values === "object" &&
    values !== null &&
    Object.values(values).every((value) => typeof value === "string" || typeof value === "function");
  if (!fits)
    throw refuse(
      `its \`${what}\` are not names with texts or functions`,
      `${what}: { TOKEN: () => process.env.TOKEN ?? "" }`,
    );
}
