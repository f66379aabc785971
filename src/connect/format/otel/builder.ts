import { canonical, type FactId, jsonCopy, type Session } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { wordsAlone } from "../../ai-sdk/conversation.js";
import { agentNamed, detailOf, type FieldReader, type Fields, isSame, toolNamed } from "../fields.js";
import { keepRest, UNKNOWN_TIME } from "../intake.js";
import { inputMessages } from "./content.js";
import { EVALUATION_EVENT, GEN_AI, OURS } from "./conventions.js";
import { MEMORY_NOTE } from "./describe.js";
import { AI } from "./dialect.js";
import type { ReadEvent, ReadSpan } from "./parse.js";
import { heard, replyParts } from "./said.js";
import { timeOf } from "./span.js";
import type { Understood } from "./understand.js";
import { chatIn, failureIn, isExact, toolIn, valueIn } from "./understand.js";

const GATHERED = "these branches were not merged; they are gathered so that one session has them all";

/** A span with what was understood of it, and the spans below it. */
export type Branch = { readonly span: ReadSpan; readonly is: Understood; readonly below: readonly Branch[] };

type Times = { readonly at: string; readonly end: string };
/** The fact that a span began with, and what tells how it ended. */
type Begun = { readonly of?: FactId; readonly ended?: () => void };

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
    const open: { readonly branch: Branch; readonly close: () => void; next: number }[] = [
      { branch: root, close: this.#enter(root, true), next: 0 },
    ];
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const below = top.branch.below[top.next++];
      if (below !== undefined) open.push({ branch: below, close: this.#enter(below, false), next: 0 });
      else {
        top.close();
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

  /** Records the beginning of a span; the returned function records its end. */
  #enter(branch: Branch, isRoot: boolean): () => void {
    const { span, is } = branch;
    const at = timeOf(span.start) ?? UNKNOWN_TIME;
    const end = timeOf(span.end) ?? at;
    const begun = this.#begin(branch, isRoot, { at, end });
    this.#branchOf.set(span.spanId, this.#branch);
    return () => {
      begun.ended?.();
      this.#close(span, is, begun.of, end);
    };
  }

  #begin({ span, is }: Branch, isRoot: boolean, times: Times): Begun {
    const { left, role } = is;
    const branch = left.text(OURS.branch);
    if (role === "fork") return this.#fork(span, branch ?? span.name.replace(/^fork /, ""), left, times.at);
    if (branch !== undefined && this.#heads.has(branch)) this.#branch = branch;
    switch (role) {
      case "merge":
        return this.#merge(span, left, times.at);
      case "session":
        left.text(GEN_AI.workflow);
        return {};
      case "agent":
      case "workflow":
        return this.#module(span, is, isRoot, times);
      case "chat":
        return this.#chat(span, left, times);
      case "tool":
        return this.#tool(span, left, times);
      case "memory":
        return this.#memory(span, is, times.at);
      case "step":
        return this.#step(span, left, times);
    }
  }

  #module(span: ReadSpan, { left, role }: Understood, isRoot: boolean, { at, end }: Times): Begun {
    const name =
      left.text(role === "agent" ? GEN_AI.agent : GEN_AI.workflow) ??
      left.text("agent.name") ??
      left.text(AI.function) ??
      span.name;
    const nonce = `${span.traceId}/${span.spanId}`;
    const of = isRoot
      ? this.#append({ type: "run-start", nonce, module: name, at })
      : this.#append({ type: "module-enter", module: name, at });
    // An agent that asks no model would be taken for a workflow.
    if (role === "agent" && !this.#configs.has(canonical({ agent: name })))
      this.#configure({ agent: name }, at);
    const error = failureIn(span, left);
    const branch = left.text(OURS.endBranch);
    const ended = () => {
      if (branch !== undefined && this.#heads.has(branch)) this.#branch = branch;
      this.#append({ type: isRoot ? "run-end" : "module-exit", of, ...defined({ error }), at: end });
    };
    return { of, ended };
  }

  #chat(span: ReadSpan, left: FieldReader, { at, end }: Times): Begun {
    const asked = left.rest?.[GEN_AI.inputMessages] === undefined ? AI.prompt : GEN_AI.inputMessages;
    const raw = left.rest?.[asked];
    const chat = chatIn(left);
    const { agent, parameters, instructions, tools } = chat;
    this.#head = heard(this.#head, chat.input, agent, at);
    if (raw !== undefined && !isSame(inputMessages(this.#head).messages, chat.input)) left.keep(asked, raw);
    const config = this.#configure(
      {
        agent: agent ?? "",
        ...defined({ instructions, tools: tools?.map(toolIn) }),
        ...(chat.json && { output: true }),
        ...(Object.keys(parameters).length > 0 && { parameters }),
      },
      at,
    );
    if (tools?.some((tool) => !isExact(tool))) left.keep(GEN_AI.toolDefinitions, JSON.stringify(tools));
    const model = { model: chat.model, ...defined({ agent }), config };
    const of = this.#append({ type: "model-call", ...model, at, by: agentNamed(agent) });
    const error = failureIn(span, left);
    left.keep(GEN_AI.provider, chat.provider);
    const pending = left.flag(OURS.pending) === true;
    const { usage, cost, responseModel, response } = chat;
    const ended = () => {
      if (error !== undefined) this.#append({ type: "model-failure", of, error, at: end });
      else if (!pending)
        this.#append({
          type: "model-reply",
          of,
          content: wordsAlone(replyParts(chat.output)),
          finish: chat.finish ?? "unknown",
          usage: usage ?? { input: 0, output: 0 },
          ...(usage === undefined && { meta: NO_USAGE }),
          ...defined({ cost, model: responseModel, response, agent }),
          at: end,
        });
    };
    return { of, ended };
  }

  #tool(span: ReadSpan, left: FieldReader, { at, end }: Times): Begun {
    const name =
      left.text(GEN_AI.toolName) ??
      left.text("tool.name") ??
      left.text(AI.toolName) ??
      span.name.replace(/^execute_tool /, "");
    const call = left.text(GEN_AI.toolCall) ?? left.text(AI.toolCall) ?? left.text("tool_call.id");
    left.drop(GEN_AI.toolType, "function");
    const [asked, answered] = ["langfuse.observation.input", "langfuse.observation.output"] as const;
    const input = valueIn(left, GEN_AI.toolArguments, AI.toolArguments, "input.value", asked);
    const output = valueIn(left, GEN_AI.toolResult, AI.toolResult, "output.value", answered);
    const author = left.text(OURS.by);
    const by = author?.startsWith("agent") ? (author as `agent:${string}`) : ("agent" as const);
    if (author !== by) left.keep(OURS.by, author);
    const of = this.#append({ type: "tool-call", name, input: input ?? {}, ...defined({ call }), at, by });
    const error = failureIn(span, left);
    const pending = left.flag(OURS.pending) === true;
    const ended = () => {
      const from = { of, at: end, by: toolNamed(name) };
      if (error !== undefined) this.#append({ type: "tool-failure", ...from, error });
      else if (!pending) this.#append({ type: "tool-result", ...from, output: output ?? null });
    };
    return { of, ended };
  }

  #step(span: ReadSpan, left: FieldReader, { at, end }: Times): Begun {
    const name = left.text(OURS.step) ?? span.name;
    const [input, output] = [valueIn(left, OURS.input), valueIn(left, OURS.value)];
    const of = this.#append({ type: "step-call", name, ...defined({ input }), at });
    const error = failureIn(span, left);
    const pending = left.flag(OURS.pending) === true;
    const ended = () => {
      if (error !== undefined) this.#append({ type: "step-failure", of, error, at: end });
      else if (!pending) this.#append({ type: "step-result", of, value: output ?? null, at: end });
    };
    return { of, ended };
  }

  /** Facts about memories want evidence, which spans do not have: what was done is kept in a note that says so. */
  #memory(span: ReadSpan, { left, operation }: Understood, at: string): Begun {
    const held = MEMORY_FIELDS.map((name) => [name, left.json(name)] as const);
    this.#append({
      type: "note",
      kind: MEMORY_NOTE,
      operation: operation ?? "",
      attributes: defined(Object.fromEntries(held)) as Fields,
      ...(span.kind === 3 && { remote: true }),
      at,
      by: "runtime",
    });
    return {};
  }

  #fork(span: ReadSpan, name: string, left: FieldReader, at: string): Begun {
    // A fork before all other spans has nothing to link to; it leaves the branch of the span around it.
    const from = this.#branchOf.get(span.links[0]?.spanId ?? span.parentId ?? "");
    if (from !== undefined) this.#branch = from;
    const forked = this.#head.fork(name, { at, by: "runtime", ...defined({ why: left.text(OURS.why) }) });
    this.#branch = name;
    this.#head = forked;
    return {};
  }

  #merge(span: ReadSpan, left: FieldReader, at: string): Begun {
    const branches = span.links.flatMap(({ spanId }) => this.#branchOf.get(spanId) ?? []);
    const sides = [...new Set(branches)].map((branch) => this.#heads.get(branch) as Session);
    const [ours, ...others] = sides;
    if (ours === undefined || others.length === 0) return {};
    const adopt = left.json(OURS.adopt);
    const why = left.text(OURS.why);
    const place =
      typeof adopt === "number" && adopt >= 0 && adopt <= others.length ? Math.trunc(adopt) : undefined;
    const side =
      adopt === "ours" || adopt === "both" || adopt === "none" || (adopt === "theirs" && others.length === 1)
        ? adopt
        : place;
    this.#head = ours.merge(others, { adopt: side ?? "none", at, by: "runtime", ...defined({ why }) });
    // Merged branches have one head.
    for (const branch of new Set(branches)) this.#heads.set(branch, this.#head);
    return {};
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

  /** Tells the evaluations of a span, and keeps what is left of it. */
  #close(span: ReadSpan, { left }: Understood, of: FactId | undefined, at: string): void {
    const events = span.events.filter((event) => !this.#judge(event, of, at));
    for (const name of LINEAGE) left.json(name);
    const { traceId, spanId, parentId, links, name, kind, message, rest } = span;
    if (left.rest !== undefined || events.length > 0) this.kept = true;
    const kept = {
      traceId,
      spanId,
      parentSpanId: parentId,
      name,
      kind,
      attributes: left.rest,
      events: events.length > 0 ? events : undefined,
      links: links.length > 0 ? links : undefined,
      message,
      more: rest,
    };
    this.#head = keepRest(this.#head, "span", jsonCopy(kept), at);
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
    const isKnown = Object.keys(attributes).every((key) => EVALUATION.includes(key));
    return isKnown && (label === "pass" || label === "fail");
  }
}

/** Said about an evaluation that was passed, in words that evaluators use. */
const PASSED = /^(pass|passed|correct|true|yes|ok|success|relevant)$/i;
const { evaluation, score, label, explanation, memoryStore, memoryRecord } = GEN_AI;
const EVALUATION: readonly string[] = [evaluation, score, label, explanation, OURS.fact];
const MEMORY_FIELDS = [
  memoryStore,
  memoryRecord,
  GEN_AI.memoryCount,
  GEN_AI.memoryQuery,
  GEN_AI.memoryRecords,
];
/** Told by the branches of the session itself. */
const LINEAGE: readonly string[] = [OURS.branch, OURS.endBranch];
const NO_USAGE = { otel: { usage: "not told" } };
