import fc from "fast-check";

/** A workflow program as data: what `moduleOf` makes a module of, and what a failing test prints. */
export type Program = {
  readonly root: Part;
  /** Steps that the whole run may spend. */
  readonly budget?: number;
  /** Cancelled so many milliseconds after so many calls to the world. */
  readonly abort?: { readonly calls: number; readonly wait: number };
  /** Timers within so many milliseconds are waited for, longer ones suspend. */
  readonly patience: number;
  /** All content in salted blobs. */
  readonly salted: boolean;
  /** Answers come as soon as the question is durable, or only when the run is suspended. */
  readonly eager: boolean;
};

/** What becomes a module. */
export type Part =
  | { readonly is: "body"; readonly acts: readonly Act[]; readonly budget?: Limit; readonly plain: boolean }
  | { readonly is: "sequence"; readonly parts: readonly Part[] }
  | {
      readonly is: "parallel";
      readonly parts: readonly Part[];
      readonly adopt: Adopted;
      readonly at: number;
    }
  | { readonly is: "race"; readonly parts: readonly Part[] }
  | { readonly is: "loop"; readonly part: Part; readonly max: number; readonly enough: number | null }
  | { readonly is: "retry"; readonly part: Part; readonly attempts: number }
  | { readonly is: "branch"; readonly parts: readonly Part[]; readonly none: boolean }
  | { readonly is: "map"; readonly part: Part; readonly inputs: number; readonly at: number }
  | { readonly is: "step"; readonly doing: Doing }
  | { readonly is: "sleep"; readonly milliseconds: number }
  | { readonly is: "signal" }
  | { readonly is: "approve"; readonly verdict: Verdict };

/** What a body does, one after the other. */
export type Act =
  | { readonly do: "say" | "note" | "place" | "throw" }
  | { readonly do: "part"; readonly part: Part }
  | { readonly do: "ask"; readonly what: "now" | "random" | "uuid" }
  | { readonly do: "call"; readonly doing: Doing }
  | { readonly do: "requests"; readonly requests: readonly Asked[] }
  /** Forks side by side, merged in their order or in the order they arrive in. */
  | {
      readonly do: "split";
      readonly sides: readonly Acts[];
      readonly arrival: boolean;
      readonly adopt: Adopted;
    }
  /** `Promise.race` or `Promise.any` over forks; the others are left to themselves, or waited for and merged. */
  | {
      readonly do: "first";
      readonly sides: readonly Acts[];
      readonly any: boolean;
      readonly left: boolean;
      readonly adopt: Adopted;
    }
  /** Two identical forks of one session, or two identical calls on it. */
  | { readonly do: "twins"; readonly acts: Acts }
  | { readonly do: "same"; readonly delay: number }
  | { readonly do: "detach"; readonly acts: Acts; readonly merge: boolean }
  | { readonly do: "try"; readonly acts: Acts; readonly evidence: boolean }
  | { readonly do: "finally"; readonly acts: Acts };
export type Acts = readonly Act[];

/** One request of several side by side: an effect, or a module inside. */
export type Asked = { readonly doing: Doing; readonly inside?: Acts };

export type Limit = { readonly steps: number } | { readonly milliseconds: number };
export type Adopted = "ours" | "theirs" | "both";
export type Verdict = "approve" | "reject";

/** An effect: what it does to the world, how long it takes, how it fails. */
export type Doing = {
  readonly effect: "pure" | "read" | "idempotent" | "write";
  /** Milliseconds until it has happened, and from then until the answer is there. */
  readonly delay: number;
  readonly lag: number;
  /** So many attempts are refused. */
  readonly refused: number;
  readonly attempts: number;
  /** Goes on whatever its signal says. */
  readonly deaf: boolean;
  readonly gives: "little" | "much" | "nothing" | "unfit" | "error";
  readonly approval: Verdict | null;
  readonly reconcile: "knows" | "unsure" | "throws" | null;
  readonly conflict: string | null;
  readonly timeout: number | null;
  readonly steps: number;
  readonly tool: boolean;
};

/** Always: more than any number of attempts. */
export const ALWAYS = 99;

