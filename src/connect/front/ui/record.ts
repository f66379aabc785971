import { within } from "../../../agent/index.js";
import { EventTeller } from "../../../runtime/index.js";
import type { Content, FactId, Session } from "../../../session/index.js";
import type { UiChunk, UiPart } from "./chunk.js";
import { messageIdOf } from "./input.js";
import { partsOfContent, UiTeller } from "./teller.js";

/** A message as the record has it. That of an assistant is what one run said, as chunks. */
export type RecordedMessage =
  | { readonly role: "user"; readonly id: string; readonly parts: readonly UiPart[] }
  | {
      readonly role: "assistant";
      readonly id: FactId;
      readonly chunks: UiChunk[];
      /** The facts that it was told of. */
      readonly heard: Set<FactId>;
      /** Has heard the run so far, and can hear it go on. Its chunks go to `send`. */
      readonly teller: UiTeller;
      send: (chunk: UiChunk) => void;
    };

export type RecordedAnswer = RecordedMessage & { readonly role: "assistant" };

/** An answer has the id of the `run-start` that it begins with, so that it is known again in every process. */
export function answerOf(id: FactId): RecordedAnswer {
  const chunks: UiChunk[] = [];
  const message: RecordedAnswer = {
    role: "assistant",
    id,
    chunks,
    heard: new Set(),
    teller: new UiTeller((chunk) => message.send(chunk)),
    send: (chunk) => chunks.push(chunk),
  };
  return message;
}

/** The messages of a thread, told from its record by the teller that tells runs. */
export function messagesIn(session: Session, module: string): readonly RecordedMessage[] {
  const messages: RecordedMessage[] = [];
  let newest: RecordedAnswer | undefined;
  tellRecord(session, module, (node) => {
    const said = saidIn(node);
    if (isStart(node)) {
      const begun = answerOf(node.id);
      messages.push(begun);
      newest = begun;
    }
    if (said !== undefined) messages.push(said);
    return said === undefined ? newest : undefined;
  });
  return messages;
}

/** Tells an answer what the record has of it by now, and what it has not heard. */
export function catchUp(answer: RecordedAnswer, session: Session, module: string): void {
  let isOwn = false;
  tellRecord(session, module, (node) => {
    if (isStart(node)) isOwn = node.id === answer.id;
    return isOwn && saidIn(node) === undefined ? answer : undefined;
  });
}

/** Tells each fact of a session to the answer that it belongs to. */
function tellRecord(
  session: Session,
  module: string,
  answerFor: (node: Session) => RecordedAnswer | undefined,
): void {
  let answer: ReturnType<typeof answerFor>;
  const events = new EventTeller(
    module,
    (event) => answer?.teller.hear(event),
    () => {
      throw new Error("partial objects are not part of a message");
    },
  );
  for (const node of session.history()) {
    answer = answerFor(node);
    if (answer === undefined || answer.heard.has(node.id)) continue;
    answer.heard.add(node.id);
    events.hear({ kind: "fact", session: node });
  }
}

function isStart(node: Session): boolean {
  return node.fact.type === "run-start" && within(node) === undefined;
}

/** A message of a person: said outside of any run. */
function saidIn({ id, fact }: Session): (RecordedMessage & { readonly role: "user" }) | undefined {
  if (fact.run !== undefined) return undefined;
  const content =
    fact.type === "session-start"
      ? fact.text
      : fact.type === "message-say" && fact.role === "user"
        ? fact.content
        : undefined;
  if (typeof content !== "string" && !Array.isArray(content)) return undefined;
  const parts = partsOfContent(content as Content);
  return parts.length === 0 ? undefined : { role: "user", id: messageIdOf(content) ?? id, parts };
}
