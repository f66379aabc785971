import { describe, expect, it } from "vitest";
import type { Fact } from "../../session/index.js";
import { EVIDENCE } from "./evidence.js";
import { ASKED, advance, type RequestEvent, type RequestState, type Stage } from "./state.js";

const REQUEST = "a".repeat(64);

/** A fact about the request, as the chain of run "r" has it. */
function fact(type: string, body: object = {}): Fact {
  return {
    type,
    at: "2026-01-01T00:00:00.000Z",
    run: "r",
    seq: 1,
    by: "runtime",
    of: REQUEST,
    ...body,
  } as never;
}

const allow = fact("policy-decide", { verdict: "allow" }) as RequestState["verdict"];
const ask = fact("policy-decide", { verdict: "ask" }) as RequestState["verdict"];

function told(type: string, body: object = {}, more: object = {}): RequestEvent {
  return { type: "fact", fact: fact(type, body), ...more };
}

function at(stage: Stage, known: Partial<RequestState> = {}): RequestState {
  return { ...ASKED, ...known, ...stage } as RequestState;
}

const begun = { run: "r" };
const started = { attempt: 2, key: "k" };

const asked = ASKED;
const ruled = at({ at: "ruled" }, { verdict: allow, firstVerdict: allow });
const asking = at({ at: "asking-people" }, { verdict: ask, firstVerdict: ask, held: true });
const editing = at({ at: "editing", begun: undefined }, { firstVerdict: ask, held: true });
const editingBegun = at({ at: "editing", begun }, { held: true });
const inside = at({ at: "inside" }, { held: true });
const reading = at({ at: "attempting", begun: undefined }, { attempts: 1, held: true });
const writing = at({ at: "attempting", begun }, { attempts: 1 });
const backing = at({ at: "backing-off" }, { attempts: 1, held: true });
const doubt = at({ at: "in-doubt", begun }, { attempts: 1, held: true });

/** Every stage, as a request comes to it. */
const stages = [asked, ruled, asking, editing, editingBegun, inside, reading, writing, backing, doubt];

/** From a stage, by an event, to what the request then is. What is left out stays as it was. */
const table: readonly (readonly [string, RequestState, RequestEvent, Partial<RequestState>])[] = [
  // What policies decide.
  [
    "asked",
    asked,
    { type: "fact", fact: allow as Fact, asAsked: true },
    { at: "ruled", verdict: allow, firstVerdict: allow },
  ],
  [
    "asked, with other arguments",
    asked,
    { type: "fact", fact: allow as Fact, asAsked: false },
    { at: "ruled", verdict: allow },
  ],
  [
    "inside",
    inside,
    { type: "fact", fact: allow as Fact, asAsked: true },
    { at: "inside", verdict: allow, firstVerdict: allow },
  ],
  [
    "asked again of no policy",
    at({ at: "asked" }, { firstVerdict: ask }),
    { type: "keep-verdict" },
    { at: "ruled", verdict: ask },
  ],
  ["asked where nothing was decided", asked, { type: "keep-verdict" }, { at: "asked" }],
  // What people are asked and answer.
  ["ruled", ruled, told("approval-ask"), { at: "asking-people" }],
  [
    "arguments that cannot be used",
    at({ at: "asked" }, { firstVerdict: ask }),
    told("approval-ask", { problem: "no" }, { voidsEdit: true }),
    { at: "asking-people", verdict: ask },
  ],
  ["a yes or a no", asking, told("answer-take", {}, { said: "other" }), { at: "asking-people" }],
  [
    "other arguments",
    asking,
    told("answer-take", {}, { said: "edit" }),
    { at: "asked", verdict: undefined, edited: false },
  ],
  [
    "other arguments while it is edited",
    editing,
    told("answer-take", {}, { said: "edit" }),
    { at: "editing", edited: false },
  ],
  ["a question that is withdrawn", asking, told("wait-cancel"), { at: "asking-people" }],
  ["an answer to a wait", asked, told("answer-take", {}, { waits: true }), { at: "done" }],
  ["a wait that is given up", asked, told("wait-cancel", {}, { waits: true }), { at: "done" }],
  ["a timer", asked, told("timer-fire", {}, { waits: true }), { at: "done" }],
  // Other arguments.
  ["edited", asking, { type: "edit" }, { at: "editing" }],
  ["edited after it was begun", doubt, { type: "edit" }, { at: "editing", begun } as never],
  ["made with them", editing, { type: "edit-over", how: "made" }, { at: "asked", edited: true, held: false }],
  [
    "they cannot be used",
    editing,
    { type: "edit-over", how: "refused" },
    { at: "ruled", verdict: ask, held: false },
  ],
  [
    "they cannot be used, though begun with them",
    editingBegun,
    { type: "edit-over", how: "refused" },
    { at: "in-doubt", held: false },
  ],
  ["others came meanwhile", editing, { type: "edit-over", how: "superseded" }, { at: "asked", held: false }],
  // Attempts.
  ["a read", ruled, { type: "attempt", attempt: 1 }, { at: "attempting", attempts: 1 }],
  ["a write", ruled, told("effect-start", started), { at: "attempting", attempts: 2, begun } as never],
  ["a failure that may pass", reading, told("effect-fail", started), { at: "backing-off", attempts: 2 }],
  [
    "a write again",
    backing,
    told("effect-start", started),
    { at: "attempting", attempts: 2, begun } as never,
  ],
  ["doubt", writing, told("effect-doubt", started), { at: "in-doubt", begun } as never],
  [
    "a recorded attempt, the tape at its end",
    writing,
    { type: "cut-off" },
    { at: "in-doubt", begun } as never,
  ],
  [
    "an attempt of this process, the tape at its end",
    { ...writing, held: true },
    { type: "cut-off" },
    { at: "attempting", begun } as never,
  ],
  ["found out that it did not happen", doubt, { type: "not-done" }, { at: "asked" }],
  ["settled by a person", doubt, told("answer-take", {}, { said: "settle" }), { at: "asked" }],
  [
    "settled while it is edited",
    editingBegun,
    told("answer-take", {}, { said: "settle" }),
    { at: "editing", begun: undefined } as never,
  ],
  [
    "settled by somebody who may not",
    doubt,
    told("answer-take", {}, { said: "other" }),
    { at: "in-doubt", begun } as never,
  ],
  // A module in its place.
  ["entered", ruled, { type: "enter" }, { at: "inside" }],
];

