import { type Check, checksFor, kindOf, shown } from "./check.js";
import { SandboxSpecError } from "./error.js";
import { type Capabilities, DEFAULT_LIMITS, type Limits, type Network, type SandboxSpec } from "./spec.js";

/** The frozen spec, or a `SandboxSpecError` for a bad setting or one that the provider cannot honour. */
export function checkSpec(spec: unknown, provider: string, capabilities?: Capabilities): SandboxSpec {
  const given =
    spec === undefined ? {} : recordOf("spec", spec, "give an object: { limits: { wall: 60_000 } }");
  requireKnown("", given, Object.keys(settings));
  const checked: { [setting: string]: unknown } = {};
  for (const [setting, value] of Object.entries(given))
    if (value !== undefined) checked[setting] = settings[setting as keyof SandboxSpec](setting, value);
  // A list of nothing excludes what no list excludes, and must not make other trees of the same files.
  if ((checked.exclude as readonly string[] | undefined)?.length === 0) delete checked.exclude;
  const result = checked as SandboxSpec;
  if (capabilities !== undefined) checkHonoured(result, provider, capabilities);
  return Object.freeze(result);
}

/** The limits of a spec, with the default where it says nothing. */
export function limitsOf(spec: SandboxSpec): Required<Limits> {
  return Object.freeze({ ...DEFAULT_LIMITS, ...spec.limits });
}

/** The variables of the secrets that a spec names, or a `SandboxSpecError` where nobody gave a value. */
export function secretsOf(
  spec: SandboxSpec,
  given: { readonly [name: string]: string } = {},
): { readonly [name: string]: string } {
  const found = (spec.secrets ?? []).map((name) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined)
      throw wrong("secrets", `nobody gave a value for ${name}`, `give it: secrets: { ${name}: … }`);
    return [name, value];
  });
  return Object.freeze(Object.fromEntries(found));
}

const wrong = (...given: ConstructorParameters<typeof SandboxSpecError>) => new SandboxSpecError(...given);
const { text, number, oneOf, listOf, recordOf, requireKnown } = checksFor(wrong);

function path(setting: string, value: unknown): string {
  return text(setting, value, 'give the path of a folder: "/home/me/project"');
}

const settings: { readonly [Setting in keyof Required<SandboxSpec>]: Check } = {
  workspace: path,
  exclude: listOf((setting, value) => text(setting, value, 'give globs: ["node_modules/**"]')),
  env: environment,
  secrets: listOf(variable),
  limits,
  network,
  readable: listOf((setting, value) => {
    const folder = path(setting, value);
    if (/^([/\\]|[A-Za-z]:[/\\])/.test(folder)) return folder;
    throw wrong(
      setting,
      `${shown(folder)} is not an absolute path`,
      'give the whole path: "/usr/share/data"',
    );
  }),
  image: (setting, value) => text(setting, value, 'give the name of an image: "debian:12"'),
  ttl: (setting, value) => number(setting, value, 1),
  onExpire: (setting, value) => oneOf(setting, value, ["suspend", "delete", "retain"]),
};

/** Refuses what is not a time that a sandbox may be given: one that ends at once would be its end. */
export function requireTime(milliseconds: unknown): void {
  number("ttl", milliseconds, 1);
}

/** Zero means that nothing of it is allowed, which for some limits no command could live with. */
const least: { readonly [Limit in keyof Required<Limits>]: number } = {
  wall: 1,
  memory: 1,
  pids: 1,
  cpu: 1,
  file: 0,
  disk: 0,
  output: 0,
  scratch: 0,
};

function limits(setting: string, value: unknown): Limits {
  const given = recordOf(setting, value, "give an object: { limits: { wall: 60_000 } }");
  requireKnown(`${setting}.`, given, Object.keys(least));
  const checked = Object.entries(given)
    .filter(([, amount]) => amount !== undefined)
    .map(([limit, amount]) => [limit, number(`${setting}.${limit}`, amount, least[limit as keyof Limits])]);
  return Object.freeze(Object.fromEntries(checked));
}

const modes = ["none", "allow", "full"] as const;

