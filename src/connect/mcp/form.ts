import type {
  CreateMessageRequestParams,
  ElicitRequestFormParams,
  InputRequests,
} from "@modelcontextprotocol/server";
import type { Awaited, Rath } from "../../runtime/index.js";
import { type Json, type Principal, RathError, visibleText } from "../../session/index.js";
import { defined, parseJson } from "../../util/index.js";
import { type Signal, signal } from "../../workflow/index.js";
import type { Waiting } from "./served.js";

/** The abilities of a client: ask a person, ask a model, list its roots. */
export type Abilities = {
  readonly elicitation?: unknown;
  readonly sampling?: unknown;
  readonly roots?: unknown;
  readonly extensions?: { readonly [extension: string]: unknown } | undefined;
};

/** The questions that this client is asked: of those that it may answer, the ones that it can. */
export function askable(waiting: readonly Waiting[], abilities: Abilities): readonly Waiting[] {
  // Questions to others are not for this client.
  const helpful = waiting.filter((one) => abilityFor(one) !== undefined && one.mayAnswer === true);
  const able = helpful.filter((one) => abilities[abilityFor(one) ?? "elicitation"] !== undefined);
  // Questions that only a client can answer are asked even so: the protocol has an error for a missing ability.
  return able.length > 0 ? able : helpful.filter((one) => abilityFor(one) !== "elicitation");
}

/** The ability of a client that something which waits needs, if a client could help at all. */
export function abilityFor({ kind, shown }: Waiting): "elicitation" | "sampling" | "roots" | undefined {
  const question = clientQuestion(shown);
  if (question !== undefined) return question.mcp === "roots/list" ? "roots" : "sampling";
  return kind === "approval" || kind === "signal" ? "elicitation" : undefined;
}

/** The requests to a client, and the question of the run behind each. Keys are the names that the run gave, by default. */
export function questionsOf(
  waiting: readonly Waiting[],
  { inputRequired }: Pick<typeof import("@modelcontextprotocol/server"), "inputRequired">,
  keyOf: (one: Waiting) => string = ({ name }) => name,
): { readonly inputRequests: InputRequests; readonly asks: { readonly [key: string]: string } } {
  const asks = new Map<string, string>();
  const requests = waiting.map((one) => {
    const name = keyOf(one);
    let key = name === "" ? "ask" : name;
    for (let count = 2; asks.has(key); count++) key = `${name}#${count}`;
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

/** How a client answered something that waits. */
export type Given = { readonly action?: unknown; readonly content?: unknown };

/** The form in which a client's person agrees or does not. Forms of the protocol are flat, so that values are written as JSON. */
export const APPROVAL: ElicitRequestFormParams["requestedSchema"] = {
  type: "object",
  properties: {
    approved: { type: "boolean", title: "Approved" },
    why: { type: "string", title: "Why" },
    edit: {
      type: "string",
      title: "Edit",
      description: "With approved: true, the arguments to use in place of those that were shown, as JSON.",
    },
    instead: {
      type: "string",
      title: "Instead",
      description:
        "With approved: false, what came of it when a person did it themselves, or answered: as JSON, or in words.",
    },
  },
  required: ["approved"],
};

const WANTED =
  'say { "approved": true }, with "edit" for other arguments as JSON, or { "approved": false, "why": "…" }, with "instead" for what a person did';

/** The problem of a filled-in form, if any. An ambiguous yes is refused. */
export function approvalProblem({ action, content }: Given): string | undefined {
  if (action !== "accept") return undefined;
  const { approved, edit, instead } = fieldsOf(content);
  if (approved === true && instead === undefined)
    return edit !== undefined && written(edit) === undefined ? "`edit` is not JSON" : undefined;
  return approved === false && edit === undefined ? undefined : WANTED;
}

/** Gives the answer of a person to an approval; returns the reason when it is refused. It covers exactly what was shown. */
export async function giveApproval(
  rath: Rath,
  run: string,
  { id, digest, answer }: Awaited,
  { action, content }: Given,
  by: Principal,
): Promise<string | undefined> {
  const { approved, why, edit, instead, answer: said } = fieldsOf(content);
  const decision = { ask: id, by, ...defined({ digest, why: typeof why === "string" ? why : undefined }) };
  try {
    if (action !== "accept") await rath.reject(run, decision);
    else if (answer !== undefined) await rath.answer(run, id, said ?? null, by);
    else if (approved === true)
      await rath.approve(run, { ...decision, ...(edit !== undefined && { edit: written(edit) as Json }) });
    else if (instead !== undefined)
      await rath.takeOver(run, { ...decision, value: written(instead) ?? instead });
    else await rath.reject(run, decision);
    return undefined;
  } catch (error) {
    // Too late, no answer to the question, or not to be changed: that is for the person to read.
    if (error instanceof RathError && error.code === "answer-refused") return error.message;
    throw error;
  }
}

/** The fields that were filled in: an empty one says nothing. */
function fieldsOf(content: unknown): { readonly [field: string]: Json } {
  const fields = Object.entries(Object(content) as { readonly [field: string]: Json });
  return Object.fromEntries(fields.filter(([, value]) => value !== "" && value !== null));
}

/** The value of a JSON text. */
function written(text: Json): Json | undefined {
  return typeof text === "string" ? (parseJson(text) as Json | undefined) : text;
}

/** A question that the client of an MCP server can answer without a person. */
export type ClientQuestion = {
  readonly mcp: "sampling/createMessage" | "roots/list";
  readonly params?: Json;
};

/** A prompt for the client's model: messages as the protocol writes them. */
export type ClientPrompt = {
  readonly messages: readonly {
    readonly role: "user" | "assistant";
    readonly content: { readonly type: "text"; readonly text: string };
  }[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
};

/**
 * Waits until the person at the client that called has filled in a form. The value is `{ action, content }`.
 *
 * ```ts
 * const who = clientForm("who", "What is your name?", { type: "object", properties: { name: { type: "string" } } });
 * ```
 */
export function clientForm(name: string, message: string, schema: Json): Signal {
  return signal(name, { message, schema });
}

/** Waits until the client's model has said something: `{ role, content, model }`. */
export function clientModel(name: string, prompt: ClientPrompt): Signal {
  return signal(name, { mcp: "sampling/createMessage", params: prompt });
}

/** Waits until the client has said which places it shares: `{ roots: [{ uri, name }] }`. */
export function clientRoots(name: string): Signal {
  return signal(name, { mcp: "roots/list" });
}

/** The question, if what somebody waits for is one of these. */
export function clientQuestion(shown: Json): ClientQuestion | undefined {
  const { mcp } = (typeof shown === "object" && shown !== null ? shown : {}) as { readonly mcp?: unknown };
  return mcp === "sampling/createMessage" || mcp === "roots/list" ? (shown as ClientQuestion) : undefined;
}
