import type { Json, Session } from "../../../session/index.js";
import { beginsLike, type Document, readDocument } from "../document.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import { Fields, isObject } from "../fields.js";
import { keepRest, startImport } from "../intake.js";

const FORMAT = "reflexion";
const AGENT = "agent:reflexion";

/** Logs of Reflexion: the results of a trial (a JSON list), or programming tasks (JSON lines). */
export const reflexion: ImportFormat = {
  name: FORMAT,
  title: "Reflexion logs (results of a trial, or lines of programming tasks)",
  fits: (source) =>
    beginsLike(source, /"is_success"\s*:/, /"memory"\s*:/) ||
    beginsLike(source, /"is_solved"\s*:/, /"reflections"\s*:/),
  read: (source) =>
    readDocument(FORMAT, source, (document) =>
      /^\s*\[/.test(document.text()) ? [trial(source, document)] : tasks(source, document),
    ),
};

function trial(source: Source, document: Document): Imported {
  const results = document.json();
  if (!Array.isArray(results) || results.length === 0)
    throw document.refusal({ where: "", reason: "it is not a list of results" });
  const name = source.name.replace(/\.[^.]*$/, "") || "trial";
  let session = startImport(source, FORMAT, { name });
  for (const [index, result] of (results as readonly Json[]).entries()) {
    const where = `[${index}]`;
    if (!isObject(result)) throw document.refusal({ where, reason: "a result is an object" });
    const fields = new Fields(result);
    const passed = fields.flag("is_success");
    if (passed === undefined)
      throw document.refusal({
        where: `${where}.is_success`,
        reason: "a result says whether it was a success",
      });
    const environment = fields.text("name") ?? where;
    const { rest } = fields;
    session = session.append({
      type: "validation-report",
      name: environment,
      passed,
      score: passed ? 1 : 0,
      ...(rest !== undefined && { detail: rest }),
      at: session.fact.at,
      by: "runtime",
    });
  }
  return { name, session, notes: [...document.notes] };
}

function tasks(source: Source, document: Document): readonly Imported[] {
  const lines = document.lines();
  if (lines.length === 0) throw document.refusal({ where: "", reason: "there is no line in it" });
  const names = new Set<string>();
  return lines.map(({ line, value }) => {
    const where = `line ${line}`;
    if (!isObject(value)) throw document.refusal({ where, reason: "a task is an object" });
    const fields = new Fields(value);
    const passed = fields.flag("is_solved");
    if (passed === undefined)
      throw document.refusal({ where, reason: "a task says whether it was solved (is_solved)" });
    let name = fields.text("name") || where.replace(" ", "-");
    if (names.has(name)) name = `${name}-${line}`;
    names.add(name);
    const prompt = fields.text("prompt");
    let session = startImport(source, FORMAT, {
      name,
      ...(prompt !== undefined && { text: prompt }),
      detail: { line, name },
    });
    for (const reflection of fields.list("reflections") ?? []) session = reflected(session, reflection);
    const solution = fields.text("solution");
    if (solution !== undefined)
      session = session.say(solution, { role: "assistant", at: session.fact.at, by: AGENT });
    const test = fields.json("test");
    const { rest } = fields;
    if (rest !== undefined) session = keepRest(session, "task", rest);
    session = session.append({
      type: "validation-report",
      name: "test",
      passed,
      score: passed ? 1 : 0,
      ...(test !== undefined && { detail: { test } }),
      at: session.fact.at,
      by: "runtime",
    });
    const notes = rest === undefined ? [] : ["What else is said about the task is kept in a note."];
    return { name, session, notes: [...document.notes, ...notes] };
  });
}

/** A thought about the attempt before, which the log does not have. */
function reflected(session: Session, reflection: Json): Session {
  const at = session.fact.at;
  return typeof reflection === "string"
    ? session.say([{ type: "reasoning", text: reflection }], { role: "assistant", at, by: AGENT })
    : session.say([{ type: "other", value: reflection }], { role: "assistant", at, by: AGENT });
}