/**
 * How wild programs are: how deep, and whether what they do may depend on time (races, cancellations, deadlines, the
 * order of arrival). Those end in another result when they are run again, though not when they are replayed.
 */
export type Wildness = { readonly depth: number; readonly timed: boolean; readonly slowest: number };

export function programs({ depth, timed, slowest }: Wildness): fc.Arbitrary<Program> {
  const delay = fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: slowest }) },
  );
  const adopt = fc.constantFrom<Adopted>("ours", "theirs", "both");
  const rarely = <T>(arbitrary: fc.Arbitrary<T>, weight = 5): fc.Arbitrary<T | null> =>
    fc.oneof({ weight, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

  const doing: fc.Arbitrary<Doing> = fc
    .record({
      effect: fc.constantFrom<Doing["effect"]>("pure", "read", "idempotent", "write", "write"),
      delay,
      lag: delay,
      refused: fc.oneof(
        { weight: 5, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.constantFrom(1, 2, ALWAYS) },
      ),
      attempts: fc.constantFrom<number>(1, 1, 3),
      deaf: fc.boolean(),
      gives: fc.oneof(
        { weight: 8, arbitrary: fc.constant<Doing["gives"]>("little") },
        { weight: 1, arbitrary: fc.constantFrom<Doing["gives"]>("much", "nothing", "unfit", "error") },
      ),
      approval: rarely(fc.constantFrom<Verdict>("approve", "approve", "reject"), 8),
      reconcile: rarely(fc.constantFrom<"knows" | "unsure" | "throws">("knows", "unsure", "throws"), 2),
      conflict: rarely(fc.constantFrom("a", "b"), 3),
      timeout: timed ? rarely(fc.integer({ min: 1, max: 4 }), 10) : fc.constant(null),
      steps: fc.constantFrom(0, 1, 1, 2),
      tool: fc.boolean(),
    })
    .map((given) => {
      const made = { ...given };
      // A result does not depend on how often it was tried, as long as one attempt in the end is let through.
      if (made.refused > 0 && made.refused < ALWAYS) made.attempts = made.refused + 1;
      // What happens and then fails would happen again at a retry: that is its owner's doing, and no test of ours.
      if (made.gives === "error" || (made.effect === "write" && made.timeout !== null)) made.attempts = 1;
      if (made.gives === "error" && made.refused !== ALWAYS) made.refused = 0;
      if (made.refused > 0 && made.refused < ALWAYS && made.attempts === 1) made.refused = 0;
      if (made.effect === "write" && made.gives === "unfit") made.gives = "little";
      return made;
    });

  const waits: fc.Arbitrary<Part> = fc.oneof(
    fc.record({ is: fc.constant("sleep" as const), milliseconds: delay }),
    fc.constant<Part>({ is: "signal" }),
    fc.record({
      is: fc.constant("approve" as const),
      verdict: fc.constantFrom<Verdict>("approve", "approve", "reject"),
    }),
  );

  const limit: fc.Arbitrary<Limit> = timed
    ? fc.oneof(
        { weight: 3, arbitrary: fc.record({ steps: fc.integer({ min: 0, max: 5 }) }) },
        { weight: 1, arbitrary: fc.record({ milliseconds: fc.integer({ min: 0, max: 10 }) }) },
      )
    : fc.record({ steps: fc.integer({ min: 0, max: 8 }) });

  function part(level: number): fc.Arbitrary<Part> {
    const leaf: fc.Arbitrary<Part> = fc.oneof(
      { weight: 4, arbitrary: fc.record({ is: fc.constant("step" as const), doing }) },
      { weight: 1, arbitrary: waits },
    );
    if (level <= 0) return leaf;
    const inner = part(level - 1);
    const parts = fc.array(inner, { minLength: 1, maxLength: 3 });
    const body = fc
      .record({
        is: fc.constant("body" as const),
        acts: acts(level - 1, 5),
        plain: fc.boolean(),
        budget: rarely(limit),
      })
      .map(({ budget, ...rest }) => ({ ...rest, ...(budget !== null && { budget }) }));
    return fc.oneof(
      { weight: 2, arbitrary: leaf },
      { weight: 5, arbitrary: body },
      { weight: 2, arbitrary: fc.record({ is: fc.constant("sequence" as const), parts }) },
      {
        weight: 3,
        arbitrary: fc.record({
          is: fc.constant("parallel" as const),
          parts,
          adopt,
          at: fc.constantFrom(1, 2, 9),
        }),
      },
      ...(timed ? [{ weight: 3, arbitrary: fc.record({ is: fc.constant("race" as const), parts }) }] : []),
      {
        weight: 1,
        arbitrary: fc.record({
          is: fc.constant("loop" as const),
          part: inner,
          max: fc.constantFrom(1, 2, 3),
          enough: fc.constantFrom(null, 1, 2, 4),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          is: fc.constant("retry" as const),
          part: inner,
          attempts: fc.constantFrom(1, 2, 3),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ is: fc.constant("branch" as const), parts, none: fc.boolean() }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          is: fc.constant("map" as const),
          part: inner,
          inputs: fc.constantFrom(0, 1, 2, 3),
          at: fc.constantFrom(1, 2, 9),
        }),
      },
    );
  }

  function act(level: number): fc.Arbitrary<Act> {
    const simple: fc.Arbitrary<Act> = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.constantFrom<Act>({ do: "say" }, { do: "note" }, { do: "note" }, { do: "place" }),
      },
      { weight: 1, arbitrary: fc.constant<Act>({ do: "throw" }) },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant("ask" as const),
          what: fc.constantFrom<"now" | "random" | "uuid">("now", "random", "uuid"),
        }),
      },
      { weight: 5, arbitrary: fc.record({ do: fc.constant("call" as const), doing }) },
      ...(timed ? [{ weight: 1, arbitrary: fc.record({ do: fc.constant("same" as const), delay }) }] : []),
    );
    if (level <= 0) return simple;
    const inner = acts(level - 1, 3);
    const sides = fc.array(inner, { minLength: 2, maxLength: 3 });
    const asked: fc.Arbitrary<Asked> = fc
      .record({ doing, inside: rarely(inner, 3) })
      .map(({ doing: what, inside }) => ({ doing: what, ...(inside !== null && { inside }) }));
    return fc.oneof(
      { weight: 4, arbitrary: simple },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("part" as const), part: part(level - 1) }) },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant("requests" as const),
          requests: fc.array(asked, { minLength: 0, maxLength: 4 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant("split" as const),
          sides,
          arrival: timed ? fc.boolean() : fc.constant(false),
          adopt,
        }),
      },
      ...(timed
        ? [
            {
              weight: 2,
              arbitrary: fc.record({
                do: fc.constant("first" as const),
                sides,
                any: fc.boolean(),
                left: fc.boolean(),
                adopt,
              }),
            },
          ]
        : []),
      { weight: 1, arbitrary: fc.record({ do: fc.constant("twins" as const), acts: inner }) },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant("detach" as const), acts: inner, merge: fc.boolean() }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ do: fc.constant("try" as const), acts: inner, evidence: fc.boolean() }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("finally" as const), acts: inner }) },
    );
  }

  function acts(level: number, most: number): fc.Arbitrary<Acts> {
    return fc.array(act(level), { minLength: 0, maxLength: most });
  }

  return fc
    .record({
      root: part(depth),
      budget: rarely(fc.integer({ min: 0, max: 8 }), 6),
      abort: timed
        ? rarely(fc.record({ calls: fc.integer({ min: 0, max: 6 }), wait: fc.integer({ min: 0, max: 3 }) }))
        : fc.constant(null),
      patience: fc.constantFrom(0, 1_000),
      salted: rarely(fc.constant(true)),
      eager: timed ? fc.boolean() : fc.constant(false),
    })
    .map(({ budget, abort, salted, ...rest }) => ({
      ...rest,
      salted: salted === true,
      ...(budget !== null && { budget }),
      ...(abort !== null && { abort }),
    }));
}

