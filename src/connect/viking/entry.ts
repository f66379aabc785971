import type { Json } from "../../session/index.js";
import { isObject } from "../../util/index.js";
import { addressIn } from "./address.js";

/** A folder or a file, as the server lists it. */
export type VikingEntry = {
  readonly address: string;
  readonly name: string;
  readonly folder: boolean;
  readonly size?: number;
  readonly changed?: string;
};

/** The entries of a listing. Those whose address we would not ask for are left out; what is no listing is undefined. */
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

/** The matches of an answer, the best first; undefined where it is no such answer. */
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

/** Nothing where the address is none that we would ask for. */
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
