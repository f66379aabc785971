import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { LOCALHOST } from "./hosts.js";

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