/** Whether a program gives the same result each time it is run: nothing that fails has others at its side to stop. */
export function isSteady(program: Program): boolean {
  const { root, abort } = program;
  // Whether something is done in time is not up to the program.
  const hurried = /"timeout":\d/.test(JSON.stringify(root));
  return abort === undefined && !hurried && steady(root, program.budget !== undefined);
}

function steady(part: Part, limited: boolean): boolean {
  switch (part.is) {
    case "race":
      return false;
    case "parallel":
      return (
        part.parts.every((one) => steady(one, limited)) &&
        (part.parts.length === 1 || !part.parts.some((one) => mayFail(one, limited)))
      );
    case "map":
      return steady(part.part, limited) && (part.inputs < 2 || !mayFail(part.part, limited));
    case "sequence":
    case "branch":
      return part.parts.every((one) => steady(one, limited));
    case "loop":
    case "retry":
      return steady(part.part, limited);
    case "body":
      return part.budget !== undefined && "milliseconds" in part.budget
        ? false
        : part.acts.every((act) => steadyAct(act, limited || part.budget !== undefined));
    default:
      return true;
  }
}

function steadyAct(act: Act, limited: boolean): boolean {
  switch (act.do) {
    case "first":
    case "same":
      return false;
    case "part":
      return steady(act.part, limited);
    case "split":
      return (
        !act.arrival && act.sides.every((side) => steadyActs(side, limited) && !mayFailActs(side, limited))
      );
    case "twins":
      return steadyActs(act.acts, limited) && !mayFailActs(act.acts, limited);
    case "requests":
      return (
        // Of several modules side by side, which one comes back first is not up to the program.
        act.requests.filter(({ inside }) => inside !== undefined).length < 2 &&
        act.requests.every(({ inside }) => inside === undefined || steadyActs(inside, limited)) &&
        !(limited && act.requests.some(({ inside }) => inside !== undefined))
      );
    case "detach":
    case "try":
    case "finally":
      return steadyActs(act.acts, limited);
    default:
      return true;
  }
}

