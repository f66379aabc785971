// @ts-check
// Draws the figures of docs/concepts.md from the records beside them, which `rath verify` accepts like any export.
// `node scripts/figures.mjs` draws; `node scripts/figures.mjs --record` runs the programs again and draws their new records.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMain, root } from "./run.mjs";

/** @typedef {{ type: string, by: string, name?: string, text?: string }} Fact */
/** @typedef {{ id: string, parents: readonly string[], fact: Fact }} Line */
/** @typedef {{ line: Line, at: number, lane: number }} Place */

const folder = join(root, "docs", "figures");

/** The figures, each with the record that it is drawn from. */
export const figures = /** @type {const} */ ({ "session-graph": drawGraph, "replay-tape": drawTape });

/** @param {keyof typeof figures} name */
export function draw(name) {
  return figures[name](linesOf(readFileSync(recordOf(name), "utf8")));
}

/** @param {string} name */
export function recordOf(name) {
  return join(folder, `${name}.jsonl`);
}

/** The facts of an export: the id of each is the SHA-256 of its line. */
function linesOf(/** @type {string} */ text) {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => ({ id: createHash("sha256").update(line).digest("hex"), ...JSON.parse(line) }))
    .filter((line) => line.fact !== undefined);
}

/**
 * A session as a graph: a lane for each branch, from its fork to the merge.
 *
 * @param {readonly Line[]} lines
 */
function drawGraph(lines) {
  const shown = lines.filter(({ fact }) => !/^(module-|agent-configure)/.test(fact.type));
  /** @type {Map<string, Place>} */
  const places = new Map();
  const byId = new Map(lines.map((line) => [line.id, line]));
  const parentsOf = (/** @type {Line} */ { parents }) =>
    parents.map((id) => {
      let line = byId.get(id);
      while (line !== undefined && !shown.includes(line)) line = byId.get(line.parents[0] ?? "");
      return /** @type {Place} */ (places.get(line?.id ?? ""));
    });
  let lanes = 0;
  for (const line of shown) {
    const parents = parentsOf(line);
    const at = parents.length === 0 ? 0 : Math.max(...parents.map((place) => place.at)) + 1;
    const first = parents[0]?.lane ?? 0;
    const lane = line.fact.type === "branch-fork" ? ++lanes : line.parents.length > 1 ? 0 : first;
    places.set(line.id, { line, at, lane });
  }
  const x = (/** @type {Place} */ { at }) => 60 + at * 98;
  const y = (/** @type {Place} */ { lane }) => [110, 50, 170][lane] ?? 230;
  const edges = shown.flatMap((line) => {
    const to = /** @type {Place} */ (places.get(line.id));
    return parentsOf(line).map((from) => {
      const middle = x(to) - 49;
      const [a, b] = [y(from), y(to)];
      const bend =
        a === b ? `H${x(to)}` : `H${middle - 20}C${middle} ${a} ${middle} ${b} ${middle + 20} ${b}H${x(to)}`;
      return `<path class="line" fill="none" stroke-width="2" d="M${x(from)} ${a}${bend}"/>`;
    });
  });
  const dots = [...places.values()].map((place) => {
    const { fact, id } = place.line;
    const isTurn = /^branch-/.test(fact.type);
    const words = isTurn && fact.name !== undefined ? `${fact.type} ${fact.name}` : fact.type;
    return `<circle class="${isTurn ? "side" : "dot"}" cx="${x(place)}" cy="${y(place)}" r="7"/>${word(x(place), y(place) + (place.lane > 1 ? 24 : -14), words, "word")}${word(x(place), y(place) + (place.lane > 1 ? 40 : 22), id.slice(0, 8), "small")}`;
  });
  const width = Math.max(...[...places.values()].map(x)) + 60;
  return svg(
    width,
    222,
    "A session that forks into two branches, and their merge. Each dot is a fact, with the start of its id.",
    [...edges, ...dots],
  );
}

/**
 * A run and its replay: the same facts, live with calls of the world, and from the tape without.
 *
 * @param {readonly Line[]} lines
 */
