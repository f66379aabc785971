import type { Content, Json, Message, Part, Role } from "../../session/index.js";
import { isRecord } from "./content.js";
import {
  edit,
  idOf,
  inputOf,
  isUrl,
  nameOf,
  note,
  optionsOf,
  outputOf,
  outputText,
  partsOf,
  shown,
  text,
  thought,
} from "./part.js";
import type { AssistantPart, FilePart, Output, TextPart } from "./prompt.js";

/** The parts that one side says before the other side's turn. `from` is its first place in the transcript. */
export type Turn =
  | { readonly role: "user"; readonly from: number; readonly parts: (TextPart | FilePart)[] }
  | {
      readonly role: "assistant";
      readonly from: number;
      readonly parts: AssistantPart[];
      /** Calls that wait for us, in order; those that the provider makes itself have their results among the parts. */
      readonly calls: Call[];
      readonly items: Set<string>;
      readonly ids: Map<string, string>;
    };

type Call = {
  readonly call: string;
  readonly id: string;
  readonly name: string;
  output: Output;
  answered: boolean;
  at: number;
};

/** Facts about settled turns: the ids that are taken, and the calls that have their results. */
export type Books = {
  /** The newest call under each id of the record, and before it others with that id that are not answered. */
  readonly calls: Map<string, Call[]>;
  readonly taken: Map<string, number>;
  /** Items that live at the provider: naming one twice is refused there. */
  readonly items: Set<string>;
};

export function emptyBooks(): Books {
  return { calls: new Map(), taken: new Map(), items: new Set() };
}

export function enter(books: Books, turn: Turn): void {
  if (turn.role === "user") return;
  for (const call of turn.calls) {
    const earlier = (books.calls.get(call.call) ?? []).filter((other) => !other.answered);
    books.calls.set(call.call, [...earlier, call]);
  }
  for (const [id, call] of turn.ids) {
    take(books.taken, id, 1);
    const base = idOf(call);
    if (id !== base) take(books.taken, base, Number(id.slice(id.lastIndexOf("-") + 1)));
  }
  for (const item of turn.items) books.items.add(item);
}

/**
 * The turns of a transcript as an agent hears them: its own words as assistant, others' by name. Undefined
 * when a settled call without a result gets one.
 */
export function takeTurns(
  books: Books,
  transcript: readonly Message[],
  from: number,
  agent: string,
): readonly Turn[] | undefined {
  const turns: Turn[] = [];
  const taken = new Map<string, number>();
  const open = new Map<string, Call[]>();
  for (let place = from; place < transcript.length; place++) {
    const message = transcript[place] as Message;
    if (message.author !== undefined && message.author !== agent) say(place, ...toldOf(message));
    else if (message.role === "assistant") assistantSays(message.content, place);
    else if (message.role === "tool") {
      const { call, name, output, error, edited } = message;
      const found =
        output !== undefined || error !== undefined ? edit(outputOf(output, error), edited) : undefined;
      if (toolSays(call, name, found, place) === "settled") return undefined;
    } else userSays(message.role, message.content, place);
  }
  return turns;

  function userSays(role: Role, content: Content, place: number): void {
    const parts = partsOf(content).flatMap((part) => shown(part) ?? []);
    if (parts.length === 0) return;
    // Only the instructions of an agent have a system's authority: a summary is made of what anybody said.
    if (role === "system") say(place, text("[Summary or note of the system:]"), ...parts);
    else say(place, ...parts);
  }

  function say(place: number, ...parts: (TextPart | FilePart)[]): void {
    if (parts.length === 0) return;
    const last = turns.at(-1);
    if (last?.role === "user") last.parts.push(...parts);
    else turns.push({ role: "user", from: place, parts });
  }

  function toolSays(
    call: string,
    name: string,
    output: Output | undefined,
    place: number,
  ): "settled" | undefined {
    const known = open.get(call) ?? books.calls.get(call);
    if (known === undefined) {
      say(place, text(`${unasked(name)}\n${outputText(output ?? outputOf(undefined))}`));
      return undefined;
    }
    const waiting = known.findLast((other) => !other.answered);
    // A waiting request says nothing new, and only the first of its results counts.
    if (output === undefined || waiting === undefined) return undefined;
    if (books.calls.get(call)?.includes(waiting)) return "settled";
    answer(waiting, output, place);
    return undefined;
  }

  function assistantSays(content: Content, place: number): void {
    const all = partsOf(content);
    const seen = (part: Part) => part.type === "tool-call" || part.type === "tool-result" || shown(part);
    if (!all.some(seen)) return;
    const last = turns.at(-1);
    const turn =
      last?.role === "assistant" && last.calls.length === 0
        ? last
        : ({
            role: "assistant",
            from: place,
            parts: [],
            calls: [],
            items: new Set<string>(),
            ids: new Map<string, string>(),
          } satisfies Turn);
    if (turn !== last) turns.push(turn);
    // Reasoning goes back only with the calls or text that followed it.
    const said = all.findLastIndex((part) => part.type === "tool-call" || shown(part)?.type === "text");
    const items = new Map<string, string>();
    all.forEach((part, place) => {
      if (part.type !== "reasoning" || place < said) add(turn, part, items);
    });
    for (const item of items.keys()) turn.items.add(item);
  }

  function add(turn: Turn & { role: "assistant" }, part: Part, items: Map<string, string>): void {
    const item = "meta" in part ? itemOf(part.meta) : undefined;
    const twice = item !== undefined && (isNamed(item) || !isShared(items.get(item), part.type));
    if (item !== undefined && !twice) items.set(item, part.type);
    const options = twice || !("meta" in part) ? {} : optionsOf(part.meta);
    switch (part.type) {
      case "reasoning": {
        const kept = twice ? undefined : thought(part);
        if (kept !== undefined) turn.parts.push(kept);
        return;
      }
      case "tool-call": {
        const id = freshId(part.call);
        const name = nameOf(part.name);
        turn.parts.push({
          type: "tool-call",
          toolCallId: id,
          toolName: name,
          input: inputOf(part.input),
          ...(part.provider === true && { providerExecuted: true }),
          ...options,
        });
        turn.ids.set(id, part.call);
        if (part.provider === true) return;
        const call: Call = { call: part.call, id, name, output: outputOf(undefined), answered: false, at: 0 };
        turn.calls.push(call);
        const others = open.get(part.call) ?? [...(books.calls.get(part.call) ?? [])];
        open.set(part.call, [...others, call]);
        return;
      }
      case "tool-result": {
        const id = [...turn.ids].findLast(([, call]) => call === part.call)?.[0];
        const asked = turn.parts.find((other) => other.type === "tool-call" && other.toolCallId === id);
        const ours = turn.calls.find((call) => call.id === id && !call.answered);
        if (ours !== undefined) answer(ours, failable(part), turn.from);
        else if (asked?.type !== "tool-call")
          turn.parts.push(text(`${unasked(part.name)}\n${outputText(failable(part))}`));
        else if (
          asked.providerExecuted === true &&
          !turn.parts.some((other) => other.type === "tool-result" && other.toolCallId === id)
        )
          turn.parts.push({
            type: "tool-result",
            toolCallId: asked.toolCallId,
            toolName: asked.toolName,
            output: { type: part.failed === true ? "error-json" : "json", value: part.output },
            ...options,
          });
        return;
      }
      default: {
        const piece = shown(part);
        if (piece === undefined) return;
        if (piece.type === "file" && isUrl(piece.data)) turn.parts.push(text(note(piece)));
        else turn.parts.push(twice ? bare(piece) : piece);
      }
    }
  }

  function isNamed(item: string): boolean {
    if (books.items.has(item)) return true;
    return turns.some((turn) => turn.role === "assistant" && turn.items.has(item));
  }

  function freshId(call: string): string {
    const base = idOf(call);
    let id = base;
    while (books.taken.has(id) || taken.has(id)) {
      const count = Math.max(books.taken.get(base) ?? 0, taken.get(base) ?? 0) + 1;
      taken.set(base, count);
      id = `${base.slice(0, 32)}-${count}`;
    }
    take(taken, id, 1);
    return id;
  }
}

