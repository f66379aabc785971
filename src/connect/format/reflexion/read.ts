import type { Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { Imported, ImportFormat } from "../exchange.js";
import { FieldReader } from "../fields.js";
import { beginsLike, defineImport, type Foreign } from "../foreign.js";
import { Arrival } from "../trajectory/arrival.js";

const AGENT = "agent:reflexion";

/** Logs of Reflexion: the results of a trial (a JSON list), or programming tasks (JSON lines). */
export const reflexion: ImportFormat = defineImport({
  name: "reflexion",
  title: "Reflexion logs (results of a trial, or lines of programming tasks)",
  fits: (source) =>
    beginsLike(source, /"is_success"\s*:/, /"memory"\s*:/) ||
    beginsLike(source, /"is_solved"\s*:/, /"reflections"\s*:/),
  quoteUnsafe: true,
  read: (foreign) => (/^\s*\[/.test(foreign.text()) ? trial(foreign) : tasks(foreign)),
});

function trial(foreign: Foreign): Imported {
  const results = foreign.list(foreign.json(), "", "it is not a list of results");
  if (results.length === 0) foreign.refuse("", "the list of results is empty");
  const name = foreign.source.name.replace(/\.[^.]*$/, "") || "trial";
  const arrival = Arrival.start(foreign, { name });
  for (const [index, result] of results.entries()) {
    const where = `[${index}]`;
    const fields = new FieldReader(foreign.object(result, where, "a result is an object"));
    const passed =
      fields.flag("is_success") ??
      foreign.refuse(`${where}.is_success`, "a result says whether it was a success");
    judge(arrival, fields.text("name") ?? where, passed, fields.rest);
  }
  return arrival.imported(name);
}

function tasks(foreign: Foreign): readonly Imported[] {
  const lines = foreign.jsonLines((value) => value);
  if (lines.length === 0) foreign.refuse("", "the file is empty");
  const names = new Set<string>();
  return lines.map(({ line, value }) => {
    const where = `line ${line}`;
    const fields = new FieldReader(foreign.object(value, where, "a task is an object"));
    const passed =
      fields.flag("is_solved") ?? foreign.refuse(where, "a task says whether it was solved (is_solved)");
    let name = fields.text("name") || where.replace(" ", "-");
    if (names.has(name)) name = `${name}-${line}`;
    names.add(name);
    const text = fields.text("prompt");
    const arrival = Arrival.start(foreign, { name, text, detail: { line, name } });
    // Thoughts about the attempts before, which the log does not have.
    for (const one of fields.list("reflections") ?? [])
      arrival.say(
        "assistant",
        [typeof one === "string" ? { type: "reasoning", text: one } : { type: "other", value: one }],
        AGENT,
      );
    const solution = fields.text("solution");
    if (solution !== undefined) arrival.say("assistant", solution, AGENT);
    const test = fields.json("test");
    const { rest } = fields;
    arrival.rest("task", rest);
    judge(arrival, "test", passed, test === undefined ? undefined : { test });
    return arrival.imported(name, rest === undefined ? [] : ["Other fields of the task are kept in a note."]);
  });
}

function judge(arrival: Arrival, name: string, passed: boolean, detail: Json | undefined): void {
  const score = passed ? 1 : 0;
  arrival.add({ type: "validation-report", name, passed, score, ...defined({ detail }), by: "runtime" });
}
