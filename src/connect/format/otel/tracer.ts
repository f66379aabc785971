import { type Fact, type FactId, type FactOf, goesOnFrom, type Session } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { Subject } from "../exchange.js";
import { GEN_AI, OPERATION, OURS, SESSION } from "./conventions.js";
import { callAttributes, type Detail, errorOf, eventOf, memoryOf, outcomeAttributes } from "./describe.js";
import type { Attributes, Span } from "./span.js";
import { CLIENT, INTERNAL, later, nanosecondsOf, spanIdOf, traceIdOf } from "./span.js";

/** Where in the record a fact stands: what encloses it, what was done last, and on which branch. */
type Place = {
  readonly root: FactId;
  readonly enclosing: Open | undefined;
  readonly latest: Span | undefined;
  readonly branch: string;
  readonly sandbox: string | undefined;
};
type Ids = Pick<Span, "traceId" | "spanId" | "parentSpanId">;
type Named = { readonly name: string; readonly kind?: Span["kind"]; readonly attributes: Attributes };
/** A run or a module at work, and what it is part of. */
type Open = { readonly span: Span; readonly around: Open | undefined };

/** The spans of a session: one trace for each run, and one for what happened outside of runs. */
export function spansOf(
  { session, name }: Pick<Subject, "session" | "name">,
  detail: Detail,
): readonly Span[] {
  return new Tracer(session, name ?? "session", detail).trace();
}

class Tracer {
  readonly #head: Session;
  readonly #name: string;
  readonly #detail: Detail;
  readonly #configs = new Map<FactId, FactOf<"agent-configure">>();
  readonly #spans: Span[] = [];
  readonly #places = new Map<FactId, Place>();
  /** The span of a call, a run or a module, by the fact that began it. */
  readonly #begun = new Map<FactId, { readonly span: Span; readonly node: Session }>();
  readonly #roots = new Map<FactId, Span>();
  readonly #unfinished = new Set<Span>();
  readonly #agents = new Set<string>();
  #conversation = "";

  constructor(head: Session, name: string, detail: Detail) {
    this.#head = head;
    this.#name = name;
    this.#detail = detail;
  }

  trace(): readonly Span[] {
    for (const { fact, id } of this.#head.history()) {
      if (fact.type === "agent-configure") {
        this.#agents.add(fact.agent);
        this.#configs.set(id, fact);
      } else if (fact.type === "model-call" && fact.agent !== undefined) this.#agents.add(fact.agent);
    }
    for (const node of this.#head.history()) {
      if (this.#conversation === "") this.#conversation = node.id;
      this.#places.set(node.id, this.#step(node));
    }
    for (const span of this.#unfinished) span.attributes[OURS.pending] = true;
    return this.#spans;
  }

  #step(node: Session): Place {
    const { fact } = node;
    const before = this.#before(node);
    this.#reach(before.enclosing, fact.at);
    switch (fact.type) {
      case "session-start":
      case "session-detach":
        return before;
      case "run-start":
      case "module-enter":
        return this.#enter(node, fact, before);
      case "run-end":
      case "module-exit":
        return this.#leave(fact, before);
      case "branch-fork": {
        const place = { ...before, branch: fact.name };
        return { ...place, latest: this.#fork(node, fact, place) };
      }
      case "branch-merge":
        return { ...before, latest: this.#merge(node, fact, before) };
      case "placement-change":
        return { ...before, sandbox: fact.sandbox };
      case "model-call":
      case "tool-call":
      case "step-call":
        return { ...before, latest: this.#call(node, fact, before) };
      case "model-reply":
      case "model-failure":
      case "tool-result":
      case "tool-failure":
      case "step-result":
      case "step-failure":
        this.#outcome(fact);
        return before;
      default:
        return this.#other(node, before);
    }
  }

  /** Where the fact before left off; a merge goes on where the side that it adopts does. */
  #before(node: Session): Place {
    const { parentIds: ids } = node;
    if (ids.length === 0)
      return { root: node.id, enclosing: undefined, latest: undefined, branch: "main", sandbox: undefined };
    const first = this.#places.get(ids[0] as FactId) as Place;
    const chosen = this.#places.get(goesOnFrom(node)?.id ?? (ids[0] as FactId)) as Place;
    return { ...chosen, enclosing: first.enclosing, root: first.root };
  }

  /** Whatever is at work is at work until then at least. */
  #reach(open: Open | undefined, at: string): void {
    const time = nanosecondsOf(at);
    for (let one = open; one !== undefined; one = one.around)
      if (this.#unfinished.has(one.span)) one.span.end = later(one.span.end, time);
  }

  #enter(node: Session, fact: FactOf<"run-start"> | FactOf<"module-enter">, before: Place): Place {
    const isAgent = this.#agents.has(fact.module);
    const operation = isAgent ? OPERATION.agent : OPERATION.workflow;
    const isRun = fact.type === "run-start";
    const span = this.#span(node, isRun ? { ...before, enclosing: undefined } : before, {
      name: `${operation} ${fact.module}`,
      trace: isRun ? traceIdOf(node.id) : undefined,
      attributes: { [GEN_AI.operation]: operation, [isAgent ? GEN_AI.agent : GEN_AI.workflow]: fact.module },
    });
    if (isRun) {
      link(span, before.latest, "continues");
      const { from } = fact;
      if (from !== undefined)
        span.links.push({
          traceId: traceIdOf(from.start),
          spanId: spanIdOf(from.start),
          attributes: { [OURS.link]: from.again === true ? "retry" : "what-if" },
        });
    }
    this.#unfinished.add(span);
    this.#begun.set(node.id, { span, node });
    return { ...before, latest: span, enclosing: { span, around: isRun ? undefined : before.enclosing } };
  }

