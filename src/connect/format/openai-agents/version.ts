import type { Json } from "../../../session/index.js";
import { type Fields, isFields, own } from "../fields.js";
import type { Foreign } from "../foreign.js";

/** The newest minor version of schema 1 that is known; each minor version only adds to the one before. */
const NEWEST = 20;
/** The SDK for Python counts its versions by itself. */
const NEWEST_OF_PYTHON = 17;
/** The first version in which tools could be searched for, and in which sandboxes were kept. */
const TOOL_SEARCH = 8;
const SANDBOX = 9;
/** From which version on a sandbox is written in which form. */
const SANDBOX_FORMS: readonly (readonly [since: number, form: number])[] = [
  [20, 5],
  [19, 4],
  [18, 3],
  [15, 2],
  [SANDBOX, 1],
];

/** Refuses a state that no SDK of the version that it names can have written; the minor version otherwise. */
export function requireVersion(state: Fields, where: string, foreign: Foreign): number {
  const known = minorOf(state, where, NEWEST, foreign);
  requirePlain(state, where, foreign);
  if (known < TOOL_SEARCH) requireNoToolSearch(state, where, `1.${known}`, foreign);
  requireSandbox(state, where, known, foreign);
  return known;
}

/** The same for the SDK for Python, which has its own numbers for when tool search and sandboxes came. */
export function requirePythonVersion(state: Fields, foreign: Foreign): void {
  minorOf(state, "", NEWEST_OF_PYTHON, foreign);
  requirePlain(state, "", foreign);
}

function minorOf(state: Fields, where: string, newest: number, foreign: Foreign): number {
  const place = where === "" ? "$schemaVersion" : `${where}.$schemaVersion`;
  const version = own(state, "$schemaVersion");
  if (version === undefined) return foreign.refuse(place, "the run state has no schema version");
  if (typeof version !== "string")
    return foreign.refuse(place, "its schema version is malformed: it is not a text");
  const [, major, minor] = /^(\d{1,9})\.(\d{1,9})$/.exec(version) ?? [];
  if (major === undefined)
    foreign.refuse(place, `its schema version is malformed: ${JSON.stringify(version)}`);
  if (major !== "1" || Number(minor) > newest || String(Number(minor)) !== minor)
    foreign.refuse(
      place,
      `its schema version ${version} is not supported: the newest supported version is 1.${newest}`,
      { hint: "write the state again with an SDK that is known here, or update this program" },
    );
  return Number(minor);
}

/** A key of this name means the prototype of the object to whoever copies it carelessly. */
function requirePlain(value: Json, where: string, foreign: Foreign): void {
  const open: (readonly [Json, string])[] = [[value, where]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [part, path] = next;
    if (typeof part !== "object" || part === null) continue;
    for (const [key, inner] of Object.entries(part as Fields)) {
      if (key === "__proto__") foreign.refuse(path, "it has a key that names the prototype of objects");
      open.push([inner, path === "" ? key : `${path}.${key}`]);
    }
  }
}

function requireNoToolSearch(state: Fields, where: string, version: string, foreign: Foreign): void {
  const open: (readonly [Json | undefined, string])[] = [
    "originalInput",
    "modelResponses",
    "generatedItems",
    "lastProcessedResponse",
  ].map((key) => [state[key], where === "" ? key : `${where}.${key}`]);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [part, path] = next;
    if (typeof part !== "object" || part === null) continue;
    const { type } = part as Fields;
    if (isFields(part) && typeof type === "string" && /^tool_search_(call|output)(_item)?$/.test(type))
      foreign.refuse(
        path,
        `schema version ${version} does not have tool search items: they came with 1.${TOOL_SEARCH}`,
      );
    for (const [key, inner] of Object.entries(part as Fields)) open.push([inner, `${path}.${key}`]);
  }
}

function requireSandbox(state: Fields, where: string, minor: number, foreign: Foreign): void {
  const { sandbox } = state;
  if (!isFields(sandbox)) return;
  const form = SANDBOX_FORMS.find(([since]) => minor >= since)?.[1];
  const states: (readonly [string, Json | undefined])[] = [["sessionState", sandbox.sessionState]];
  if (isFields(sandbox.sessionsByAgent))
    for (const [agent, entry] of Object.entries(sandbox.sessionsByAgent))
      if (isFields(entry)) states.push([`sessionsByAgent.${agent}.sessionState`, entry.sessionState]);
  const path = where === "" ? "sandbox" : `${where}.sandbox`;
  if (form === undefined) foreign.refuse(path, `schema version 1.${minor} does not have sandboxes`);
  for (const [key, held] of states) {
    if (!isFields(held) || held.version === undefined || held.version === form) continue;
    foreign.refuse(
      `${path}.${key}.version`,
      `a sandbox of version ${JSON.stringify(held.version)?.slice(0, 40)} cannot stand in a run state of schema version 1.${minor}, whose sandboxes have version ${form}`,
    );
  }
}

/** The name of the agent that a state is at. What a session cannot be made without must be there. */
export function requireAgent(state: Fields, where: string, foreign: Foreign): string {
  const { currentAgent, originalInput, modelResponses, generatedItems } = state;
  const at = (key: string) => (where === "" ? key : `${where}.${key}`);
  if (!isFields(currentAgent) || typeof currentAgent.name !== "string")
    return foreign.refuse(at("currentAgent"), "a run state names the agent that it is at");
  if (typeof originalInput !== "string" && !Array.isArray(originalInput))
    foreign.refuse(at("originalInput"), "a run state has its input, a text or a list of items");
  for (const [key, value] of Object.entries({ modelResponses, generatedItems }))
    if (!Array.isArray(value) || !value.every(isFields))
      foreign.refuse(at(key), "a run state has a list of objects here");
  return currentAgent.name;
}
