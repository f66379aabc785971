import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { agent } from "../../../agent/index.js";
import { simulated } from "../../../agent/model/scripted.js";
import { tool } from "../../../agent/tool/index.js";
import { type Module, statusOf } from "../../../runtime/index.js";
import { rathOf } from "../../../runtime/testing/rath.js";
import { approvals, type Handler, serve, type UiVersion, uiStream } from "./index.js";
import { versions } from "./testing/client.js";

const program = process.env.OPENRATH_CHROMIUM ?? "chromium";
const path = findProgram();
let browser: Browser | undefined;

beforeAll(async () => {
  if (path === undefined) return;
  // Root has no namespaces of its own in a container; what is shown here comes from these tests alone.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  browser = await chromium.launch({ executablePath: path, headless: true, args, timeout: 60_000 });
});
afterAll(() => browser?.close());

it.for(versions)(
  "[UI13] useChat for ai %i works in a browser",
  { timeout: 180_000 },
  async (version, context) => {
    if (browser === undefined)
      return context.skip("there is no chromium: apt-get install chromium, or name it in OPENRATH_CHROMIUM");
    const rath = rathOf();
    const { module, go, paid } = clerk();
    const chat = uiStream(rath, module, { principal: () => "user:ada", version });
    const staff = approvals(rath, { principal: () => "user:boss", module: () => module });
    const script = await bundled(version);
    const { url, close } = await serve(pageOr(chat, script));
    onTestFinished(close);
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));

    // A streamed answer: the first half is there while the second is not written yet.
    await page.goto(`${url}/?chat=c1`);
    await say(page, "talk");
    await sees(page, ".assistant p", /^one two $/);
    // A reload in the middle of it.
    await page.reload();
    await sees(page, ".assistant p", /^one two $/);
    await sees(page, 'main[data-status="streaming"] .assistant p', /^one two $/);
    go();
    await sees(page, ".assistant p", /^one two three four$/);
    await sees(page, 'main[data-status="ready"] .assistant p', /four$/);
    expect(await page.locator(".assistant").count()).toBe(1);

    // An approval, given by staff.
    await say(page, "pay");
    await sees(page, ".awaited", /approval/);
    await sees(page, ".tool", version === 5 ? /input-available/ : /approval-requested/);
    const { awaited } = (await (await staff(new Request("http://staff"))).json()) as {
      awaited: { name: string; id: string }[];
    };
    const word = { name: awaited[0]?.name, of: awaited[0]?.id, value: { approved: true } };
    const headers = { "content-type": "application/json" };
    await staff(new Request("http://staff", { method: "POST", headers, body: JSON.stringify(word) }));
    await page.click("#look");
    for (let tries = 0; tries < 200 && statusOf(await rath.load("ui/user%3Aada/c1")) !== "finished"; tries++)
      await new Promise((resolve) => setTimeout(resolve, 20));
    await page.reload();
    await sees(page, ".tool", /output-available/);
    await sees(page, ".assistant:last-of-type p:last-of-type", /It is paid\./);
    expect(paid()).toBe(1);
    const { OPENRATH_SCREENSHOT } = process.env;
    if (OPENRATH_SCREENSHOT !== undefined)
      await page.screenshot({ path: `${OPENRATH_SCREENSHOT}-${version}.png` });

    // Stop.
    await page.goto(`${url}/?chat=c2`);
    await say(page, "wait");
    await sees(page, ".assistant p", /^one two $/);
    await page.click("#stop");
    await sees(page, 'main[data-status="ready"] .assistant p', /^one two $/);
    for (let tries = 0; tries < 200 && statusOf(await rath.load("ui/user%3Aada/c2")) !== "cancelled"; tries++)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(statusOf(await rath.load("ui/user%3Aada/c2"))).toBe("cancelled");
    expect(errors).toEqual([]);
  },
);

