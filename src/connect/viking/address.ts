import { type Memory, MemoryRefusedError } from "../../memory/index.js";
import { digestOf, type FactId } from "../../session/index.js";
import { decodePart, showValue } from "../../util/index.js";

/** A place in OpenViking: a scope, and the way to a folder or a file in it. */
export type VikingAddress = {
  /** Empty for `viking://` itself. */
  readonly scope: VikingScope | "";
  readonly path: readonly string[];
  /** As it is asked for, without a slash at the end. */
  readonly text: string;
};

/** `~` is the root of the current user. Other scopes of the server are refused. */
export type VikingScope = "resources" | "user" | "agent" | "session" | "~";

const SCHEME = "viking://";
const SCOPES: readonly string[] = ["resources", "user", "agent", "session", "~"] satisfies VikingScope[];
const LONGEST = 2_000;

/** Reads an address that somebody gave: one that leads elsewhere than it says is refused before it is asked for. */
export function vikingAddress(given: string): VikingAddress {
  const flaw = flawIn(given);
  if (flaw !== undefined)
    throw new MemoryRefusedError(
      "option",
      `use the address ${showValue(given)}`,
      flaw,
      'an address is "viking://resources/docs/api.md", or "viking://~/memories"',
    );
  return parsed(given);
}

/** The same for an address that the server gave: undefined where we would not ask for it. */
export function addressIn(given: unknown): VikingAddress | undefined {
  return typeof given === "string" && flawIn(given) === undefined ? parsed(given) : undefined;
}

/** The address of something in a folder. */
export function inside(folder: VikingAddress, ...names: readonly string[]): VikingAddress {
  return vikingAddress([folder.text.replace(/\/$/, ""), ...names].join("/"));
}

function parsed(given: string): VikingAddress {
  const [scope = "", ...path] = segmentsOf(given);
  return { scope: scope as VikingScope | "", path, text: `${SCHEME}${[scope, ...path].join("/")}` };
}

/** A slash at the end says that it is a folder, which the server knows. */
function segmentsOf(given: string): readonly string[] {
  return given.slice(SCHEME.length).replace(/\/$/, "").split("/");
}

function flawIn(given: unknown): string | undefined {
  if (typeof given !== "string") return "it is not a text";
  if (given.length > LONGEST) return `it has more than ${LONGEST} characters`;
  if (!given.startsWith(SCHEME)) return `it does not begin with ${SCHEME}`;
  const [scope = "", ...path] = segmentsOf(given);
  if (scope === "") return path.length === 0 ? undefined : "its scope is empty";
  if (!SCOPES.includes(scope)) return `${JSON.stringify(scope)} is not one of its scopes`;
  for (const name of path) {
    const reason = flawOf(name);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function flawOf(name: string): string | undefined {
  if (name === "") return "a name in it is empty";
  if (/[\p{Cc}\\]/u.test(name) || !name.isWellFormed()) return "a name in it has characters that no name has";
  // The server puts something else in its place, and so it would be another address every day.
  if (/\{[^}]*:[^}]*\}/.test(name)) return "a name in it is a variable";
  return isStep(name) || isStep(decodePart(name)) ? "it leads out of its folder" : undefined;
}

/** Somebody on the way may take `%2e%2e%2f` for what it stands for. */
function isStep(name: string): boolean {
  return name === "." || name === ".." || /[/\\\p{Cc}]/u.test(name);
}

/** A memory as a file there: its text below a line that says which memory it is. */
export type KeptFile = { readonly memory: FactId; readonly version: FactId; readonly text: string };

const HEADER = /^<!-- openrath memory=([0-9a-f]{64}) version=([0-9a-f]{64}) -->\n\n/;
const FOLDER = /-[0-9a-f]{12}$/;
const NAME = /^([0-9a-f]{64})\.md$/;

/** Always the same for one memory, in a folder for its space. */
export function addressOf({ id, space }: Pick<Memory, "id" | "space">, root: VikingAddress): VikingAddress {
  return inside(root, folderOf(space), `${id}.md`);
}

/** A space can have any name, and a folder cannot: what is left of it, and what tells it from others that look alike. */
function folderOf(space: string): string {
  const plain = space
    .replace(/[^\p{L}\p{N}_-]+/gu, "-")
    .slice(0, 40)
    .toWellFormed();
  return `${plain}-${digestOf(space).slice(0, 12)}`;
}

export function fileOf({ id, version, text }: Pick<Memory, "id" | "version" | "text">): string {
  return `<!-- openrath memory=${id} version=${version} -->\n\n${text}`;
}

/** The memory of an address. The server may put the name of its user into it. */
export function memoryAt(address: string): FactId | undefined {
  const path = addressIn(address)?.path ?? [];
  return FOLDER.test(path.at(-2) ?? "") ? NAME.exec(path.at(-1) ?? "")?.[1] : undefined;
}

/** The content of a file of ours; undefined for a file of others, whatever its name says. */
export function keptIn(address: string, content: string): KeptFile | undefined {
  const [header, memory, version] = HEADER.exec(content) ?? [];
  if (header === undefined || memory === undefined || version === undefined) return undefined;
  return memory === memoryAt(address) ? { memory, version, text: content.slice(header.length) } : undefined;
}
