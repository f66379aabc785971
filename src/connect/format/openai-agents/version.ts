import type { Json } from "../../../session/index.js";
import type { Document } from "../document.js";
import { isObject, type JsonObject } from "../fields.js";

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
export function requireVersion(state: JsonObject, where: string, document: Document): number {
  const known = minorOf(state, where, NEWEST, document);
  requirePlain(state, where, document);
  if (known < TOOL_SEARCH) requireNoToolSearch(state, where, `1.${known}`, document);
  requireSandbox(state, where, known, document);
  return known;
}

/** The same for the SDK for Python, which has its own numbers for when tool search and sandboxes came. */
export function requirePythonVersion(state: JsonObject, document: Document): void {
  minorOf(state, "", NEWEST_OF_PYTHON, document);
  requirePlain(state, "", document);
}

function minorOf(state: JsonObject, where: string, newest: number, document: Document): number {
  const place = where === "" ? "$schemaVersion" : `${where}.$schemaVersion`;
  const refuse = (reason: string, hint?: string) =>
    document.refusal({ where: place, reason, ...(hint !== undefined && { hint }) });
  const version = Object.hasOwn(state, "$schemaVersion") ? state.$schemaVersion : undefined;
  if (version === undefined) throw refuse("the run state has no schema version");
  if (typeof version !== "string") throw refuse("its schema version is malformed: it is not a text");
  const [, major, minor] = /^(\d{1,9})\.(\d{1,9})$/.exec(version) ?? [];
  if (major === undefined) throw refuse(`its schema version is malformed: ${JSON.stringify(version)}`);
  if (major !== "1" || Number(minor) > newest || String(Number(minor)) !== minor)
    throw refuse(
      `its schema version ${version} is not supported: the newest supported version is 1.${newest}`,
      "write the state again with an SDK that is known here, or update this program",
    );
  return Number(minor);
}

/** A key of this name means the prototype of the object to whoever copies it carelessly. */
function requirePlain(value: Json, where: string, document: Document): void {
  const open: (readonly [Json, string])[] = [[value, where]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [part, path] = next;
    if (typeof part !== "object" || part === null) continue;
    for (const [key, inner] of Object.entries(part as JsonObject)) {
      if (key === "__proto__")
        throw document.refusal({ where: path, reason: "it has a key that names the prototype of objects" });
      open.push([inner, path === "" ? key : `${path}.${key}`]);
    }
  }
}

function requireNoToolSearch(state: JsonObject, where: string, version: string, document: Document): void {
  const open: (readonly [Json | undefined, string])[] = [
    "originalInput",
    "modelResponses",
    "generatedItems",
    "lastProcessedResponse",
  ].map((key) => [state[key], where === "" ? key : `${where}.${key}`]);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [part, path] = next;
    if (typeof part !== "object" || part === null) continue;
    const { type } = part as JsonObject;
    if (isObject(part) && typeof type === "string" && /^tool_search_(call|output)(_item)?$/.test(type))
      throw document.refusal({
        where: path,
        reason: `schema version ${version} does not have tool search items: they came with 1.${TOOL_SEARCH}`,
      });
    for (const [key, inner] of Object.entries(part as JsonObject)) open.push([inner, `${path}.${key}`]);
  }
}

function requireSandbox(state: JsonObject, where: string, minor: number, document: Document): void {
  const { sandbox } = state;
  if (!isObject(sandbox)) return;
  const form = SANDBOX_FORMS.find(([since]) => minor >= since)?.[1];
  const states: (readonly [string, Json | undefined])[] = [["sessionState", sandbox.sessionState]];
  if (isObject(sandbox.sessionsByAgent))
    for (const [agent, entry] of Object.entries(sandbox.sessionsByAgent))
      if (isObject(entry)) states.push([`sessionsByAgent.${agent}.sessionState`, entry.sessionState]);
  const path = where === "" ? "sandbox" : `${where}.sandbox`;
  if (form === undefined)
    throw document.refusal({ where: path, reason: `schema version 1.${minor} does not have sandboxes` });
  for (const [key, held] of states) {
    if (!isObject(held) || held.version === undefined || held.version === form) continue;
    throw document.refusal({
      where: `${path}.${key}.version`,
      reason: `a sandbox of version ${JSON.stringify(held.version)?.slice(0, 40)} cannot stand in a run state of schema version 1.${minor}, whose sandboxes have version ${form}`,
    });
  }
}

/** The name of the agent that a state is at. What a session cannot be made without must be there. */
export function requireAgent(state: JsonObject, where: string, document: Document): string {
  const { currentAgent, originalInput, modelResponses, generatedItems } = state;
  const refuse = (key: string, reason: string) =>
    document.refusal({ where: where === "" ? key : `${where}.${key}`, reason });
  if (!isObject(currentAgent) || typeof currentAgent.name !== "string")
    throw refuse("currentAgent", "a run state names the agent that it is at");
  if (typeof originalInput !== "string" && !Array.isArray(originalInput))
    throw refuse("originalInput", "a run state has its input, a text or a list of items");
  for (const [key, value] of Object.entries({ modelResponses, generatedItems }))
    if (!Array.isArray(value) || !value.every(isObject))
      throw refuse(key, "a run state has a list of objects here");
  return currentAgent.name;
}
