import { configOf, messagesFor, renderedPrompt } from "../../agent/model/index.js";
import type { FactId, FactOf, Message, Session } from "../../session/index.js";
import { jsonCopy, RathError, transcriptView, Withheld } from "../../session/index.js";
import { type LoadOptions, lineBefore, type Store } from "../../store/index.js";
import { firstLine } from "../../util/index.js";
import { type Answer, Telling } from "./answer.js";
import { turnReadings } from "./reader.js";
import { type Step, stepOf, stepWords } from "./step.js";
import { many, row } from "./words.js";

/** So many messages of a prompt are told one by one; the others are counted, and all of them are in `detail`. */
const MESSAGES = 40;

/** The prompt of a model at a step, as it was rendered, made again from the record and held against its digest. */
export async function whatModelSaw(
  store: Store,
  ref: string,
  step: string | number,
  options: Pick<LoadOptions, "horizon"> = {},
): Promise<Answer> {
  const telling = await Telling.open(store, `What did the model see at step ${step} of ${ref}?`);
  const { reader } = telling;
  const found = await stepOf(reader, await store.resolve(ref), step);
  const call = found.fact.type === "model-call" ? found : await askedBefore(telling, found);
  if (call === undefined) return telling.done();
  const fact = call.fact as FactOf<"model-call">;
  telling.claim`${[call.id]} At ${stepWords(call)} ${fact.by} asked the model ${fact.model} at ${fact.at}.`;
  const session = await store.load(call.id, options);
  try {
    const { text, digest, messages } = renderedPrompt(session);
    telling.claim`${[call.id, ...(fact.config === undefined ? [] : [fact.config])]} Its prompt, made again from the record, has the SHA-256 ${digest}, which the call recorded: what follows is what was sent.`;
    await tellConfig(telling, fact.config);
    await tellMessages(telling, session);
    return telling.done({ call: call.id, digest, messages: jsonCopy(messages), text });
  } catch (error) {
    if (!(error instanceof RathError)) throw error;
    // Erased or missing content, a rendering of another version, a past that is not loaded: said, not guessed around.
    telling.gap`The prompt cannot be rendered again: ${firstLine(error.message)}`;
    await tellGone(telling, error);
    return telling.done({ call: call.id, ...(fact.prompt !== undefined && { digest: fact.prompt }) });
  }
}

/** A tool has no prompt: the call of the model that asked for it has. */
async function askedBefore(telling: Telling, step: Step): Promise<Step | undefined> {
  const { store } = telling.reader;
  let id = await lineBefore(store, step.id, step.line);
  for (let steps = 0; id !== undefined && steps < 10_000; steps++) {
    const before = await telling.reader.fact(id);
    if (before?.fact.type === "model-call") {
      telling.claim`${[step.id, before.id]} ${capital(stepWords(step))} is not a model call; this is about the last model call before it.`;
      return before;
    }
    id = before && (await lineBefore(store, id, before.line));
  }
  telling.claim`${[step.id]} ${capital(stepWords(step))} is not a model call, and no model was called before it.`;
  return undefined;
}

async function tellConfig(telling: Telling, config: FactId | undefined): Promise<void> {
  const found = config === undefined ? undefined : await telling.reader.fact(config);
  if (found?.fact.type !== "agent-configure") return;
  const { agent, instructions, tools = [] } = configOf(found.fact);
  telling.claim`${[found.id]} The agent ${telling.plain(agent)} had ${instructions === undefined ? "no instructions" : `the instructions ${telling.quoted(instructions, 400)}`} and ${tools.length === 0 ? "no tools" : `${many(tools.length, "tool")}: ${row(tools.map(({ name }) => name))}`}.`;
}

/** Each message, and the fact that it comes from. */
async function tellMessages(telling: Telling, call: Session): Promise<void> {
  const before = call.parents[0] as Session;
  const { config } = call.fact as FactOf<"model-call">;
  const configured = config === undefined ? undefined : (await telling.reader.fact(config))?.fact;
  const since = configured?.type === "agent-configure" ? configured.since : undefined;
  const messages = messagesFor(since === undefined ? {} : { since }, before);
  const sources = new Map<Message, readonly FactId[]>();
  const { settled, open } = before.view(transcriptView);
  for (const { id, message, outcome } of [...settled, ...open])
    sources.set(message, [id.slice(0, 64), ...(outcome === undefined ? [] : [outcome])]);
  const { readings } = await turnReadings(telling.reader, before.id);
  for (const [place, message] of messages.slice(0, MESSAGES).entries()) {
    const known =
      sources.get(message) ?? readings.filter((one) => isShown(one.fact.shown, message)).map(({ id }) => id);
    const [first, ...more] = known;
    if (first === undefined) {
      telling.gap`Message ${place + 1} of the prompt comes from no fact that was found.`;
      continue;
    }
    telling.claim`${[first, ...more]} Message ${place + 1}, ${whoseOf(message, sources.has(message))}: ${telling.quoted(bodyOf(message), 300)}.`;
  }
  if (messages.length > MESSAGES)
    telling.gap`${many(messages.length - MESSAGES, "more message")} of the prompt ${messages.length - MESSAGES === 1 ? "is" : "are"} not told here; they are in the detail of this answer.`;
}

function isShown(shown: unknown, message: Message): boolean {
  if (message.role === "tool" || typeof message.content === "string") return false;
  const [part] = message.content;
  if (part?.type === "withheld") return shown instanceof Withheld && shown.digest === part.digest;
  return part?.type === "text" && part.text === shown;
}

function whoseOf(message: Message, isSaid: boolean): string {
  if (!isSaid) return "recalled from a memory";
  if (message.role === "tool") return `the outcome of ${message.name === "" ? "a tool" : message.name}`;
  return message.author === undefined ? message.role : `${message.role} (${message.author})`;
}

function bodyOf(message: Message): unknown {
  if (message.role !== "tool") return message.content;
  return message.error === undefined ? (message.output ?? "no answer yet") : message.error.message;
}

/** Names the erasures, with author and reason, if they are the obstacle. */
async function tellGone(telling: Telling, error: RathError): Promise<void> {
  const content = error.data.content;
  if (!Array.isArray(content)) return;
  for (const { digest } of content as readonly { readonly digest?: string }[]) {
    const erasure = digest === undefined ? undefined : await telling.reader.erasure(digest);
    if (erasure !== undefined)
      telling.claim`${[erasure.fact]} Content of it was erased by ${erasure.by} at ${erasure.at}, because: ${telling.plain(erasure.why)}.`;
  }
}

function capital(text: string): string {
  return `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`;
}
