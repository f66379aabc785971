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
      /** Has heard the run so far, and can hear it go on. Its chunks go to `send`. */
      readonly teller: UiTeller;
      send: (chunk: UiChunk) => void;
    };

/** An answer has the id of the `run-start` that it begins with, so that it is known again in every process. */
export function answerOf(id: FactId): RecordedMessage & { readonly role: "assistant" } {
  const chunks: UiChunk[] = [];
  const message: RecordedMessage & { readonly role: "assistant" } = {
    role: "assistant",
    id,
    chunks,
    teller: new UiTeller((chunk) => message.send(chunk)),
    send: (chunk) => chunks.push(chunk),
  };
  return message;
}

/** The messages of a thread, told from its record by the teller that tells runs. */
export function messagesIn(session: Session, module: string): readonly RecordedMessage[] {
  const messages: RecordedMessage[] = [];
  let teller: UiTeller | undefined;
  const events = new EventTeller(
    module,
    (event) => teller?.hear(event),
    () => {
      throw new Error("partial objects are not part of a message");
    },
  );
  for (const node of session.history()) {
    const { fact } = node;
    if (fact.type === "run-start" && within(node) === undefined) {
      const answer = answerOf(node.id);
      messages.push(answer);
      ({ teller } = answer);
    }
    const said = saidIn(node);
    if (said !== undefined) messages.push(said);
    else events.hear({ kind: "fact", session: node });
  }
  return messages;
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
