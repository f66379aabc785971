import { canonical, type FactId, type Json, type Session } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { agentNamed, type FieldReader, type Fields, isSame, toolNamed } from "../fields.js";
import { keepRest, UNKNOWN_TIME } from "../intake.js";
import { AI } from "./ai-sdk.js";
import { inputMessages } from "./content.js";
import { EVALUATION_EVENT, GEN_AI, OURS } from "./conventions.js";
import { MEMORY_NOTE } from "./describe.js";
import type { ReadEvent, ReadSpan } from "./parse.js";
import { heard, replyParts } from "./said.js";
import { timeOf } from "./span.js";
import { chatIn, failureIn, type Understood } from "./understand.js";
import { detailOf, isExact, plainJson, toolIn, valueIn, wordsOf } from "./value.js";

const GATHERED = "these branches were not merged; they are gathered so that one session has them all";

/** A span with what was understood of it, and the spans below it. */
export type Branch = { readonly span: ReadSpan; readonly is: Understood; readonly below: readonly Branch[] };

/** Makes a session of spans: each is entered, what is below it is told, and it is left. */
export class Builder {
  readonly #heads = new Map<string, Session>();
  readonly #branchOf = new Map<string, string>();
  readonly #configs = new Map<string, FactId>();
  #branch = "main";
  kept = false;

  constructor(started: Session) {
    this.#heads.set(this.#branch, started);
  }

