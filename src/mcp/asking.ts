import { forward, hold, type Module } from "../runtime/index.js";
import type { Json, Session } from "../session/index.js";
import type { JsonObject } from "../tool/index.js";
import { inputChecker } from "../tool/schema.js";
import { StepError, signal, step } from "../workflow/index.js";
import type { Answer, Called, Question, Resume } from "./call.js";
import type { Connection } from "./connection.js";
import { type Definition, tamed } from "./definition.js";
import { McpCallError } from "./error.js";

/** How often a person is told that an answer does not fit. */
const REPAIRS = 5;
const ROUNDS = 10;

type Told = { readonly output: Json } | { readonly questions: readonly Question[]; readonly resume: Resume };

/**
 * A call that may ask a person, as a module: a step that calls, a wait for each question, a step that goes on with the
 * answers. Each is on the record, so that the answer may come tomorrow and a replay needs neither server nor person.
 */
export function askingModule(
  name: string,
  definition: Definition,
  connection: Connection,
  shape: (called: Called) => Json,
): Module {
  const told = (called: Called): Told =>
    "result" in called
      ? { output: shape(called) }
      : (connection.secrets.json(called as Json) as unknown as Told);
  const { effect } = definition;
  const begin = step(
    name,
    async (input: Json, context) => told(await connection.call(definition, input, context)),
    { effect },
  );
  const goOn = step(
    name,
    async ({ input, resume, answers }: { input: Json; resume: Resume; answers: Answers }, context) =>
      told(await connection.answer(definition, input, context, { resume, of: answers })),
    { effect },
  );
  const module: Module = {
    name,
    kind: "mcp-call",
    forward: (session) =>
      forward(module, session, async (entered) => {
        const input = inputIn(entered);
        try {
          let { session: at, value } = await begin.call(entered, input);
          for (let round = 0; round < ROUNDS; round++) {
            const now = value as Told;
            if ("output" in now) return at;
            const answers: { [key: string]: Answer } = {};
            for (const question of now.questions) {
              const asked = await ask(at, connection.name, definition.name, question);
              at = asked.session;
              answers[question.key] = asked.answer;
            }
            ({ session: at, value } = await goOn.call(at, { input, resume: now.resume, answers }));
          }
          if ("output" in (value as Told)) return at;
          throw new McpCallError("mcp-answer", `The tool "${name}" asks without end.`, { tool: name });
        } catch (error) {
          throw error instanceof StepError ? said(error) : error;
        }
      }),
  };
  return Object.freeze(module);
}

type Answers = { readonly [key: string]: Answer };

/** Waits for an answer that fits. Whoever answers is told what is asked, by whom, and what was wrong before. */
async function ask(
  session: Session,
  server: string,
  tool: string,
  { message, schema }: Question,
): Promise<{ readonly session: Session; readonly answer: Answer }> {
  let at = session;
  let problem: string | undefined;
  for (let time = 0; time <= REPAIRS; time++) {
    const what = { server, tool, message, schema, ...(problem !== undefined && { problem }) };
    const { session: next, value } = await signal(`mcp:${server}`, what).call(at);
    at = next;
    problem = await hold(at, () => problemIn(value, schema));
    if (problem === undefined) return { session: at, answer: value as Answer };
  }
  return { session: at, answer: { action: "cancel" } };
}

async function problemIn(value: Json, schema: Json): Promise<string | undefined> {
  const { action, content } = (typeof value === "object" && value !== null ? value : {}) as Partial<Answer>;
  if (action !== "accept" && action !== "decline" && action !== "cancel")
    return 'say { action: "accept", content: { … } }, { action: "decline" } or { action: "cancel" }';
  if (action !== "accept") return undefined;
  const tame = tamed(schema as JsonObject);
  if (tame === undefined) return undefined;
  let check: ReturnType<typeof inputChecker>["check"];
  try {
    ({ check } = inputChecker("answer", tame));
  } catch {
    // A schema that nobody can check with; the server looks at the answer itself.
    return undefined;
  }
  const result = await check(content ?? {});
  return result.ok ? undefined : result.issues.map((one) => `${one.path}: ${one.message}`).join("; ");
}

/** What the call was made with: the request is what the fork was made of. */
function inputIn(session: Session): Json {
  let node: Session | undefined = session;
  while (node !== undefined && node.fact.type !== "tool-call") node = node.soleParent;
  return node?.fact.type === "tool-call" ? node.fact.input : {};
}

/** A step's failure under its own code, as the tool's. */
function said(error: StepError): unknown {
  const { failure } = error.data as { readonly failure?: { code?: string; message?: string; data?: Json } };
  return new McpCallError(failure?.code ?? "mcp-call-failed", failure?.message ?? error.message, {
    ...(failure?.data !== undefined && { failure: failure.data }),
  });
}
