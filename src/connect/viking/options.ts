import { MemoryRefusedError } from "../../memory/index.js";
import { defined, optionNames, showValue } from "../../util/index.js";
import { requireMilliseconds, requireOptions } from "../../workflow/index.js";
import { type VikingAddress, vikingAddress } from "./address.js";

export type VikingOptions = {
  /** Where it answers. Default http://127.0.0.1:1933. */
  readonly url?: string;
  /** The name of the secret that is its key; never the key itself. */
  readonly key?: string;
  readonly account?: string;
  readonly user?: string;
  /** Milliseconds that one request may take. Default 30,000. */
  readonly timeout?: number;
  /** Bytes that one answer may have. Default 8 MB. */
  readonly maxAnswer?: number;
  /** The folder that memories are kept in. Default "viking://~/memories/openrath", or that of `user`. */
  readonly root?: string;
  /** Folders of others that are looked into as well. */
  readonly among?: readonly string[];
};

/** Options that were checked. */
export type VikingSettings = {
  readonly name: string;
  readonly url: string;
  readonly key: string | undefined;
  readonly headers: { readonly [name: string]: string };
  readonly timeout: number;
  readonly maxAnswer: number;
  readonly root: VikingAddress;
  readonly among: readonly VikingAddress[];
};

const OPTIONS = optionNames<VikingOptions>()("url key account user timeout maxAnswer root among");

const EXAMPLE = 'viking({ url: "http://127.0.0.1:1933", key: "OPENVIKING_KEY" })';
/** Names of accounts and users: what is one step of an address, and no more. */
const PLAIN = /^[\w.@-]{1,128}$/;

export function settingsOf(options: VikingOptions): VikingSettings {
  const refuse = (reason: string, hint: string): Error =>
    new MemoryRefusedError("option", "use OpenViking", reason, hint);
  requireOptions(options, refuse, EXAMPLE, OPTIONS);
  const { key, account, user, timeout = 30_000, maxAnswer = 8_000_000, among = [] } = options;
  const url = urlOf(options.url ?? "http://127.0.0.1:1933", refuse);
  if (key !== undefined && (typeof key !== "string" || key === ""))
    throw refuse(
      `its \`key\` is ${showValue(key)}`,
      'the name of a secret that the runtime has: key: "OPENVIKING_KEY"',
    );
  for (const [name, value] of Object.entries({ account, user }))
    if (value !== undefined && (typeof value !== "string" || !PLAIN.test(value) || /^\.+$/.test(value)))
      throw refuse(`its \`${name}\` is ${showValue(value)}`, `${name}: "ada"`);
  requireMilliseconds(timeout, "timeout", refuse);
  if (!Number.isSafeInteger(maxAnswer) || maxAnswer < 1_000)
    throw refuse(
      `its \`maxAnswer\` is ${showValue(maxAnswer)}, not a number of bytes from 1,000`,
      "maxAnswer: 8_000_000",
    );
  if (!Array.isArray(among))
    throw refuse("`among` must be a list of addresses", 'among: ["viking://resources"]');
  const home = user === undefined ? "viking://~" : `viking://user/${user}`;
  const root = vikingAddress(options.root ?? `${home}/memories/openrath`);
  if (root.path.length === 0)
    throw refuse(
      `its \`root\` is ${showValue(root.text)}, which is not only ours`,
      'root: "viking://~/memories/openrath"',
    );
  return {
    name: `openviking ${url}`,
    url,
    key,
    headers: {
      ...defined({ "X-OpenViking-Account": account, "X-OpenViking-User": user }),
    },
    timeout,
    maxAnswer,
    root,
    among: among.map((one) => vikingAddress(one)),
  };
}

/** Without a name or a password in it: it goes on the record with every reading. */
function urlOf(given: unknown, refuse: (reason: string, hint: string) => Error): string {
  const url = typeof given === "string" && URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw refuse("`url` must be the address of a web server", EXAMPLE);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw refuse(
      "`url` must have no credentials, query or fragment",
      `the key is a secret of the runtime: ${EXAMPLE}`,
    );
  return url.href.replace(/\/+$/, "");
}
