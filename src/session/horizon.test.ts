import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BeyondHorizonError,
  branchView,
  type FactId,
  filesView,
  goesOnFrom,
  type Json,
  lineageView,
  type Message,
  type PastSource,
  pendingView,
  placementView,
  Session,
  sandboxView,
  seedView,
  transcriptView,
  usageView,
  type View,
} from "./index.js";
import { campaign } from "./testing/campaign.js";
import { programs, run } from "./testing/program.js";
import { answers, MapBlobs } from "./testing/record.js";
import { wordsOf } from "./testing/words.js";

const AT = "2026-01-01T00:00:00.000Z";
// biome-ignore lint/suspicious/noExplicitAny: the views have nothing in common but how they are saved.
const SAVED: readonly View<any>[] = [
  transcriptView,
  placementView,
  usageView,
  pendingView,
  lineageView,
  branchView,
  filesView,
];

/** What a store makes of a session whose past stays on disk: the line and a snapshot of its conversation. */
function atHorizon(session: Session, past?: PastSource): Session {
  const head = Session.restore(
    session.line,
    undefined,
    { inline: 4096, blobs: MapBlobs.alone(session), ...(past && { past }) },
    { id: session.id, depth: session.depth },
  );
  const views = past === undefined ? [transcriptView, placementView] : SAVED;
  for (const view of views) {
    const saved = JSON.parse(JSON.stringify(view.save?.(session.view(view), session))) as Json;
    seedView(head, view, view.load?.(saved));
  }
  return head;
}

/** The same session built again, with the past of `cuts` left in the store. */
function reopened(head: Session, cuts: ReadonlySet<FactId>, past?: PastSource): Session {
  const made = new Map<FactId, Session>();
  for (const session of head.history()) {
    const again = cuts.has(session.id)
      ? atHorizon(session, past)
      : Session.restore(
          session.line,
          session.parentIds.map((id) => made.get(id) as Session),
          { inline: 4096, blobs: MapBlobs.alone(session), ...(past && { past }) },
        );
    made.set(session.id, again);
  }
  return made.get(head.id) as Session;
}

function asked<Answer>(question: () => Answer): Answer | undefined {
  try {
    return question();
  } catch (error) {
    expect(error).toBeInstanceOf(BeyondHorizonError);
    return undefined;
  }
}

const texts = (messages: readonly Message[]): unknown[] =>
  messages.map((message) => ("content" in message ? wordsOf(message.content) : message.output));

/** The same session again, where the past of `cuts` is read when it is asked for. Notes what was read. */
function readable(head: Session, cuts: ReadonlySet<FactId>, read: FactId[] = []): Session {
  const originals = new Map([...head.history()].map((session) => [session.id, session]));
  const past = {
    parentsOf: ({ id }: Session): readonly Session[] => {
      read.push(id);
      return (originals.get(id) as Session).parents.map((parent) => readable(parent, cuts, read));
    },
  };
  return reopened(head, cuts, past);
}

describe("a past that can be read", () => {
  const count: View<number> = { start: 0, step: (sum) => sum + 1 };
  const everything = (session: Session): object => ({
    ...answers(session),
    files: session.files,
    conflicts: session.conflicts,
    sandbox: session.view(sandboxView),
    recent: [1, 3, 50].map((most) => session.recent(most)),
    count: session.view(count),
    history: [...session.history()].map(({ id }) => id),
    trunk: goesOnFrom(session)?.id,
  });

  it("[W9] answers are those of a session that is loaded whole, on any graph", () => {
    let reads = 0;
    fc.assert(
      fc.property(
        programs(40),
        fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (program, numbers, long) => {
          const start = Session.start(long ? "x".repeat(70_000) : "task", { nonce: "n", inline: 1_000_000 });
          const padded = long
            ? Array.from({ length: 60 }).reduce<Session>((one, _, index) => one.say(`p${index}`), start)
            : start;
          const made = run(program, padded);
          const cuts = new Set(numbers.map((number) => (made[number % made.length] as Session).id));
          const newest = made.slice(-4);
          const again = newest.map((session) => {
            const read: FactId[] = [];
            const one = readable(session, cuts, read);
            expect(everything(one)).toEqual(everything(session));
            reads += read.length;
            return readable(session, cuts);
          });
          // Two that were opened apart have the same past, and merge so.
          const [ours, theirs] = newest as [Session, Session | undefined];
          if (theirs === undefined || ours.id === theirs.id) return;
          const merge = ([one, other]: readonly Session[]): Session =>
            (one as Session).merge(other as Session, { adopt: "ours", at: AT });
          expect(everything(merge(again))).toEqual(everything(merge(newest)));
          expect(again[0]?.descendsFrom(again[1] as Session)).toBe(ours.descendsFrom(theirs));
        },
      ),
      { numRuns: campaign(200) },
    );
    expect(reads).toBeGreaterThan(campaign(160));
  });

  it("[W9] what is known is answered without reading", () => {
    let long = Session.start("go").to("local").fork("side");
    for (let count = 0; count < 2_000; count++) long = long.say(`message ${count}`);
    const read: FactId[] = [];
    const opened = readable(long, new Set([long.id]), read).say("on");
    const whole = long.say("on");
    const left = opened.fork("left").say("a");
    const merged = left.merge(opened.fork("right").say("b"));
    expect([merged.placement, merged.branch, merged.usage, merged.pending]).toEqual([
      { sandbox: "local" },
      "left",
      whole.usage,
      [],
    ]);
    expect(merged.recent(50).slice(0, 48)).toEqual(whole.recent(48));
    expect(merged.descendsFrom(opened)).toBe(true);
    expect(merged.lineage.length).toBe(5);
    expect(read).toEqual([]);
    expect(opened.transcript).toEqual(whole.transcript);
    expect(read.length).toBeGreaterThan(0);
  });
});