  /** Everything of one trace, without recursion: spans may lie deep. */
  add(root: Branch): void {
    const open: { readonly branch: Branch; readonly close: (() => void) | undefined; next: number }[] = [
      { branch: root, close: this.#enter(root, true), next: 0 },
    ];
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const below = top.branch.below[top.next++];
      if (below !== undefined) open.push({ branch: below, close: this.#enter(below, false), next: 0 });
      else {
        top.close?.();
        open.pop();
      }
    }
  }

  /** The session with all branches. */
  finish(): Session {
    const last = this.#head;
    const past = new Set<FactId>();
    for (const { id } of last.history()) past.add(id);
    const others = [...new Set(this.#heads.values())].filter(({ id }) => !past.has(id));
    const apart = others.filter((one) => !others.some((other) => other !== one && other.descendsFrom(one)));
    if (apart.length === 0) return last;
    return last.merge(apart, { adopt: "none", why: GATHERED, at: last.fact.at, by: "runtime" });
  }

  get #head(): Session {
    return this.#heads.get(this.#branch) as Session;
  }

  set #head(session: Session) {
    this.#heads.set(this.#branch, session);
  }

  #append(fact: Parameters<Session["append"]>[0]): FactId {
    this.#head = this.#head.append(fact);
    return this.#head.id;
  }

  /** Tells how a span began; what comes back tells how it ended. */
  #enter({ span, is }: Branch, isRoot: boolean): (() => void) | undefined {
    const at = timeOf(span.start) ?? UNKNOWN_TIME;
    const end = timeOf(span.end) ?? at;
    const branch = is.left.text(OURS.branch);
    if (is.role !== "fork" && branch !== undefined && this.#heads.has(branch)) this.#branch = branch;
    switch (is.role) {
      case "fork":
        this.#fork(span, branch ?? span.name.replace(/^fork /, ""), is.left, at);
        return this.#closing(span, is, undefined, end);
      case "merge":
        this.#merge(span, is.left, at);
        return this.#closing(span, is, undefined, end);
      case "session":
        is.left.text(GEN_AI.workflow);
        this.#branchOf.set(span.spanId, this.#branch);
        return this.#closing(span, is, undefined, end);
      case "agent":
      case "workflow":
        return this.#module(span, is, isRoot, at, end);
      case "chat":
        return this.#chat(span, is, at, end);
      case "tool":
        return this.#tool(span, is, at, end);
      case "memory":
        this.#memory(span, is, at);
        return this.#closing(span, is, undefined, end);
      case "step":
        return this.#step(span, is, at, end);
    }
  }

  #module(
    span: ReadSpan,
    { left, role, ...is }: Understood,
    isRoot: boolean,
    at: string,
    end: string,
  ): () => void {
    const name =
      left.text(role === "agent" ? GEN_AI.agent : GEN_AI.workflow) ??
      left.text("agent.name") ??
      left.text(AI.function) ??
      span.name;
    const nonce = `${span.traceId}/${span.spanId}`;
    const started = isRoot
      ? this.#append({ type: "run-start", nonce, module: name, at })
      : this.#append({ type: "module-enter", module: name, at });
    this.#branchOf.set(span.spanId, this.#branch);
    // An agent that asks no model would be taken for a workflow.
    if (role === "agent" && !this.#configs.has(canonical({ agent: name })))
      this.#configure({ agent: name }, at);
    const failure = failureIn(span, left);
    const close = this.#closing(span, { left, role, ...is }, started, end);
    const branch = left.text(OURS.endBranch);
    return () => {
      if (branch !== undefined && this.#heads.has(branch)) this.#branch = branch;
      const error = failure === undefined ? {} : { error: failure };
      this.#append({ type: isRoot ? "run-end" : "module-exit", of: started, ...error, at: end });
      close();
    };
  }

  #chat(span: ReadSpan, is: Understood, at: string, end: string): () => void {
    const { left } = is;
    const asked = left.rest?.[GEN_AI.inputMessages] === undefined ? AI.prompt : GEN_AI.inputMessages;
    const raw = left.rest?.[asked];
    const chat = chatIn(left);
    const agent = chat.agent;
    this.#head = heard(this.#head, chat.input, agent, at);
    if (raw !== undefined && !isSame(inputMessages(this.#head).messages, chat.input)) left.keep(asked, raw);
    const { parameters, instructions, tools, json } = chat;
    const config = this.#configure(
      {
        agent: agent ?? "",
        ...defined({ instructions }),
        ...(tools !== undefined && { tools: tools.map(toolIn) }),
        ...(json && { output: true }),
        ...(Object.keys(parameters).length > 0 && { parameters }),
      },
      at,
    );
    if (tools?.some((tool) => !isExact(tool))) left.keep(GEN_AI.toolDefinitions, JSON.stringify(tools));
    const by = agentNamed(agent);
    const model = { model: chat.model, ...defined({ agent }), config };
    const call = this.#append({ type: "model-call", ...model, at, by });
    this.#branchOf.set(span.spanId, this.#branch);
    const error = failureIn(span, left);
    if (chat.provider !== undefined) left.keep(GEN_AI.provider, chat.provider);
    const pending = left.flag(OURS.pending) === true;
    const close = this.#closing(span, is, call, end);
    return () => {
      if (error !== undefined) this.#append({ type: "model-failure", of: call, error, at: end });
      else if (!pending)
        this.#append({
          type: "model-reply",
          of: call,
          content: wordsOf(replyParts(chat.output)),
          finish: chat.finish ?? "unknown",
          usage: chat.usage ?? { input: 0, output: 0 },
          ...(chat.usage === undefined && { meta: NO_USAGE }),
          ...defined({ cost: chat.cost, model: chat.responseModel, response: chat.response, agent }),
          at: end,
        });
      close();
    };
  }

  #tool(span: ReadSpan, is: Understood, at: string, end: string): () => void {
    const { left } = is;
    const name =
      left.text(GEN_AI.toolName) ??
      left.text("tool.name") ??
      left.text(AI.toolName) ??
      span.name.replace(/^execute_tool /, "");
    const call = left.text(GEN_AI.toolCall) ?? left.text(AI.toolCall) ?? left.text("tool_call.id");
    left.drop(GEN_AI.toolType, "function");
    const input =
      valueIn(left, GEN_AI.toolArguments) ??
      valueIn(left, AI.toolArguments) ??
      valueIn(left, "input.value") ??
      valueIn(left, "langfuse.observation.input");
    const output =
      valueIn(left, GEN_AI.toolResult) ??
      valueIn(left, AI.toolResult) ??
      valueIn(left, "output.value") ??
      valueIn(left, "langfuse.observation.output");
    const author = left.text(OURS.by);
    const by = author?.startsWith("agent") ? (author as `agent:${string}`) : ("agent" as const);
    if (author !== undefined && author !== by) left.keep(OURS.by, author);
    const asked = this.#append({
      type: "tool-call",
      name,
      input: input ?? {},
      ...defined({ call }),
      at,
      by,
    });
    this.#branchOf.set(span.spanId, this.#branch);
    const error = failureIn(span, left);
    const pending = left.flag(OURS.pending) === true;
    const close = this.#closing(span, is, asked, end);
    return () => {
      const from = { of: asked, at: end, by: toolNamed(name) };
      if (error !== undefined) this.#append({ type: "tool-failure", ...from, error });
      else if (!pending) this.#append({ type: "tool-result", ...from, output: output ?? null });
      close();
    };
  }

  #step(span: ReadSpan, is: Understood, at: string, end: string): () => void {
    const { left } = is;
    const name = left.text(OURS.step) ?? span.name;
    const input = valueIn(left, OURS.input);
    const output = valueIn(left, OURS.value);
    const step = this.#append({ type: "step-call", name, ...defined({ input }), at });
    this.#branchOf.set(span.spanId, this.#branch);
    const error = failureIn(span, left);
    const pending = left.flag(OURS.pending) === true;
    const close = this.#closing(span, is, step, end);
    return () => {
      if (error !== undefined) this.#append({ type: "step-failure", of: step, error, at: end });
      else if (!pending) this.#append({ type: "step-result", of: step, value: output ?? null, at: end });
      close();
    };
  }

  /** Facts about memories want evidence, which spans do not have: what was done is kept in a note that says so. */
  #memory(span: ReadSpan, { left, operation }: Understood, at: string): void {
    const attributes: { [name: string]: Json } = {};
    for (const name of [
      GEN_AI.memoryStore,
      GEN_AI.memoryRecord,
      GEN_AI.memoryCount,
      GEN_AI.memoryQuery,
      GEN_AI.memoryRecords,
    ]) {
      const held = left.json(name);
      if (held !== undefined) attributes[name] = held;
    }
    this.#append({
      type: "note",
      kind: MEMORY_NOTE,
      operation: operation ?? "",
      attributes,
      ...(span.kind === 3 && { remote: true }),
      at,
      by: "runtime",
    });
    this.#branchOf.set(span.spanId, this.#branch);
  }

  #fork(span: ReadSpan, name: string, left: FieldReader, at: string): void {
    const [link] = span.links;
    const from = link === undefined ? undefined : this.#branchOf.get(link.spanId);
    if (from !== undefined) this.#branch = from;
    const why = left.text(OURS.why);
    const forked = this.#head.fork(name, { at, by: "runtime", ...defined({ why }) });
    this.#branch = name;
    this.#head = forked;
    this.#branchOf.set(span.spanId, name);
  }

  #merge(span: ReadSpan, left: FieldReader, at: string): void {
    const branches = span.links.flatMap(({ spanId }) => this.#branchOf.get(spanId) ?? []);
    const sides = [...new Set(branches)].map((branch) => this.#heads.get(branch) as Session);
    const [ours, ...others] = sides;
    this.#branchOf.set(span.spanId, this.#branch);
    if (ours === undefined || others.length === 0) return;
    const adopt = left.json(OURS.adopt);
    const why = left.text(OURS.why);
    const place =
      typeof adopt === "number" && adopt >= 0 && adopt <= others.length ? Math.trunc(adopt) : undefined;
    const side =
      adopt === "ours" || adopt === "both" || adopt === "none" || (adopt === "theirs" && others.length === 1)
        ? adopt
        : place;
    this.#head = ours.merge(others, {
      adopt: side ?? "none",
      at,
      by: "runtime",
      ...defined({ why }),
    });
    // What was merged goes on in one place.
    for (const branch of new Set(branches)) this.#heads.set(branch, this.#head);
  }

  #configure(config: Fields & { readonly agent: string }, at: string): FactId {
    const key = canonical(config);
    const known = this.#configs.get(key);
    // A branch that does not have it yet says it again.
    if (known !== undefined && this.#heads.size === 1) return known;
    const id = this.#append({ type: "agent-configure", ...config, at, by: agentNamed(config.agent) });
    this.#configs.set(key, id);
    return id;
  }

  /** Evaluations of the span, and then what is left of it. */
  #closing(span: ReadSpan, { left }: Understood, of: FactId | undefined, at: string): () => void {
    return () => {
      const events = span.events.filter((event) => !this.#judge(event, of, at));
      for (const name of LINEAGE) left.json(name);
      const { traceId, spanId, parentId, links, name, kind } = span;
      const rest = {
        traceId,
        spanId,
        ...defined({ parentSpanId: parentId }),
        name,
        kind,
        ...defined({ attributes: left.rest }),
        ...(events.length > 0 && { events: events as unknown as Json }),
        ...(links.length > 0 && { links: links as unknown as Json }),
        ...defined({ message: span.message, more: span.rest }),
      };
      if (left.rest !== undefined || events.length > 0) this.kept = true;
      this.#head = keepRest(this.#head, "span", plainJson(rest), at);
    };
  }

  #judge({ name, attributes, time, rest }: ReadEvent, of: FactId | undefined, at: string): boolean {
    const about = attributes[GEN_AI.evaluation];
    if (name !== EVALUATION_EVENT || typeof about !== "string" || rest !== undefined) return false;
    const { [GEN_AI.score]: score, [GEN_AI.label]: label, [GEN_AI.explanation]: explanation } = attributes;
    const said = typeof label === "string" ? PASSED.test(label) : score === 1;
    const detail = typeof explanation === "string" ? detailOf(explanation) : undefined;
    this.#append({
      type: "validation-report",
      name: about,
      passed: said,
      ...(typeof score === "number" && { score }),
      ...defined({ detail, of }),
      at: timeOf(time) ?? at,
      by: "runtime",
    });
    // The words of the conventions are said by the fact; anything else is kept.
    const known = [
      GEN_AI.evaluation,
      GEN_AI.score,
      GEN_AI.label,
      GEN_AI.explanation,
      OURS.fact,
    ] as readonly string[];
    return (
      Object.keys(attributes).every((key) => known.includes(key)) && (label === "pass" || label === "fail")
    );
  }
}

/** Said about an evaluation that was passed, in words that evaluators use. */
const PASSED = /^(pass|passed|correct|true|yes|ok|success|relevant)$/i;
/** Told by the branches of the session itself. */
const LINEAGE: readonly string[] = [OURS.branch, OURS.endBranch];
const NO_USAGE = { otel: { usage: "not told" } };
