// @ts-check
// An agent with a real browser: the tools of Playwright's MCP server. `npm install @playwright/mcp` first, and a Chromium.
// Looking is free, a click waits for a person, and a replay needs no browser.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { agent, openRath, scripted } from "openrath";
import { mcp } from "openrath/mcp";
import { serve } from "openrath/ui";

const page = "<title>Shop</title><h1>Pencils: 12 left</h1>";
const shop = await serve(async () => new Response(page, { headers: { "content-type": "text/html" } }));

const program = join(
  dirname(createRequire(import.meta.url).resolve("@playwright/mcp/package.json")),
  "cli.js",
);
const browser = mcp(
  {
    name: "browser",
    command: process.execPath,
    args: [program, "--headless", "--isolated", "--no-sandbox"].concat(
      ["--executable-path", process.env.OPENRATH_CHROMIUM ?? "/usr/bin/chromium"],
      ["--allowed-origins", shop.url], // keeps it on the page; Playwright calls this no security boundary
    ),
  },
  {
    prefix: "", // the tools have names such as browser_click already
    only: ["browser_navigate", "browser_snapshot", "browser_click"],
    settings: {
      browser_navigate: { effect: "idempotent" },
      browser_snapshot: { effect: "read" },
      browser_click: { effect: "write", approval: true },
    },
  },
);

const surfer = agent({
  name: "surfer",
  model: scripted(
    { tool: "browser_navigate", input: { url: shop.url } },
    { tool: "browser_snapshot", input: {} },
    "There are 12 pencils left.",
  ),
  tools: await browser.tools(),
});
const rath = openRath({ store: "memory:" });
const session = await rath.turn(surfer, "pencils", "How many pencils are left?");
const seen = [...session.history()].map(({ fact }) => fact).findLast(({ type }) => type === "tool-result");
if (!JSON.stringify(seen).includes("Pencils: 12 left")) throw new Error("the page was not read");
await browser.close();
await shop.close();

const again = await rath.replay("pencils", surfer, { mode: "verify" });
if (again.id !== session.id) throw new Error("the replay differs");
console.log(`${session.text} The replay, without a browser, gives the same id.`);
await rath.close();
