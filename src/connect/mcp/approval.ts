import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import type { Awaited, Rath } from "../../runtime/index.js";
import { type Json, type Principal, RathError } from "../../session/index.js";
import { defined, parseJson } from "../../util/index.js";

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

/** What is wrong with a filled-in form, if anything. A yes that could be meant otherwise is none. */
export function approvalProblem({ action, content }: Given): string | undefined {
  if (action !== "accept") return undefined;
  const { approved, edit, instead } = fieldsOf(content);
  if (approved === true && instead === undefined)
    return edit !== undefined && written(edit) === undefined ? "`edit` is not JSON" : undefined;
  return approved === false && edit === undefined ? undefined : WANTED;
}

/** Gives what a person said to an approval; or why it cannot be taken. What was shown is what is agreed to, and nothing else. */
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

/** The fields that were filled in: whoever leaves one empty has said nothing there. */
function fieldsOf(content: unknown): { readonly [field: string]: Json } {
  const fields = Object.entries(Object(content) as { readonly [field: string]: Json });
  return Object.fromEntries(fields.filter(([, value]) => value !== "" && value !== null));
}

/** What was written as JSON, if it was. */
function written(text: Json): Json | undefined {
  return typeof text === "string" ? (parseJson(text) as Json | undefined) : text;
}