describe("where a request stands", () => {
  it.each(table)("[RQ1] %s", (_name, from, event, to) => {
    const next = advance(from, event);
    const known = ["attempts", "verdict", "firstVerdict", "edited", "held"] as const;
    for (const field of known) expect(next[field], field).toEqual(field in to ? to[field] : from[field]);
    expect(next).toMatchObject(to);
  });

  it.each(stages)(
    "[RQ1] $at: is held from its beginning until it is let go of, and stays where it is",
    (state) => {
      const held = advance(state, { type: "begin" });
      expect(held).toEqual({ ...state, held: true });
      expect(advance(held, { type: "let-go" })).toEqual({ ...state, held: false });
    },
  );

  it.each(stages)("[RQ2] $at: every outcome ends it, and nothing comes after", (state) => {
    for (const type of ["model-reply", "tool-result", "tool-failure", "step-result", "step-failure"]) {
      const done = advance(state, told(type));
      expect(done).toMatchObject({ at: "done", held: false });
      for (const [, , event] of table) expect(advance(done, event)).toBe(done);
    }
  });

  it.each(stages)("[RQ2] $at: evidence leaves it as it is", (state) => {
    for (const type of EVIDENCE) expect(advance(state, told(type))).toBe(state);
  });

  /** What happens in this process between the facts, and then the facts alone. */
  const stories: readonly (readonly [string, readonly RequestEvent[], Stage["at"]])[] = [
    [
      "a write that is cut off",
      [
        { type: "begin" },
        told("policy-decide", { verdict: "allow" }, { asAsked: true }),
        told("effect-start", started),
      ],
      "in-doubt",
    ],
    [
      "a write in doubt",
      [{ type: "begin" }, told("effect-start", started), told("effect-doubt", started)],
      "in-doubt",
    ],
    [
      "a read that failed once",
      [{ type: "begin" }, { type: "attempt", attempt: 2 }, told("effect-fail", started)],
      "backing-off",
    ],
    [
      "a read that failed and was begun again",
      [
        { type: "begin" },
        { type: "attempt", attempt: 2 },
        told("effect-fail", started),
        { type: "let-go" },
        { type: "begin" },
      ],
      "backing-off",
    ],
    [
      "a question",
      [
        { type: "begin" },
        told("policy-decide", { verdict: "ask" }, { asAsked: true }),
        told("approval-ask"),
        told("answer-take", {}, { said: "other" }),
        { type: "let-go" },
      ],
      "asking-people",
    ],
    [
      "a write that a person wants again",
      [
        { type: "begin" },
        told("effect-start", started),
        told("effect-doubt", started),
        told("answer-take", {}, { said: "settle" }),
        { type: "let-go" },
      ],
      "asked",
    ],
    ["an end", [{ type: "begin" }, told("effect-start", started), told("step-result")], "done"],
  ];

  it.each(stories)("[RQ3] %s: its facts alone bring it where it was", (_name, events, stage) => {
    const live = events.reduce(advance, ASKED);
    const facts = events.filter(({ type }) => type === "fact").reduce(advance, ASKED);
    // The process is gone: it holds nothing, and what it attempted is cut off.
    const then = (state: RequestState): RequestState =>
      [{ type: "let-go" } as const, { type: "cut-off" } as const].reduce(advance, state);
    expect(then(facts)).toEqual(then(live));
    expect(then(facts).at).toBe(stage);
  });
});