/** An agent whose model speaks piece by piece, and pauses in the middle until the test goes on. */
function clerk(): { readonly module: Module; readonly go: () => void; readonly paid: () => number } {
  let go = (): void => {};
  let paid = 0;
  const gate = new Promise<void>((resolve) => (go = resolve));
  const base = simulated("test", "talker", async () => {
    throw new Error("it streams");
  });
  const usage = {
    inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: undefined, reasoning: undefined },
  };
  const text = (id: string, delta: string) => ({ type: "text-delta", id, delta });
  async function* reply(
    prompt: readonly { role: string; content: unknown }[],
    signal: AbortSignal | undefined,
  ) {
    yield { type: "stream-start", warnings: [] };
    const last = JSON.stringify(prompt.at(-1));
    const isCall = last.includes('"pay"') && prompt.at(-1)?.role === "user";
    if (isCall) {
      const input = '{"sum":5}';
      yield { type: "tool-input-start", id: "call1", toolName: "pay" };
      yield { type: "tool-input-delta", id: "call1", delta: input };
      yield { type: "tool-input-end", id: "call1" };
      yield { type: "tool-call", toolCallId: "call1", toolName: "pay", input };
    } else {
      yield { type: "text-start", id: "t" };
      if (prompt.at(-1)?.role === "tool") yield text("t", "It is paid.");
      else {
        yield text("t", "one ");
        yield text("t", "two ");
        const stopped = new Promise<void>((_, fail) =>
          signal?.addEventListener("abort", () => fail(new Error("stopped"))),
        );
        await Promise.race(last.includes("wait") ? [stopped] : [gate, stopped]);
        yield text("t", "three ");
        yield text("t", "four");
      }
      yield { type: "text-end", id: "t" };
    }
    yield {
      type: "finish",
      finishReason: { unified: isCall ? "tool-calls" : "stop", raw: undefined },
      usage,
    };
  }
  const model = {
    ...base,
    doStream: async ({ prompt, abortSignal }: { prompt: unknown; abortSignal?: AbortSignal }) => ({
      stream: ReadableStream.from(reply(prompt as never, abortSignal)),
    }),
  } as typeof base;
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    effect: "write",
    approval: true,
    run: () => {
      paid += 1;
      return "paid";
    },
  });
  return { module: agent({ name: "clerk", model, tools: [pay], stream: true }), go, paid: () => paid };
}

function pageOr(chat: Handler, script: string): Handler {
  const page = '<!doctype html><meta charset="utf-8"><title>Chat</title><div id="root"></div>';
  return async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/api/")) return chat(request);
    const html = { headers: { "content-type": "text/html" } };
    const js = { headers: { "content-type": "text/javascript" } };
    if (pathname === "/page.js") return new Response(script, js);
    return new Response(`${page}<script type="module" src="/page.js"></script>`, html);
  };
}

/** The page with React, and `useChat` and `ai` of one version: the copy of `ai` that belongs to that `useChat`. */
async function bundled(version: UiVersion): Promise<string> {
  const own = createRequire(import.meta.url);
  const entry = own.resolve(`use-chat${version}`);
  const bundle = await rolldown({
    input: fileURLToPath(new URL("testing/page.js", import.meta.url)),
    platform: "browser",
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
    logLevel: "silent",
    plugins: [
      {
        name: "one-version",
        async resolveId(name, importer) {
          if (name === "use-chat7") return this.resolve(`use-chat${version}`, importer);
          if (name === "ai" && importer?.endsWith("testing/page.js")) return this.resolve("ai", entry);
          return undefined;
        },
      },
    ],
  });
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
  await bundle.close();
  expect(dirname(entry)).toContain(`use-chat${version}`);
  return output[0].code;
}

async function say(page: Page, text: string): Promise<void> {
  await page.fill("input", text);
  await page.click("#send");
}

async function sees(page: Page, where: string, words: RegExp): Promise<void> {
  await page.locator(where).filter({ hasText: words }).first().waitFor({ timeout: 20_000 });
}

function findProgram(): string | undefined {
  try {
    return program.includes("/") ? program : execFileSync("which", [program], { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}
