import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FactId, Session } from "../../session/index.js";
import { pastOf, programs, run } from "../../session/testing/program.js";
import { SqliteShelf } from "../sqlite/shelf.js";
import { folder } from "../testing/folder.js";

type Made = readonly Session[];
const choose = (made: Made, number: number): Session => made[number % made.length] as Session;
const linesOf = (sessions: Iterable<Session>): string[] => [...sessions].map(({ line }) => line);

/** Random graphs in one database, written in pieces whose sizes are random too; two numbers choose what is asked. */
async function check(
  law: (shelf: SqliteShelf, made: Made, one: number, other: number) => Promise<void>,
): Promise<void> {
  const shelf = SqliteShelf.open(join(folder(), "rath.db"));
  try {
    await fc.assert(
      fc.asyncProperty(
        programs(40),
        fc.array(fc.integer({ min: 1, max: 9 })),
        fc.nat(),
        fc.nat(),
        async (program, sizes, one, other) => {
          const made = run(program);
          // Any order with parents first will do: that of a random head's history comes before that of making.
          const order = [
            ...new Map(
              [...choose(made, other).history(), ...made].map((session) => [session.id, session]),
            ).values(),
          ];
          for (let from = 0, turn = 0; from < order.length; turn++) {
            const size = sizes[turn % Math.max(1, sizes.length)] ?? 5;
            await shelf.commit({
              facts: order.slice(from, from + size).map(({ id, line }) => ({ id, line })),
              blobs: [],
            });
            from += size;
          }
          await law(shelf, made, one, other);
        },
      ),
      { numRuns: 40 },
    );
  } finally {
    await shelf.close();
  }
}

async function collect(batches: Iterable<readonly string[]>): Promise<string[]> {
  const all: string[] = [];
  for (const batch of batches) all.push(...batch);
  return all;
}

describe("chains agree with a walk over parents", () => {
  it("[S42] on what the past of a session is, and in which order", async () => {
    await check(async (shelf, made, one) => {
      const session = choose(made, one);
      expect(await collect(shelf.history([session.id]))).toEqual(linesOf(session.history()));
      expect(await shelf.count(session.id)).toBe(pastOf(session).size);
    });
  });

  it("[S54] on what one past has that others have not", async () => {
    await check(async (shelf, made, one, other) => {
      const heads = [choose(made, one), choose(made, one >> 4)];
      const without = [choose(made, other), choose(made, other >> 3)];
      const known = new Set(without.flatMap((session) => [...pastOf(session)]));
      const expected = new Map(
        heads.flatMap((head) => [...head.history()].map(({ id, line }) => [id, line])),
      );
      for (const id of known) expected.delete(id);
      const told = await collect(
        shelf.history(
          heads.map(({ id }) => id),
          without.map(({ id }) => id),
        ),
      );
      expect(told).toEqual([...expected.values()]);
    });
  });

  it("[S43] on who was made from whom", async () => {
    await check(async (shelf, made, one) => {
      const session = choose(made, one);
      const children = new Set(
        made.filter(({ parentIds }) => parentIds.includes(session.id)).map(({ id }) => id),
      );
      const mine = new Set(made.map(({ id }) => id));
      expect((await shelf.children(session.id)).filter((id) => mine.has(id)).toSorted()).toEqual(
        [...children].toSorted(),
      );
    });
  });

  it("[S20] on whether a name may move", async () => {
    await check(async (shelf, made, one, other) => {
      const [stands, wanted] = [choose(made, one), choose(made, other)];
      const move = { name: "main", now: 0 };
      await shelf.commit({ facts: [], blobs: [], move: { ...move, head: stands.id, expect: "any" } });
      const { outcome } = await shelf.commit({
        facts: [],
        blobs: [],
        move: { ...move, head: wanted.id, expect: "past" },
      });
      expect(outcome).toBe(pastOf(wanted).has(stands.id) ? "done" : "conflict");
    });
  });

  it("[S44] on where a history can be cut: the longest end that hangs from one session with a snapshot", async () => {
    await check(async (shelf, made, one, other) => {
      const head = choose(made, one);
      const marked = made.filter((_, index) => (other >> (index % 30)) % 2 === 1);
      await shelf.remove({ snapshots: true });
      for (const session of marked) await shelf.saveSnapshot(session.id, session.id);
      for (const most of [1, 3, 10, 1000]) {
        const tails = marked
          .filter(({ id }) => pastOf(head).has(id))
          .flatMap((first) => tailFrom(first, head, most) ?? []);
        const longest = tails.toSorted((a, b) => b.lines.length - a.lines.length)[0];
        expect(await shelf.tail(head.id, most)).toEqual(longest);
      }
    });
  });
});

/** The end of a history after `first`, if all of it comes from `first` alone and it is not too long. */
function tailFrom(
  first: Session,
  head: Session,
  most: number,
): { snapshot: FactId; lines: string[] } | undefined {
  const before = pastOf(first);
  const rest = [...head.history()].filter(({ id }) => !before.has(id));
  const inside = new Set([first.id, ...rest.map(({ id }) => id)]);
  const hangs = rest.every(
    ({ parentIds }) => parentIds.length > 0 && parentIds.every((id) => inside.has(id)),
  );
  return hangs && inside.size <= most ? { snapshot: first.id, lines: linesOf([first, ...rest]) } : undefined;
}
