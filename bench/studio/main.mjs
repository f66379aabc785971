// @ts-check
// `npm run bench -- studio [--json] [--facts 1000000] [--sessions 10000]`: what the page of `rath studio` costs in a browser on this
// machine: the list of sessions, the graph of a long session, scrolling, the way of a new fact to the screen, and its size.
import { execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { openRath, Session } from "openrath";
import { serve } from "openrath/front";
import { server } from "openrath/server";
import { openStore } from "openrath/store";
import { chromium } from "playwright-core";
import { columns, median } from "../measure.mjs";

/** @typedef {import("playwright-core").Page} Page */

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean" },
    facts: { type: "string", default: "1000000" },
    sessions: { type: "string", default: "10000" },
  },
});
const ROUNDS = 5;
/** Views of the long session, and what shows that their answer is there. */
const VIEWS = {
  runs: ["/s/long/graph?z=run", '[role="row"][data-id]'],
  people: ["/s/long/graph?only=people", "main li, main h2"],
  turns: ["/s/long/turns", "main article"],
  timeline: ["/s/long/timeline", "main li"],
  files: ["/s/long/files", "main h2"],
  compare: ["/compare?a=long&b=long%2Faside", "main table"],
  search: ["/?q=question+77", "main li button"],
};
const program = fileURLToPath(new URL("../../dist/cli/rath.js", import.meta.url));
const assets = fileURLToPath(new URL("../../dist/studio/assets/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "openrath-bench-"));
const path = join(folder, "rath.db");
const progress = (/** @type {string} */ text) => process.stderr.write(`${text} …\n`);
/** @type {{ [figure: string]: number | string | undefined }} */
const figures = { node: process.version, cpu: cpus()[0]?.model, facts: Number(options.facts) };
try {
  progress(`writing a session of ${Number(options.facts).toLocaleString("en")} facts`);
  const writer = fork(
    new URL("../server/write-store.mjs", import.meta.url),
    [path, options.facts, options.sessions],
    { stdio: ["ignore", "ignore", "inherit", "ipc"] },
  );
  await once(writer, "exit");
  Object.assign(figures, await measurePage(), { requests_per_s: await measureRequests() });
  const scripts = readdirSync(assets).filter((file) => file.endsWith(".js"));
  figures.js_gz_kb =
    scripts.reduce((sum, file) => sum + gzipSync(readFileSync(join(assets, file))).length, 0) / 1_000;
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
process.stdout.write(
  options.json
    ? `${JSON.stringify(figures)}\n`
    : `${columns(Object.entries(figures).map(([name, value]) => [name, typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 2 }) : `${value}`]))}\n`,
);

/** The page in a browser, over the server that the command starts. */
async function measurePage() {
  const child = spawn(process.execPath, [program, "studio", "--json", "--store", `sqlite:${path}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  const { url } = JSON.parse(String(line));
  const { origin } = new URL(url);
  const wanted = process.env.OPENRATH_CHROMIUM ?? "chromium";
  const browser = await chromium.launch({
    executablePath: wanted.includes("/")
      ? wanted
      : execFileSync("which", [wanted], { encoding: "utf8" }).trim(),
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
  const store = await openStore(`sqlite:${path}`);
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    page.setDefaultTimeout(600_000);
    await page.goto(url);
    await page.locator("main li").first().waitFor();
    progress("opening the list and the graph");
    const list = await repeated(() => paint(page, `${origin}/`, "main li button"));
    const graph = `${origin}/s/long/graph?z=fact`;
    const first = await paint(page, graph, '[role="row"][data-id]');
    const painted = await repeated(() => paint(page, graph, '[role="row"][data-id]'));
    progress("opening the other views");
    const views = await measureViews(page, origin);
    await paint(page, graph, '[role="row"][data-id]');
    progress("scrolling");
    const scrolled = await scroll(page);
    progress("following new facts");
    const tail = await follow(page, store, origin);
    return {
      list_ms: median(list),
      graph_first_read_ms: first,
      graph_first_paint_ms_1m: median(painted),
      ...views,
      scroll_frame_p95_ms: scrolled,
      tail_latency_ms: median(tail),
      tail_latency_p95_ms: tail.toSorted((a, b) => a - b)[Math.floor(tail.length * 0.95)],
    };
  } finally {
    await browser.close();
    await store.close();
    child.kill("SIGTERM");
    await once(child, "exit");
  }
}

/** @param {() => Promise<number>} work */
async function repeated(work) {
  const all = [];
  for (let round = 0; round < ROUNDS; round++) all.push(await work());
  return all;
}

/**
 * Milliseconds from the beginning of a navigation until an element is drawn.
 *
 * @param {Page} page @param {string} address @param {string} selector
 */
async function paint(page, address, selector) {
  await page.goto("about:blank");
  await page.goto(address, { waitUntil: "commit" });
  return /** @type {number} */ (
    await page.evaluate(
      `new Promise((done) => {
        const look = () => document.querySelector(${JSON.stringify(selector)}) === null
          ? requestAnimationFrame(look)
          : requestAnimationFrame(() => done(performance.now()));
        look();
      })`,
    )
  );
}

/** The median of each other view, and which one is the slowest. @param {Page} page @param {string} origin */
async function measureViews(page, origin) {
  const all = [];
  for (const [view, [path, selector]] of Object.entries(VIEWS))
    all.push({
      view,
      ms: median(await repeated(() => paint(page, origin + path, /** @type {string} */ (selector)))),
    });
  const [slowest] = all.sort((a, b) => b.ms - a.ms);
  return { slowest_view_ms: slowest?.ms, slowest_view: slowest?.view };
}

/** The time between frames while the wheel turns: the 95th percentile. @param {Page} page */
async function scroll(page) {
  await page.evaluate(`window.__frames = []; window.__on = true;
    (function frame(before) { requestAnimationFrame((now) => { window.__frames.push(now - before); if (window.__on) frame(now); }); })(performance.now())`);
  await page.mouse.move(700, 500);
  const end = Date.now() + 5_000;
  while (Date.now() < end) await page.mouse.wheel(0, 400);
  const frames = /** @type {number[]} */ (
    await page.evaluate("window.__on = false, window.__frames.slice(2)")
  );
  return frames.sort((a, b) => a - b)[Math.floor(frames.length * 0.95)];
}

/**
 * Milliseconds from a durable fact to its row on the screen, of a session that another process writes.
 *
 * @param {Page} page @param {import("openrath/store").Store} store @param {string} origin
 */
async function follow(page, store, origin) {
  let session = Session.start("A tail");
  await store.save(session, { name: "tail" });
  await page.goto(`${origin}/s/tail/graph?z=fact`);
  await page.locator('[role="row"][data-id]').first().waitFor();
  await new Promise((done) => setTimeout(done, 1_000));
  const all = [];
  for (let round = 0; round < 20; round++) {
    session = session.say(`fact ${round}`);
    await store.save(session, { name: "tail" });
    const written = Date.now();
    const shown = /** @type {number} */ (
      await page.evaluate(
        `new Promise((done) => { const look = () => document.querySelector('[data-id="${session.id}"]') === null
          ? requestAnimationFrame(look) : done(Date.now()); look(); })`,
      )
    );
    all.push(Math.max(0, shown - written));
    await new Promise((done) => setTimeout(done, 250));
  }
  return all;
}

/** Pages of the list that one process of Node answers and another part of it asks for, without a limit of requests. */
async function measureRequests() {
  progress("asking the server");
  const store = await openStore(`sqlite:${path}`);
  const rath = openRath({ store });
  const handler = server(rath, {
    auth: { single: "user:bench" },
    limits: { requests: { burst: 1e9, perSecond: 1e9 } },
  });
  const served = await serve(handler, { port: 0 });
  const headers = { authorization: `Bearer ${handler.token}` };
  let count = 0;
  const ask = async () => {
    const response = await fetch(`${served.url}/api/sessions?limit=50`, { headers });
    await response.arrayBuffer();
    count += 1;
  };
  await ask();
  count = 0;
  const end = Date.now() + 3_000;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (Date.now() < end) await ask();
    }),
  );
  handler.close();
  await served.close();
  await rath.close();
  await store.close();
  return count / 3;
}