function network(setting: string, value: unknown): Network {
  const given = recordOf(setting, value, 'give a mode: { network: { mode: "none" } }');
  const mode = oneOf(`${setting}.mode`, given.mode, modes);
  requireKnown(`${setting}.`, given, ["mode", "hosts"]);
  if ("hosts" in given && mode !== "allow")
    throw wrong(`${setting}.hosts`, `the mode ${shown(mode)} has no hosts`, 'set mode: "allow"');
  if (mode !== "allow") return Object.freeze({ mode });
  return Object.freeze({ mode, hosts: listOf(host)(`${setting}.hosts`, given.hosts) as readonly string[] });
}

const label = "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?";
const hostPattern = new RegExp(
  `^(?:(?:\\*\\.)?${label}(?:\\.${label})*\\.?|\\[[0-9a-f:.]+\\])(?::(?<port>\\d{1,5}))?$`,
);

/** Names of hosts mean the same in capitals and without, so one form is kept. */
function host(setting: string, value: unknown): string {
  const hint = 'give names of hosts: "example.com", "*.example.com", "example.com:8443"';
  const pattern = text(setting, value, hint).toLowerCase();
  if (pattern === "*")
    throw wrong(setting, '"*" is every host', 'ask for that by name: network: { mode: "full" }');
  const match = hostPattern.exec(pattern);
  const port = match?.groups?.port;
  if (match === null || (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)))
    throw wrong(setting, `${shown(value)} names no host`, hint);
  return pattern;
}

function environment(setting: string, value: unknown): { readonly [name: string]: string } {
  const given = recordOf(setting, value, 'give names and values: { env: { LANG: "C" } }');
  const checked = Object.entries(given).map(([name, content]) => {
    variable(`${setting}.${name}`, name);
    if (typeof content !== "string" || content.includes("\0"))
      throw wrong(
        `${setting}.${name}`,
        typeof content === "string" ? "it holds a NUL character" : `it is ${kindOf(content)}, not a text`,
        `write it as a text: ${name}: ${shown(String(content).replaceAll("\0", ""))}`,
      );
    return [name, content];
  });
  return Object.freeze(Object.fromEntries(checked));
}

function variable(setting: string, value: unknown): string {
  const hint = 'give a name that a process can have: "API_TOKEN"';
  const name = text(setting, value, hint);
  if (/[=\0]/.test(name)) throw wrong(setting, `the name ${shown(name)} holds "=" or NUL`, hint);
  return name;
}

function checkHonoured(spec: SandboxSpec, provider: string, capabilities: Capabilities): void {
  for (const limit of Object.keys(spec.limits ?? {}))
    if (!capabilities.limits.some((one) => one === limit))
      throw new SandboxSpecError(
        `limits.${limit}`,
        `a ${provider} sandbox cannot limit it here`,
        `leave limits.${limit} out, or open a kind of sandbox that can`,
        { provider, possible: capabilities.limits },
      );
  const mode = spec.network?.mode;
  if (mode !== undefined && !capabilities.network.includes(mode))
    throw new SandboxSpecError(
      "network",
      `a ${provider} sandbox cannot have the mode ${shown(mode)} here`,
      `choose one of ${capabilities.network.map(shown).join(", ")}, or open a kind of sandbox that can`,
      { provider, possible: capabilities.network },
    );
  const { isolation } = capabilities;
  if (spec.image !== undefined && isolation !== "container" && isolation !== "vm")
    throw new SandboxSpecError(
      "image",
      `a ${provider} sandbox is made from no image, and would run without it`,
      `leave image out, or open a kind of sandbox that has images: session.to("docker", { image: ${shown(spec.image)} })`,
      { provider, isolation },
    );
  if (spec.readable !== undefined && spec.readable.length > 0 && isolation === "virtual")
    throw new SandboxSpecError(
      "readable",
      `a ${provider} sandbox sees nothing of the host`,
      "leave readable out and import the folder: rath.importFiles(session, folder); or open a kind of sandbox that can",
      { provider, isolation },
    );
  if (spec.onExpire === "suspend" && capabilities.suspend === "none")
    throw new SandboxSpecError(
      "onExpire",
      `a ${provider} sandbox cannot be suspended here`,
      'choose "delete" or "retain", or open a kind of sandbox that can',
      { provider, possible: ["delete", "retain"] },
    );
}
