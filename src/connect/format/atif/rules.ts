import type { Json } from "../../../session/index.js";
import { type Fields, fieldsIn, isFields, listOf, objectsIn, own, without } from "../fields.js";

/** Where a document breaks a rule of ATIF, and which. */
export type Breach = { readonly where: string; readonly reason: string };

export const VERSION = "ATIF-v1.7";
const VERSIONS: ReadonlySet<string> = new Set([0, 1, 2, 3, 4, 5, 6, 7].map((minor) => `ATIF-v1.${minor}`));
/** The images that a message can have. */
export const IMAGES: readonly string[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const AGENT_ONLY = ["model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"];

type Check = (value: Json, where: string) => readonly Breach[];
type Shape = { readonly [key: string]: Check | readonly [Check, "required"] };

/** The rules of ATIF that a document breaks: those of the version that it names. */
export function breachesOf(document: Json): readonly Breach[] {
  if (!isFields(document)) return [{ where: "", reason: "a trajectory is an object" }];
  return trajectory(document, "");
}

/** The ids of the trajectories in a document, at every depth. */
export function embeddedIn(document: Fields): readonly string[] {
  return objectsIn(document, "subagent_trajectories").flatMap((one) => [
    String(own(one, "trajectory_id")),
    ...embeddedIn(one),
  ]);
}

function trajectory(document: Fields, where: string): readonly Breach[] {
  const version = own(document, "schema_version");
  const recent = version === VERSION;
  const found = [...shaped(document, where, TRAJECTORY)];
  const breach = (key: string, reason: string): unknown => found.push({ where: at(where, key), reason });
  if (typeof version === "string" && !VERSIONS.has(version))
    breach("schema_version", `${JSON.stringify(version)} is not a version up to ${VERSION}`);
  if (!recent && !isThere(document, "session_id")) breach("session_id", "it is required before version 1.7");
  if (Array.isArray(document.steps) && document.steps.length === 0) breach("steps", "there is no step");
  for (const [place, one] of placedObjects(own(document, "steps")))
    found.push(...step(one, `${at(where, "steps")}[${place}]`, place + 1, recent));
  const seen = new Set<Json>();
  for (const [place, one] of placedObjects(own(document, "subagent_trajectories"))) {
    const here = `subagent_trajectories[${place}]`;
    const id = own(one, "trajectory_id") ?? null;
    if (id === null) breach(`${here}.trajectory_id`, "an embedded trajectory must have one");
    else if (seen.has(id)) breach(`${here}.trajectory_id`, "another one beside it has the same");
    seen.add(id);
    found.push(...trajectory(one, at(where, here)));
  }
  return found;
}

function step(fields: Fields, where: string, expected: number, recent: boolean): readonly Breach[] {
  const found: Breach[] = [];
  const breach = (key: string, reason: string): unknown => found.push({ where: at(where, key), reason });
  const number = own(fields, "step_id");
  if (typeof number === "number" && number !== expected)
    breach("step_id", `${expected} was expected: steps are counted from 1 without a gap`);
  if (own(fields, "source") !== "agent")
    for (const key of AGENT_ONLY)
      if (isThere(fields, key)) breach(key, "only a step of the agent may have it");
  if (own(fields, "llm_call_count") === 0)
    for (const key of ["metrics", "reasoning_content"])
      if (isThere(fields, key)) breach(key, "no model was called in this step");
  const calls = new Set<Json>();
  for (const [place, call] of placedObjects(own(fields, "tool_calls"))) {
    const id = own(call, "tool_call_id") ?? null;
    if (calls.has(id)) breach(`tool_calls[${place}].tool_call_id`, "another call of the step has the same");
    calls.add(id);
  }
  for (const [place, result] of placedObjects(own(fieldsIn(fields, "observation"), "results"))) {
    const here = `observation.results[${place}]`;
    const id = own(result, "source_call_id") ?? null;
    if (id !== null && !calls.has(id)) breach(`${here}.source_call_id`, "no call of the step has this id");
    if (!recent) continue;
    for (const [index, ref] of placedObjects(own(result, "subagent_trajectory_ref")))
      if (!isThere(ref, "trajectory_path") && !isThere(ref, "trajectory_id"))
        breach(
          `${here}.subagent_trajectory_ref[${index}]`,
          "it needs a trajectory_id or a trajectory_path to be found by",
        );
  }
  return found;
}

/** The objects of a list with their places in it. */
function placedObjects(value: Json | undefined): readonly (readonly [number, Fields])[] {
  return listOf(value).flatMap((one, place) => (isFields(one) ? [[place, one] as const] : []));
}

function isThere(fields: Fields, key: string): boolean {
  return (own(fields, key) ?? null) !== null;
}

function at(where: string, key: string): string {
  return where === "" ? key : `${where}.${key}`;
}

function shaped(fields: Fields, where: string, shape: Shape): readonly Breach[] {
  const found: Breach[] = [];
  for (const [key, value] of Object.entries(fields)) {
    const rule = Object.hasOwn(shape, key) ? shape[key] : undefined;
    const here = at(where, key);
    if (rule === undefined)
      found.push({ where: here, reason: "there is no such field; fields of your own go into `extra`" });
    else if (Array.isArray(rule)) found.push(...rule[0](value, here));
    else if (value !== null) found.push(...(rule as Check)(value, here));
  }
  for (const [key, rule] of Object.entries(shape))
    if (Array.isArray(rule) && !Object.hasOwn(fields, key))
      found.push({ where: at(where, key), reason: "it is required" });
  return found;
}

function must(is: (value: Json) => boolean, what: string): Check {
  return (value, where) => (is(value) ? [] : [{ where, reason: `${what} was expected` }]);
}

function oneOf(known: readonly string[], what: string): Check {
  return must((value) => known.includes(value as string), what);
}

function object(shape: Shape): Check {
  return (value, where) =>
    isFields(value) ? shaped(value, where, shape) : [{ where, reason: "an object was expected" }];
}

function list(check: Check): Check {
  return (value, where) =>
    Array.isArray(value)
      ? (value as readonly Json[]).flatMap((one, place) => check(one, `${where}[${place}]`))
      : [{ where, reason: "a list was expected" }];
}

const text = must((value) => typeof value === "string", "a text");
const integer = must((value) => Number.isInteger(value), "a whole number");
const count = must(
  (value) => Number.isInteger(value) && (value as number) >= 0,
  "a whole number, not negative",
);
const number = must((value) => typeof value === "number", "a number");
const flag = must((value) => typeof value === "boolean", "true or false");
const anything = must(isFields, "an object");
const time = must((value) => typeof value === "string" && isIso(value), "a time in ISO 8601");

/** As Python's datetime.fromisoformat reads it, give or take. */
function isIso(value: string): boolean {
  return (
    /^\d{4}-\d\d-\d\d([T ]\d\d(:?\d\d(:?\d\d([.,]\d+)?)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$/.test(value) &&
    !Number.isNaN(Date.parse(value.slice(0, 10)))
  );
}

const image = object({
  media_type: [oneOf(IMAGES, "a kind of image"), "required"],
  path: [text, "required"],
});
const partShape = object({
  type: [oneOf(["text", "image"], '"text" or "image"'), "required"],
  text,
  source: image,
});
const part: Check = (value, where) => {
  const found = partShape(value, where);
  if (found.length > 0 || !isFields(value)) return found;
  const [has, lacks] = value.type === "text" ? ["text", "source"] : ["source", "text"];
  if (!isThere(value, has as string))
    return [{ where: at(where, has as string), reason: "a part of this type must have it" }];
  return isThere(value, lacks as string)
    ? [{ where: at(where, lacks as string), reason: "a part of this type has none" }]
    : [];
};
const words: Check = (value, where) =>
  typeof value === "string"
    ? []
    : Array.isArray(value)
      ? list(part)(value, where)
      : [{ where, reason: "a text or a list of parts was expected" }];

const STEP: Shape = {
  step_id: [integer, "required"],
  timestamp: time,
  source: [oneOf(["system", "user", "agent"], '"system", "user" or "agent"'), "required"],
  model_name: text,
  reasoning_effort: must(
    (value) => typeof value === "string" || typeof value === "number",
    "a text or a number",
  ),
  message: [words, "required"],
  reasoning_content: text,
  tool_calls: list(
    object({
      tool_call_id: [text, "required"],
      function_name: [text, "required"],
      arguments: anything,
      extra: anything,
    }),
  ),
  observation: object({
    results: list(
      object({
        source_call_id: text,
        content: words,
        subagent_trajectory_ref: list(
          object({ trajectory_id: text, trajectory_path: text, session_id: text, extra: anything }),
        ),
        extra: anything,
      }),
    ),
  }),
  metrics: object({
    prompt_tokens: integer,
    completion_tokens: integer,
    cached_tokens: integer,
    cost_usd: number,
    prompt_token_ids: list(integer),
    completion_token_ids: list(integer),
    logprobs: list(number),
    extra: anything,
  }),
  is_copied_context: flag,
  llm_call_count: count,
  extra: anything,
};

const TRAJECTORY: Shape = {
  schema_version: [text, "required"],
  session_id: text,
  trajectory_id: text,
  agent: [
    object({
      name: [text, "required"],
      version: [text, "required"],
      model_name: text,
      tool_definitions: list(anything),
      extra: anything,
    }),
    "required",
  ],
  steps: [list(object(STEP)), "required"],
  notes: text,
  final_metrics: object({
    total_prompt_tokens: integer,
    total_completion_tokens: integer,
    total_cached_tokens: integer,
    total_cost_usd: number,
    total_steps: count,
    extra: anything,
  }),
  continued_trajectory_ref: text,
  extra: anything,
  subagent_trajectories: list(anything),
};

/** A step as another trajectory repeats it for context: what it cost is counted where it happened. */
export function copiedStep(step: Fields): Fields {
  return { ...withoutRefs(without(step, "metrics", "llm_call_count")), is_copied_context: true };
}

/** The trajectories that the original refers to are not beside the copy. */
function withoutRefs(step: Fields): Fields {
  const observation = step.observation as Fields | undefined;
  if (!Array.isArray(observation?.results)) return step;
  const results = (observation.results as readonly Fields[]).map(
    (result) => without(result, "subagent_trajectory_ref") as Json,
  );
  return { ...step, observation: { ...observation, results } };
}
