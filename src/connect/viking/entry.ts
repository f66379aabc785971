import type { Json } from "../../session/index.js";
import { addressIn } from "./address.js";
import { isObject } from "./http.js";

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
  for (const one of answer) {
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
