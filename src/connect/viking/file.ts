import type { Memory } from "../../memory/index.js";
import { digestOf, type FactId } from "../../session/index.js";
import { addressIn, inside, type VikingAddress } from "./address.js";

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

/** The memory whose address this is, whoever it is asked by: the server says it with the name of its user in it. */
export function memoryAt(address: string): FactId | undefined {
  const path = addressIn(address)?.path ?? [];
  return FOLDER.test(path.at(-2) ?? "") ? NAME.exec(path.at(-1) ?? "")?.[1] : undefined;
}

/** What a file of ours holds; undefined for one that is somebody else's, whatever its name says. */
export function keptIn(address: string, content: string): KeptFile | undefined {
  const [header, memory, version] = HEADER.exec(content) ?? [];
  if (header === undefined || memory === undefined || version === undefined) return undefined;
  return memory === memoryAt(address) ? { memory, version, text: content.slice(header.length) } : undefined;
}