function drawTape(lines) {
  const facts = lines.filter(({ fact }) => !/^(session-start|agent-configure)$/.test(fact.type));
  const [wide, high] = [96, 46];
  const x = (/** @type {number} */ at) => 90 + at * (wide + 12);
  const row = (/** @type {number} */ y, /** @type {string} */ style) =>
    facts.map(({ fact, id }, at) =>
      [
        `<rect class="${style}" x="${x(at)}" y="${y}" width="${wide}" height="${high}" rx="6"/>`,
        word(x(at) + wide / 2, y + 20, fact.type, "word"),
        word(x(at) + wide / 2, y + 36, id.slice(0, 8), "small"),
      ].join(""),
    );
  // A request goes out to the world, and its outcome comes back from there.
  const arrows = facts.flatMap(({ fact }, at) => {
    const [, subject = "", verb] = /^(model|tool|step)-(call|reply|result)$/.exec(fact.type) ?? [];
    if (verb === undefined) return [];
    const middle = x(at) + wide / 2;
    const [from, to] = verb === "call" ? [70, 40] : [40, 70];
    const tip = verb === "call" ? to + 6 : to - 6;
    return [
      `<path class="line" fill="none" stroke-width="2" d="M${middle} ${from}V${to}M${middle - 5} ${tip}L${middle} ${to}L${middle + 5} ${tip}"/>`,
      ...(verb === "call" ? [word(middle + (wide + 12) / 2, 28, `the ${subject}`, "word")] : []),
    ];
  });
  const down = facts.map(
    (_, at) =>
      `<path class="line" fill="none" stroke-width="1" stroke-dasharray="3 3" d="M${x(at) + wide / 2} 118V168"/>`,
  );
  return svg(
    x(facts.length) + 20,
    236,
    "A run calls the model and the tool, and records each fact. A replay takes the same facts from the tape: no model, no tool, the same ids.",
    [
      word(45, 98, "live", "word"),
      word(45, 196, "replay", "word"),
      ...row(72, "box"),
      ...arrows,
      ...down,
      ...row(170, "from-tape"),
    ],
  );
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} text
 * @param {string} style
 */
function word(x, y, text, style) {
  return `<text class="${style}" x="${x}" y="${y}" font-size="${style === "small" ? 10 : 12}" text-anchor="middle">${text}</text>`;
}

/**
 * @param {number} width
 * @param {number} height
 * @param {string} title
 * @param {readonly string[]} parts
 */
function svg(width, height, title, parts) {
  const style = `.line{stroke:#666}.dot{fill:#3451b2}.side{fill:#b8721b}.word{fill:#222}.small{fill:#666}.box{fill:#f4f4f6;stroke:#bbb}.from-tape{fill:#e8ecfa;stroke:#3451b2}@media (prefers-color-scheme:dark){.line{stroke:#999}.dot{fill:#a8b1ff}.side{fill:#f0b45a}.word{fill:#eee}.small{fill:#aaa}.box{fill:#222;stroke:#555}.from-tape{fill:#252b45;stroke:#a8b1ff}}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="system-ui, sans-serif">
<title>${title}</title>
<style>${style}</style>
${parts.join("\n")}
</svg>
`;
}

/** Runs the programs of the figures, and keeps their records. */
async function record() {
  const { agent, openRath, scripted, tool, workflow } = await import("openrath");
  const rath = openRath({ store: "memory:" });
  const lookUp = tool({
    name: "look_up",
    description: "How many of an item are in stock.",
    input: { type: "object" },
    effect: "read",
    run: () => ({ left: 12 }),
  });
  const model = scripted({ tool: "look_up", input: { item: "pencil" } }, "There are 12 pencils left.");
  const clerk = agent({ name: "clerk", model, tools: [lookUp] });
  await rath.run(clerk, rath.start("How many pencils are left?", { by: "user:ada" }), {
    name: "replay-tape",
  });

  const writer = (/** @type {string} */ name, /** @type {string} */ text) =>
    agent({ name, model: scripted(text) });
  const [small, bold] = [writer("small", "I change one line."), writer("bold", "I rewrite the module.")];
  const critic = writer("critic", "The small one is better.");
  const repair = workflow("repair", { small, bold, critic }, async (session) => {
    const [one, other] = await Promise.all([
      small.forward(session.fork("small")),
      bold.forward(session.fork("bold")),
    ]);
    return critic.forward(one.merge(other, { adopt: "ours", why: "smaller" }));
  });
  await rath.run(repair, rath.start("Fix issue 41.", { by: "user:ada" }), { name: "session-graph" });
  const store = await rath.store();
  for (const name of Object.keys(figures)) {
    const lines = [];
    for await (const line of store.export(name)) lines.push(`${line}\n`);
    writeFileSync(recordOf(name), lines.join(""));
  }
  await rath.close();
}

if (isMain(import.meta.url)) {
  if (process.argv.includes("--record")) await record();
  for (const name of /** @type {(keyof typeof figures)[]} */ (Object.keys(figures)))
    writeFileSync(join(folder, `${name}.svg`), draw(name));
}
