import { BackendError, MemoryRefusedError } from "../../memory/index.js";
import type { Json } from "../../session/index.js";
import { isObject } from "../../util/index.js";
import { requireCount } from "../../workflow/index.js";
import { addressIn, type VikingAddress } from "./address.js";

/** A folder or a file, as the server lists it. */
export type VikingEntry = {
  readonly address: string;
  readonly name: string;
  readonly folder: boolean;
  readonly size?: number;
  readonly changed?: string;
};

/** The entries of a listing, without those whose address we would not ask for; undefined where it is malformed. */
export function entriesIn(answer: Json, folder: string): readonly VikingEntry[] | undefined {
  if (!Array.isArray(answer)) return undefined;
  const entries: VikingEntry[] = [];
  for (const one of answer as readonly Json[]) {
    if (!isObject(one)) return undefined;
    const entry = entryIn(one, typeof one.name === "string" ? `${folder}/${one.name}` : folder);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

/** An entry, at its own address or, where it does not say it, at the one that was asked for. */
export function entryIn(answer: Json, asked: string): VikingEntry | undefined {
  if (!isObject(answer)) return undefined;
  const address = addressIn(answer.uri ?? asked);
  if (address === undefined) return undefined;
  const { size, modTime } = answer;
  return {
    address: address.text,
    name: address.path.at(-1) ?? address.scope,
    folder: answer.isDir === true,
    ...(typeof size === "number" && Number.isFinite(size) && { size }),
    ...(typeof modTime === "string" && { changed: modTime.slice(0, 60).toWellFormed() }),
  };
}

export type VikingFindOptions = {
  /** How many at most. Default 10. */
  readonly limit?: number;
  /** The folders to look into. Default: all that may be seen. */
  readonly within?: string | readonly string[];
  /** The least score, from 0 to 1. */
  readonly threshold?: number;
};

/** Something that was found, with what the server says of it. */
export type VikingMatch = {
  readonly address: string;
  readonly kind: "memory" | "resource" | "skill";
  /** 0 and 1 are what the server has written about a folder, 2 is a file itself. */
  readonly level: 0 | 1 | 2;
  readonly score: number;
  readonly abstract: string;
  readonly overview?: string;
};

const LISTS = { memories: "memory", resources: "resource", skills: "skill" } as const;
/** More than any sentence about a folder has. */
const LONGEST = 4_000;

/** The matches of an answer, the best first; undefined where it is malformed. */
export function foundIn(answer: Json, limit: number): readonly VikingMatch[] | undefined {
  if (!isObject(answer)) return undefined;
  const matches: VikingMatch[] = [];
  for (const [list, kind] of Object.entries(LISTS)) {
    const some = answer[list] ?? [];
    if (!Array.isArray(some)) return undefined;
    for (const one of some as readonly Json[]) {
      if (!isObject(one)) return undefined;
      const match = matchIn(one, kind);
      if (match !== undefined) matches.push(match);
    }
  }
  return matches
    .sort((one, other) => other.score - one.score || (one.address < other.address ? -1 : 1))
    .slice(0, limit);
}

/** Undefined where we would not ask for the address. */
function matchIn(one: { readonly [key: string]: Json }, kind: VikingMatch["kind"]): VikingMatch | undefined {
  const address = addressIn(one.uri);
  if (address === undefined) return undefined;
  const { score, level, abstract, overview } = one;
  return {
    address: address.text,
    kind,
    level: level === 0 || level === 1 ? level : 2,
    score: typeof score === "number" && score > 0 ? Math.min(score, 1) : 0,
    abstract: textIn(abstract),
    ...(typeof overview === "string" && { overview: textIn(overview) }),
  };
}

function textIn(value: Json | undefined): string {
  return typeof value === "string" ? value.slice(0, LONGEST).toWellFormed() : "";
}

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

/** Reads as little as is wanted: the next level is requested when the reader goes on. */
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
    // The summaries of folders were read above.
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