const steadyActs = (acts: Acts, limited: boolean): boolean => acts.every((act) => steadyAct(act, limited));
const mayFailActs = (acts: Acts, limited: boolean): boolean => acts.some((act) => actMayFail(act, limited));

function mayFail(part: Part, limited: boolean): boolean {
  switch (part.is) {
    case "body":
      return part.acts.some((act) => actMayFail(act, limited || part.budget !== undefined));
    case "sequence":
    case "parallel":
    case "race":
    case "branch":
      return part.parts.some((one) => mayFail(one, limited));
    case "loop":
      return (part.enough ?? 0) > part.max || mayFail(part.part, limited);
    case "retry":
    case "map":
      return mayFail(part.part, limited);
    case "step":
      return doingMayFail(part.doing);
    case "approve":
      return part.verdict === "reject";
    default:
      return false;
  }
}

function actMayFail(act: Act, limited: boolean): boolean {
  switch (act.do) {
    case "throw":
    case "place":
      return true;
    case "part":
      return mayFail(act.part, limited);
    case "call":
      return doingMayFail(act.doing);
    case "requests":
      return (
        limited || act.requests.some(({ inside }) => inside !== undefined && mayFailActs(inside, limited))
      );
    case "split":
    case "first":
      return act.sides.some((side) => mayFailActs(side, limited));
    case "twins":
    case "detach":
    case "try":
    case "finally":
      return mayFailActs(act.acts, limited);
    default:
      return false;
  }
}

function doingMayFail({ refused, gives, approval, timeout }: Doing): boolean {
  return (
    refused === ALWAYS || gives === "unfit" || gives === "error" || approval === "reject" || timeout !== null
  );
}

/**
 * The same program with one of the things changed that it says or notes, chosen by a number, wherever that is. Every
 * effect stays where it was, and is asked for in the same words.
 */
export function changed(program: Program, number: number): Program {
  const places = countSaid(program.root);
  let left = places === 0 ? -1 : number % places;
  const change = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(change);
    if (typeof value !== "object" || value === null) return value;
    if (isSaid(value) && left-- === 0) return { do: (value as Act).do === "say" ? "note" : "say" };
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, change(inner)]));
  };
  return change(program) as Program;
}

export function countSaid(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value).reduce<number>((sum, one) => sum + countSaid(one), 0);
  return inner + (isSaid(value) ? 1 : 0);
}

function isSaid(value: object): boolean {
  const { do: kind } = value as { readonly do?: unknown };
  return kind === "say" || kind === "note";
}
