import { BackendError, MemoryRefusedError } from "../../memory/index.js";
import { requireCount } from "../../workflow/index.js";
import type { VikingAddress } from "./address.js";
import type { VikingEntry } from "./entry.js";

/** A description of a folder at one level: in a sentence (0), on a page (1), or one of its files (2). */
export type VikingLevel = { readonly level: 0 | 1 | 2; readonly address: string; readonly text: string };

export type VikingLevelsOptions = {
  /** Files that are read at most. Default 100. */
  readonly files?: number;
  /** Characters that are read at most; the text that goes beyond is cut there. Default 200,000. */
  readonly characters?: number;
};

/** The part of a client that reads. */
export interface VikingReader {
  abstract(address: string): Promise<string>;
  overview(address: string): Promise<string>;
  read(address: string): Promise<string>;
  stat(address: string): Promise<VikingEntry>;
  tree(address: string, options?: { readonly limit?: number }): Promise<readonly VikingEntry[]>;
}

/** Reads as little as is wanted: the next level is asked for only when whoever reads goes on. */
export async function* levelsOf(
  client: VikingReader,
  folder: VikingAddress,
  options: VikingLevelsOptions,
): AsyncGenerator<VikingLevel> {
  const { files = 100, characters = 200_000 } = options;
  const refuse = (reason: string, hint: string): Error =>
    new MemoryRefusedError("option", `read ${folder.text} level by level`, reason, hint);
  requireCount(files, "files", refuse);
  requireCount(characters, "characters", refuse);
  let room = characters;
  const taken = (level: VikingLevel["level"], address: string, text: string): VikingLevel => {
    const kept = text.slice(0, room).toWellFormed();
    room -= kept.length;
    return { level, address, text: kept };
  };
  const { text: address } = folder;
  if ((await client.stat(address)).folder) {
    const abstract = await made(() => client.abstract(address));
    if (abstract !== undefined) yield taken(0, address, abstract);
    if (room === 0) return;
    const overview = await made(() => client.overview(address));
    if (overview !== undefined) yield taken(1, address, overview);
    const entries = await client.tree(address, { limit: files * 10 });
    // What the server has written about folders was read above.
    const plain = entries.filter(({ folder, name }) => !folder && !name.startsWith("."));
    for (const entry of plain.slice(0, files)) {
      if (room === 0) return;
      const text = await made(() => client.read(entry.address));
      if (text !== undefined) yield taken(2, entry.address, text);
    }
  } else yield taken(2, address, await client.read(address));
}

/** Undefined for what the server has not written yet, or what was taken away since it was listed. */
async function made(read: () => Promise<string>): Promise<string | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof BackendError && error.fault === "not-found") return undefined;
    throw error;
  }
}
