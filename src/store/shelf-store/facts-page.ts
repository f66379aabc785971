import { digestOf, type FactId, isDigest, parentsOf, readFact, typeOf } from "../../session/index.js";
import { parseJson, showValue } from "../../util/index.js";
import { misuse } from "../error.js";
import { lineBefore } from "../exchange/lines.js";
import type { Shelf } from "../shelf.js";
import type { FactsOptions, FactsPage, Store } from "../store.js";
import type { SessionReader } from "./load.js";

const LIMIT = 100;
const MOST = 1000;
/** How many facts one page looks at, at most: a filter that fits few of them gives short pages, never slow ones. */
const LOOKED_AT = 4096;
const BATCH = 256;
/** How many lines of conversation a page follows back to the fork that they began with. */
const FOLLOWED = 16;
/** How much of a session is held in memory to find its branch. */
const HORIZON = 2000;

/** Where the next page begins, in which direction, and what it shows: all that a cursor says. */
type Position = Required<Pick<FactsOptions, "reverse">> &
  Pick<FactsOptions, "branch"> & {
    readonly head: FactId;
    readonly without: readonly FactId[];
    readonly types: readonly string[];
    readonly at: number;
  };

/** A page of the facts of a session, read by their places in its history. */
export async function factsPage(
  store: Store,
  shelf: Shelf,
  reader: SessionReader,
  nameOrId: string,
  options: FactsOptions,
): Promise<FactsPage> {
  const { limit = LIMIT } = options;
  if (!(Number.isSafeInteger(limit) && limit >= 1 && limit <= MOST))
    throw misuse(`read ${showValue(limit)} facts`, `the limit is a whole number from 1 to ${MOST}`);
  const position = positionOf(shelf, reader, nameOrId, options);
  const { head, without, reverse, types, branch } = position;
  const isFiltered = types.length > 0 || branch !== undefined;
  const branches = new BranchFinder(store);
  const items: FactsPage["items"][number][] = [];
  let { at } = position;
  let { count } = shelf.part(head, without, 0, 0);
  const left = (): number => (reverse ? at : count - at);
  for (let looked = 0; items.length < limit && left() > 0 && looked < LOOKED_AT && !branches.isSpent; ) {
    const size = Math.min(left(), isFiltered ? BATCH : limit - items.length);
    const from = reverse ? at - size : at;
    const part = shelf.part(head, without, from, from + size);
    count = part.count;
    for (let step = 0; step < size && items.length < limit && !branches.isSpent; step++, looked++) {
      const place = reverse ? size - 1 - step : step;
      const line = part.lines[place] as string;
      const id = digestOf(line);
      if (types.length === 0 || types.includes(typeOf(line))) {
        const found = branch === undefined ? undefined : await branches.of(id, line);
        if (branches.isSpent) break;
        if (found === branch)
          items.push({
            id,
            parents: parentsOf(line),
            line,
            fact: readFact(line, reader.blobs),
            index: from + place,
          });
      }
      at = reverse ? from + place : from + place + 1;
    }
  }
  return { items, next: left() > 0 ? cursorOf({ ...position, at }) : null, head, count };
}

/** Finds the branches of facts that are read one after the other, in either direction. */
class BranchFinder {
  readonly #store: Store;
  readonly #known = new Map<FactId, string>();
  #followed = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Whether so many lines were followed that the rest is left to the next page. */
  get isSpent(): boolean {
    return this.#followed > FOLLOWED;
  }

  async of(id: FactId, line: string): Promise<string> {
    const known = this.#known.get(id);
    const fork = typeOf(line) === "branch-fork" ? readFact(line, undefined) : undefined;
    const before = await lineBefore(this.#store, id, line);
    const branch = fork?.type === "branch-fork" ? fork.name : (known ?? (await this.#after(before)));
    this.#known.set(id, branch);
    // On the way back a fact tells the branch of the one before it, unless the branch begins with it.
    if (before !== undefined && fork === undefined) this.#known.set(before, branch);
    return branch;
  }

  /** The branch of a fact that comes after another and begins none. */
  async #after(before: FactId | undefined): Promise<string> {
    const known = before === undefined ? "main" : this.#known.get(before);
    if (known !== undefined) return known;
    this.#followed += 1;
    return this.isSpent ? "" : (await this.#store.load(before as FactId, { horizon: HORIZON })).branch;
  }
}

/** The place that options ask for: that of a cursor, of a fact, or the beginning. */
function positionOf(
  shelf: Shelf,
  reader: SessionReader,
  nameOrId: string,
  { after, reverse, type, branch, without = [] }: FactsOptions,
): Position {
  for (const [name, value, kind] of [
    ["after", after, "string"],
    ["reverse", reverse, "boolean"],
    ["branch", branch, "string"],
  ] as const)
    if (value !== undefined && typeof value !== kind)
      throw misuse(`read facts with ${name}: ${showValue(value)}`, `give a ${kind}, or leave it out`);
  const types = [type ?? []].flat();
  for (const one of types)
    if (typeof one !== "string") throw misuse(`read facts of the type ${showValue(one)}`, "give a text");
  const asked = { reverse, branch, types: type === undefined ? undefined : types };
  if (after !== undefined && !isDigest(after)) return readCursor(after, asked);
  const head = reader.resolve(nameOrId);
  const position = {
    head,
    without: [without].flat().map((one) => reader.resolve(one)),
    reverse: reverse ?? false,
    types,
    ...(branch !== undefined && { branch }),
  };
  if (after !== undefined) {
    const index = shelf.placeIn(head, position.without, after);
    if (index === undefined)
      throw misuse(
        `read on after ${after}`,
        "it is not among these facts: give the id of one of them, or a cursor",
      );
    return { ...position, at: position.reverse ? index : index + 1 };
  }
  return { ...position, at: position.reverse ? shelf.part(head, position.without, 0, 0).count : 0 };
}

function cursorOf({ head, without, reverse, types, branch, at }: Position): string {
  return Buffer.from(JSON.stringify([head, at, reverse, types, branch ?? null, without])).toString(
    "base64url",
  );
}

type Asked = { readonly [Name in "reverse" | "branch" | "types"]: Position[Name] | undefined };

/** Reads a cursor. Options beside it may repeat that, and not contradict it. */
function readCursor(cursor: string, asked: Asked): Position {
  const value = parseJson(Buffer.from(cursor, "base64url").toString());
  const [head, at, reverse, types, branch, without] = Array.isArray(value) ? (value as unknown[]) : [];
  const isRead =
    isDigest(head) &&
    Number.isSafeInteger(at) &&
    (at as number) >= 0 &&
    typeof reverse === "boolean" &&
    areTexts(types) &&
    (branch === null || typeof branch === "string") &&
    areTexts(without) &&
    without.every(isDigest);
  if (!isRead)
    throw misuse(`read on after ${showValue(cursor)}`, "give `next` of the last page as it was told");
  const position = { head, at: at as number, reverse, types, without, ...(branch !== null && { branch }) };
  for (const name of ["reverse", "branch", "types"] as const)
    if (asked[name] !== undefined && JSON.stringify(asked[name]) !== JSON.stringify(position[name]))
      throw misuse(
        `read on with another ${name === "types" ? "type" : name} than the page before`,
        "leave it out: the cursor keeps it",
      );
  return position;
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