function take(taken: Map<string, number>, id: string, count: number): void {
  taken.set(id, Math.max(count, taken.get(id) ?? 0));
}

function answer(call: Call, output: Output, place: number): void {
  call.answered = true;
  call.at = place;
  call.output = output;
}

function failable(part: Part & { type: "tool-result" }): Output {
  const output = outputOf(part.output);
  return part.failed === true ? { type: "error-text", value: outputText(output) } : output;
}

function unasked(name: string): string {
  return `[Result of the tool "${nameOf(name)}", whose call is not in view:]`;
}

function bare(part: TextPart | FilePart): TextPart | FilePart {
  const { providerOptions: _, ...rest } = part;
  return rest;
}

/** Whether a part may name the item that one before it in the same message named: only the pieces of one item do. */
function isShared(before: string | undefined, type: string): boolean {
  return before === undefined || (before === type && type === "reasoning") || type === "tool-result";
}

function itemOf(meta: Json | undefined): string | undefined {
  if (!isRecord(meta)) return undefined;
  for (const options of Object.values(meta))
    if (isRecord(options) && typeof options.itemId === "string") return options.itemId;
  return undefined;
}

/** Another agent's words and tool results, told and not repeated as calls: the hearer may lack the tool. */
export function toldOf(message: Message): readonly (TextPart | FilePart)[] {
  const agent = JSON.stringify(message.author);
  if (message.role === "tool") {
    const { name, output, error, edited } = message;
    const gave = outputText(edit(outputOf(output, error), edited));
    return [text(`[The tool "${nameOf(name)}", called by the agent ${agent}, gave:]\n${gave}`)];
  }
  const parts = partsOf(message.content).flatMap((part) => told(part) ?? []);
  return parts.length === 0 ? [] : [text(`[The agent ${agent} said:]`), ...parts];
}

/** Reasoning and provider metadata stay with the agent that produced them. */
function told(part: Part): TextPart | FilePart | undefined {
  switch (part.type) {
    case "tool-call":
      return text(`[It called the tool "${nameOf(part.name)}" with ${JSON.stringify(part.input)}]`);
    case "tool-result":
      return text(`[The tool "${nameOf(part.name)}" gave:]\n${outputText(outputOf(part.output))}`);
    default: {
      const piece = shown(part);
      return piece && bare(piece);
    }
  }
}