  #leave(fact: FactOf<"run-end"> | FactOf<"module-exit">, before: Place): Place {
    const begun = this.#begun.get(fact.of);
    if (begun === undefined) return before;
    const { span } = begun;
    this.#unfinished.delete(span);
    span.end = later(span.start, nanosecondsOf(fact.at));
    if (fact.error !== undefined) this.#fail(span, fact.error);
    if (span.attributes[OURS.branch] !== before.branch) span.attributes[OURS.endBranch] = before.branch;
    const around = this.#places.get(begun.node.parentIds[0] as FactId);
    return { ...before, enclosing: around?.enclosing };
  }

  #fork(node: Session, fact: FactOf<"branch-fork">, place: Place): Span {
    const attributes = { [OURS.operation]: "fork", ...(this.#detail.content && why(fact.why)) };
    const span = this.#span(node, place, { name: `fork ${fact.name}`, attributes });
    link(span, place.latest, "fork");
    return span;
  }

  #merge(node: Session, fact: FactOf<"branch-merge">, place: Place): Span {
    const span = this.#span(node, place, {
      name: "merge",
      attributes: {
        [OURS.operation]: "merge",
        [OURS.adopt]: fact.adopt,
        ...(this.#detail.content && why(fact.why)),
      },
    });
    for (const [index, id] of node.parentIds.entries())
      link(span, this.#places.get(id)?.latest, ["ours", "theirs"][index] ?? `side ${index}`);
    return span;
  }

  #call(
    node: Session,
    fact: FactOf<"model-call"> | FactOf<"tool-call"> | FactOf<"step-call">,
    before: Place,
  ): Span {
    const { name, attributes } = callAttributes(node, fact, this.#configs, this.#detail);
    const kind = fact.type === "model-call" ? CLIENT : INTERNAL;
    const span = this.#span(node, before, { name, kind, attributes });
    this.#unfinished.add(span);
    this.#begun.set(node.id, { span, node });
    return span;
  }

  #outcome(fact: Outcome): void {
    const begun = this.#begun.get(fact.of);
    if (begun === undefined) return;
    const { span } = begun;
    this.#unfinished.delete(span);
    span.end = later(span.start, nanosecondsOf(fact.at));
    Object.assign(span.attributes, outcomeAttributes(fact, begun.node, this.#detail));
    if ("error" in fact) this.#fail(span, fact.error);
    const enclosing = this.#places.get(begun.node.id)?.enclosing;
    // The provider of an agent is that of its model.
    const provider = span.attributes[GEN_AI.provider];
    if (provider !== undefined && enclosing?.span.attributes[GEN_AI.agent] !== undefined)
      enclosing.span.attributes[GEN_AI.provider] ??= provider;
  }

  #other(node: Session, before: Place): Place {
    const memory = memoryOf(node.fact, this.#detail);
    if (memory !== undefined) return { ...before, latest: this.#span(node, before, memory) };
    const event = eventOf(node, this.#detail);
    if (event === undefined) return before;
    const of = (node.fact as { readonly of?: FactId }).of;
    const about = of === undefined ? undefined : this.#begun.get(of)?.span;
    const span = about ?? before.enclosing?.span ?? this.#session(before, node.fact.at);
    span.events.push(event);
    return before;
  }

  /** The span that holds what happens outside of runs, made when there is something to hold. */
  #session({ root }: Place, at: string): Span {
    let span = this.#roots.get(root);
    if (span === undefined) {
      const attributes = {
        [GEN_AI.operation]: OPERATION.workflow,
        [GEN_AI.workflow]: this.#name,
        [OURS.operation]: "session",
        [OURS.fact]: root,
        ...this.#ids(),
      };
      const name = `${OPERATION.workflow} ${this.#name}`;
      span = this.#begin(at, { traceId: traceIdOf(root), spanId: spanIdOf(root) }, { name, attributes });
      this.#roots.set(root, span);
    }
    span.end = later(span.end, nanosecondsOf(at));
    return span;
  }

  #span(
    node: Session,
    place: Place,
    { trace, attributes, ...more }: Named & { readonly trace?: string | undefined },
  ): Span {
    const { at } = node.fact;
    const parent = trace === undefined ? (place.enclosing?.span ?? this.#session(place, at)) : undefined;
    const traceId = trace ?? (parent as Span).traceId;
    const ids = { traceId, spanId: spanIdOf(node.id), ...defined({ parentSpanId: parent?.spanId }) };
    const about = { ...attributes, ...this.#ids(), ...lineageOf(node, place) };
    return this.#begin(at, ids, { ...more, attributes: about });
  }

  #begin(at: string, ids: Ids, { name, kind = INTERNAL, attributes }: Named): Span {
    const start = nanosecondsOf(at);
    const span: Span = { ...ids, name, kind, start, end: start, attributes, events: [], links: [] };
    this.#spans.push(span);
    return span;
  }

  #ids(): Attributes {
    return { [GEN_AI.conversation]: this.#conversation, [SESSION]: this.#conversation };
  }

  #fail(span: Span, error: Parameters<typeof errorOf>[0]): void {
    const { attributes, message } = errorOf(error, this.#detail);
    Object.assign(span.attributes, attributes);
    span.error = message === undefined ? {} : { message };
  }
}

type Outcome = Extract<
  Fact,
  { readonly type: `${"model" | "tool" | "step"}-${"reply" | "result" | "failure"}` }
>;

function lineageOf(node: Session, { branch, sandbox }: Place): Attributes {
  const { by, run, seq } = node.fact;
  return {
    [OURS.fact]: node.id,
    [OURS.parents]: node.parentIds,
    [OURS.branch]: branch,
    [OURS.by]: by,
    ...defined({ [OURS.run]: run, [OURS.seq]: seq, [OURS.sandbox]: sandbox }),
  };
}

function link(span: Span, to: Span | undefined, as: string): void {
  if (to !== undefined)
    span.links.push({ traceId: to.traceId, spanId: to.spanId, attributes: { [OURS.link]: as } });
}

function why(reason: unknown): Attributes {
  return typeof reason === "string" ? { [OURS.why]: reason } : {};
}
