import type {
  CreateMessageRequestParams,
  ElicitRequestFormParams,
  InputRequests,
} from "@modelcontextprotocol/server";
import { type Json, visibleText } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { APPROVAL } from "./approval.js";
import { clientQuestion } from "./client-ask.js";
import type { loadServer } from "./package.js";
import type { Waiting } from "./served.js";

/** What a client can do for a server: ask a person, ask a model, tell its roots. */
export type Abilities = {
  readonly elicitation?: unknown;
  readonly sampling?: unknown;
  readonly roots?: unknown;
};

/** The ability of a client that something which waits needs, if a client could help at all. */
export function abilityFor({ kind, shown }: Waiting): keyof Abilities | undefined {
  const question = clientQuestion(shown);
  if (question !== undefined) return question.mcp === "roots/list" ? "roots" : "sampling";
  return kind === "approval" || kind === "signal" ? "elicitation" : undefined;
}

/** What a client is asked, and which question of a run each of it is. Keys are the names that the run gave. */
export function questionsOf(
  waiting: readonly Waiting[],
  { inputRequired }: Pick<Awaited<ReturnType<typeof loadServer>>, "inputRequired">,
): { readonly inputRequests: InputRequests; readonly asks: { readonly [key: string]: string } } {
  const asks = new Map<string, string>();
  const requests = waiting.map((one) => {
    let key = one.name === "" ? "ask" : one.name;
    for (let count = 2; asks.has(key); count++) key = `${one.name}#${count}`;
    asks.set(key, one.id);
    const question = clientQuestion(one.shown);
    if (question === undefined)
      return [key, inputRequired.elicit({ message: messageOf(one), requestedSchema: formOf(one) })];
    return question.mcp === "roots/list"
      ? [key, inputRequired.listRoots()]
      : [key, inputRequired.createMessage(question.params as CreateMessageRequestParams)];
  });
  return {
    inputRequests: Object.fromEntries(requests) as InputRequests,
    asks: Object.fromEntries(asks),
  };
}

/** What a person reads. */
function messageOf({ kind, shown, problem, execution }: Waiting): string {
  const { message } = (shown ?? {}) as { readonly message?: unknown };
  const words =
    typeof message === "string"
      ? message
      : kind === "approval"
        ? `Do you agree to this?${execution === undefined ? "" : ` The call was started before and may have happened: this is execution ${execution}.`} ${JSON.stringify(shown)}`
        : `It waits for: ${JSON.stringify(shown)}`;
  return visibleText(problem === undefined ? words : `${words} (The answer before did not fit: ${problem})`);
}

/** Forms of the protocol choose among words. */
function wordsOf(answer: Json): { readonly type: "string"; readonly enum?: string[] } {
  const { enum: choices } = answer as { readonly enum?: string[] };
  return { type: "string", ...defined({ enum: choices }) };
}

/** The form that a person fills in. */
function formOf({ kind, shown, answer }: Waiting): ElicitRequestFormParams["requestedSchema"] {
  const { schema } = (shown ?? {}) as { readonly schema?: ElicitRequestFormParams["requestedSchema"] };
  if (answer !== undefined)
    return { type: "object", properties: { answer: wordsOf(answer) }, required: ["answer"] };
  if (kind === "approval") return APPROVAL;
  return schema ?? { type: "object", properties: { value: { type: "string" } }, required: ["value"] };
}