describe("past the horizon", () => {
  it("[W6] a conversation is the true one or a typed error, and what is recent is the true end", () => {
    let [exact, refused] = [0, 0];
    fc.assert(
      fc.property(
        programs(60),
        fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (program, numbers, long) => {
          // A long first message makes snapshots leave messages out.
          const start = Session.start(long ? "x".repeat(70_000) : "task", { nonce: "n", inline: 1_000_000 });
          const padded = long
            ? Array.from({ length: 60 }).reduce<Session>((one, _, index) => one.say(`p${index}`), start)
            : start;
          const made = run(program, padded);
          const cuts = new Set(numbers.map((number) => (made[number % made.length] as Session).id));
          for (const session of made.slice(-12)) {
            const again = reopened(session, cuts);
            const told = asked(() => again.transcript);
            if (told === undefined) refused += 1;
            else {
              exact += 1;
              expect(told).toEqual(session.transcript);
            }
            for (const count of [1, 3, 50, 1000]) {
              const recent = asked(() => again.recent(count));
              if (recent === undefined) continue;
              expect(recent).toEqual(session.transcript.slice(-recent.length || session.transcript.length));
              if (told !== undefined) expect(recent).toEqual(session.recent(count));
            }
          }
        },
      ),
      { numRuns: campaign(400) },
    );
    // Most can be answered, and some cannot: else this test would prove nothing.
    expect(exact).toBeGreaterThan(campaign(800));
    expect(refused).toBeGreaterThan(campaign(160));
  });

  it("[W6] what was not adopted or summed up before the horizon does not come back", () => {
    const trunk = Session.start("T");
    const loser = trunk.fork("loser").say("LOSER");
    const won = atHorizon(trunk.fork("win").say("WIN").merge(loser, { adopt: "ours" }));
    expect(texts(won.merge(loser.say("LATER")).transcript)).toEqual(["T", "WIN", "LATER"]);
    const long = trunk.say("A").say("B");
    const summed = atHorizon(
      long.append({ type: "context-compress", from: trunk.id, to: long.id, summary: "S" }),
    );
    expect(texts(summed.merge(long.fork("side").say("SIDE")).transcript)).toEqual(["S", "SIDE"]);
  });

  it("[W6] branches made after the horizon merge exactly, also of a conversation too long to load", () => {
    let long = Session.start("r");
    for (let count = 0; count < 200; count++) long = long.say(`${count} ${"x".repeat(600)}`);
    const fork = (head: Session): Session => head.fork("a").say("ours").merge(head.fork("b").say("theirs"));
    const [one, other] = [atHorizon(long), atHorizon(long)];
    expect(fork(one).recent(4)).toEqual(fork(long).recent(4));
    // Two copies of one snapshot left out the same things.
    expect(one.fork("a").say("ours").merge(other.fork("b").say("theirs")).recent(4)).toEqual(
      fork(long).recent(4),
    );
    expect(() => fork(one).transcript).toThrow(BeyondHorizonError);
    // What a branch from before the horizon adds cannot be known, so nothing is claimed.
    const merged = one.merge(long.fork("old").say("side"));
    expect(() => merged.recent(1)).toThrow(BeyondHorizonError);
    expect(texts(merged.say("on").recent(5))).toEqual(["on"]);
  });

  it("[W6] a snapshot names a bounded number of hidden entries", () => {
    let long = Session.start("go");
    const start = long;
    for (let count = 0; count < 3_000; count++) long = long.say(`${count}`);
    const summed = long.append({ type: "context-compress", from: start.id, to: long.id, summary: "S" });
    expect(JSON.stringify(transcriptView.save?.(summed.view(transcriptView), summed)).length).toBeLessThan(
      100_000,
    );
    const again = atHorizon(summed);
    expect(texts(again.transcript)).toEqual(["S"]);
    expect(() => again.merge(start.fork("x").say("y")).transcript).toThrow(BeyondHorizonError);
    expect(texts(again.fork("a").say("A").merge(again.fork("b").say("B")).transcript)).toEqual([
      "S",
      "A",
      "B",
    ]);
  });
});
