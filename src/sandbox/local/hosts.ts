import { lookup } from "node:dns/promises";
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import { SandboxSpecError } from "../error.js";

/**
 * The hosts that a sandbox may speak with. A pattern is a name ("example.com": that name alone), all names below one
 * ("*.example.com", not itself), or an address ("127.0.0.1:8080", "[::1]:8080"). With a port, that port; without, 80 and 443.
 *
 * A name must lead to a public address. A private address (loopback, the local network, metadata services) is reached only
 * where somebody has written exactly that: an address, or "localhost"; or where the proxy was told that names may lead there.
 */
export class Hosts {
  readonly #rules: readonly Rule[];
  readonly #private: boolean;

  constructor(patterns: readonly string[], options: { readonly private?: boolean } = {}) {
    this.#rules = patterns.map(ruleOf);
    this.#private = options.private ?? false;
  }

  /** Whether a name or an address may be asked for at a port, and which of the addresses it leads to may be used. */
  allows({ host, port }: Target): undefined | ((address: string) => boolean) {
    const rules = this.#rules.filter(
      (rule) => matches(rule, host) && (rule.port === undefined ? USUAL.includes(port) : rule.port === port),
    );
    if (rules.length === 0) return undefined;
    if (isIP(host) !== 0) return (address) => address === host;
    if (host === LOCALHOST) return isLoopback;
    return this.#private ? () => true : isPublic;
  }
}

/** Where somebody wants to go: a name in lower case without a dot at its end, or an address; never in brackets. */
export type Target = { readonly host: string; readonly port: number };

type Rule = { readonly name: string; readonly below: boolean; readonly port: number | undefined };

const USUAL = [80, 443];
export const LOCALHOST = "localhost";

/** Where "host:port" leads, or undefined. Other spellings of an address ("0x7f.1") mean that address. */
export function targetOf(authority: string, usual?: number): Target | undefined {
  const found = /^(?:\[([0-9A-Fa-f:.]+)\]|([^[\]:/?#@\\%\s]{1,254}))(?::(\d{1,5}))?$/.exec(authority);
  if (found === null) return undefined;
  const [, bracketed, plain, digits] = found;
  const port = digits === undefined ? usual : Number(digits);
  if (port === undefined || port < 1 || port > 65_535) return undefined;
  let host: string;
  try {
    host = new URL(`http://${bracketed === undefined ? plain : `[${bracketed}]`}/`).hostname;
  } catch {
    return undefined;
  }
  host = host.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (isIP(host) === 0 && !NAME.test(host)) return undefined;
  return { host, port };
}

const NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

/** Whether an address is one of the internet: the kind that everybody can reach, and nothing that is special. */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !SPECIAL.check(address, "ipv4");
  // All that is public begins like this. Other beginnings hold addresses of version 4 in disguise, too.
  return (
    isIPv6(address) &&
    !address.includes("%") &&
    GLOBAL.check(address, "ipv6") &&
    !SPECIAL_6.check(address, "ipv6")
  );
}

function isLoopback(address: string): boolean {
  return address === "::1" || (isIPv4(address) && address.startsWith("127."));
}

// Three lists, because one list takes addresses of version 4 for their form in version 6.
const SPECIAL = listOf("ipv4", [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...[
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
  ],
  ...["192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
  // Public by its number, yet it is a cloud's own service for the machines in it.
  "168.63.129.16/32",
]);
const GLOBAL = listOf("ipv6", ["2000::/3"]);
const SPECIAL_6 = listOf("ipv6", ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]);

function listOf(family: "ipv4" | "ipv6", networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

function ruleOf(pattern: string): Rule {
  const below = pattern.startsWith("*.");
  const text = below ? pattern.slice(2) : pattern;
  const port = /:(\d+)$/.exec(text.replace(/^\[.*\]/, ""))?.[1];
  const target = targetOf(text, 443);
  const refuse = (reason: string) =>
    new SandboxSpecError(
      "network.hosts",
      `${JSON.stringify(pattern)} ${reason}`,
      'name hosts like these: "example.com", "*.example.com", "example.com:8443", "127.0.0.1:8080"',
      { pattern },
    );
  if (target === undefined) throw refuse("is neither a host name nor an address");
  const { host } = target;
  if (isIP(host) !== 0 && below) throw refuse("asks for names below an address");
  // Anyone who lists an address should see which.
  if (isIPv4(host) && !text.startsWith(host)) throw refuse(`is the address ${host} in other words`);
  return { name: host, below, port: port === undefined ? undefined : Number(port) };
}

function matches({ name, below }: Rule, host: string): boolean {
  return below ? host.endsWith(`.${name}`) && isIP(host) === 0 : host === name;
}

/** Finds the addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** How long a name may take. */
const PATIENCE = 10_000;
/** Each takes one of the few threads that Node has for files too; names that nobody answers for must not take all. */
const AT_ONCE = 2;

let under = 0;
const waiting: (() => void)[] = [];

/** The addresses of a name as the host's system finds them. Addresses are themselves, and localhost needs nobody to ask. */
export async function resolve(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  if (host === LOCALHOST || host.endsWith(`.${LOCALHOST}`)) return ["127.0.0.1", "::1"];
  const asked = ask(host);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nobody has told where ${host} is`)), PATIENCE);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function ask(host: string): Promise<readonly string[]> {
  if (under >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else under += 1;
  try {
    return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
  } finally {
    const next = waiting.shift();
    if (next === undefined) under -= 1;
    else next();
  }
}
