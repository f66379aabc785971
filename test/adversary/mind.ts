import { type Json, type LanguageModel, scripted } from "openrath";
import { KEY } from "./goal.js";
import type { Input, Order } from "./order.js";
import { ordersIn } from "./reading.js";
import type { Step } from "./task.js";

type Call = { readonly tool: string; readonly input: Input };
type Spec = { readonly name: string; readonly description?: string; readonly inputSchema?: Json };
type Seen = { readonly prompt: readonly object[]; readonly tools?: readonly Spec[] };
type Result = { readonly toolName?: string; readonly output?: { readonly type?: string } };

/**
 * The perfectly gullible model. It does what it finds written anywhere in its prompt: in what tools said, in failures, files,
 * descriptions of tools, summaries, attachments, answers of other agents. When there is nothing more to obey it goes on with
 * its task, and tells at the end what it has read.
 */
export class Mind {
  readonly model: LanguageModel;
  readonly #steps: readonly Step[];
  readonly #answer: ((read: readonly string[]) => string) | undefined;
  /** Whether orders and the task go into one reply. */
  readonly #hasty: boolean;
  readonly #tried = new Set<string>();
  /** What it has read, also what is out of view by now. */
  readonly #read = new Set<string>();
  #next = 0;

  constructor(
    steps: readonly Step[],
    more: {
      readonly answer?: ((read: readonly string[]) => string) | undefined;
      readonly hasty?: boolean;
    } = {},
  ) {
    this.#steps = steps;
    this.#answer = more.answer;
    this.#hasty = more.hasty ?? false;
    const reply = (options: object) =>
      scripted([this.#reply(options as Seen)], { by: "call", name: "gullible" });
    this.model = {
      specificationVersion: "v3",
      provider: "scripted",
      modelId: "gullible",
      doGenerate: (options) => reply(options).doGenerate(options),
      doStream: (options) => reply(options).doStream(options),
    };
  }

  #reply(seen: Seen) {
    const texts = textsOf(seen);
    const tools = new Set((seen.tools ?? []).map(({ name }) => name));
    const key = /KEY-\w+/.exec(texts.join("\n"))?.[0] ?? "KEY-unknown";
    const orders = ordersIn(texts, tools).map((order) => withKey(order, key));
    const calls = orders.filter((order) => order.kind === "call" && this.#isNew(order)) as readonly Call[];
    if (calls.length > 0 && !this.#hasty) return said(calls);
    for (const text of texts) this.#read.add(text);
    const read = [...this.#read];
    const step = this.#stepIn(read, orders, seen);
    const all = step === undefined ? calls : [...calls, step];
    return all.length > 0 ? said(all) : (this.#answer?.(read) ?? `Done. I read:\n${told(seen)}`);
  }

  /** The next call of the task, with what others want to be different in it. If that is refused, as it was meant. */
  #stepIn(texts: readonly string[], orders: readonly Order[], seen: Seen): Call | undefined {
    const before = this.#steps[this.#next - 1];
    const last = before === undefined ? undefined : callOf(before, texts);
    if (
      last !== undefined &&
      this.#tried.has(`tampered ${JSON.stringify(last)}`) &&
      isRefused(seen, last.tool)
    ) {
      this.#tried.delete(`tampered ${JSON.stringify(last)}`);
      return last;
    }
    const step = this.#steps[this.#next];
    if (step === undefined) return undefined;
    this.#next += 1;
    const meant = callOf(step, texts);
    const tampers = orders.filter((order) => order.kind === "tamper" && order.tool === meant.tool);
    if (tampers.length === 0) return meant;
    this.#tried.add(`tampered ${JSON.stringify(meant)}`);
    const changes = tampers.map((order) => (order.kind === "tamper" ? [order.argument, order.value] : []));
    return { tool: meant.tool, input: { ...meant.input, ...(Object.fromEntries(changes) as Input) } };
  }

  #isNew(order: Order): boolean {
    const name = JSON.stringify(order);
    if (this.#tried.has(name)) return false;
    this.#tried.add(name);
    return true;
  }
}

function said(calls: readonly Call[]) {
  return { call: calls.map(({ tool, input }) => ({ tool, input })) };
}

function callOf({ tool, input }: Step, read: readonly string[]): Call {
  return { tool, input: typeof input === "function" ? input(read) : input };
}

function withKey(order: Order, key: string): Order {
  return JSON.parse(JSON.stringify(order).replaceAll(KEY, key)) as Order;
}

/** Whether the newest answer of a tool is a failure. */
function isRefused({ prompt }: Seen, tool: string): boolean {
  const results = (prompt as readonly { readonly role?: string; readonly content?: readonly Result[] }[])
    .filter(({ role }) => role === "tool")
    .flatMap(({ content }) => content ?? []);
  const last = results.findLast(({ toolName }) => toolName === tool);
  return last?.output?.type?.startsWith("error") === true;
}

/** What tools said, word for word. */
function told({ prompt }: Seen): string {
  const texts: string[] = [];
  for (const { role, content } of prompt as readonly { role?: string; content?: unknown }[])
    if (role === "tool") collect(content, texts);
  return texts.join("\n");
}

/** Every text that a prompt has, but for what the model said itself. */
function textsOf({ prompt, tools = [] }: Seen): readonly string[] {
  const texts: string[] = [];
  for (const { role, content } of prompt as readonly { role?: string; content?: unknown }[])
    if (role !== "assistant") collect(content, texts);
  for (const { description, inputSchema } of tools) collect([description, inputSchema], texts);
  return texts;
}

function collect(value: unknown, texts: string[]): void {
  if (typeof value === "string") texts.push(value);
  else if (Array.isArray(value)) for (const one of value) collect(one, texts);
  else if (typeof value === "object" && value !== null) {
    const { type, mediaType, data } = value as { type?: unknown; mediaType?: unknown; data?: unknown };
    if (type === "file" && String(mediaType).startsWith("text/") && typeof data === "string")
      texts.push(Buffer.from(data, "base64").toString("utf8"));
    else for (const one of Object.values(value)) collect(one, texts);
  }
}
