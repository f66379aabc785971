import { once } from "node:events";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { spawned, surroundings } from "../cli/call.js";
import { expectNothingWrong, sees, seriousIn, untried, Visitor } from "./browser.js";
import { type Demo, demonstration } from "./demo.js";
import { type Studio, startStudio } from "./started.js";

describe.skipIf(untried !== undefined)(
  `the views of the studio${untried === undefined ? "" : ` (${untried})`}`,
  () => {
    let demo: Demo;
    let studio: Studio;
    let visitor: Visitor;
    let page: Page;
    beforeAll(async () => {
      [demo, visitor] = await Promise.all([demonstration(), Visitor.open()]);
      studio = await startStudio(demo.folder, ["--modules", demo.modules]);
      page = await visitor.page(studio.origin);
      await page.goto(studio.link);
      await sees(page, "demo-1");
    });
    afterAll(async () => {
      await visitor?.close();
      await studio?.stop();
      demo?.remove();
    });

    /** Each view by its address, and words that it shows once its answers are there. */
    const views = (): readonly (readonly [name: string, address: string, shows: string | RegExp])[] => [
      ["sessions", "/", "Fix issue 41"],
      ["graph", "/s/demo-1/graph", "started a session with"],
      ["one fact", `/s/demo-1/graph?at=${demo.rejection}`, "Rerun from here"],
      ["failures", "/s/demo-1/graph?only=failed", "checked review: failed"],
      ["turns", "/s/demo-1/turns", "I read the issue"],
      ["timeline", "/s/demo-1/timeline", "16 model calls"],
      ["files", "/s/demo-1/files?path=src%2Fsplit.js", "from line"],
      ["blame", "/s/demo-1/files?path=src%2Fsplit.js&tab=blame", "script"],
      ["text", "/s/demo-1/files?path=README.md&tab=text", "tally"],
      ["merge", "/s/demo-1/files?tab=merge", "Choose what to merge"],
      ["compare", `/compare?a=demo-1&b=${demo.small}`, "62 facts in common"],
      ["memory", "/memory", "Amounts in tally"],
      ["inbox", "/inbox", "Nothing waits for you"],
      ["rerun", `/rerun/${demo.rejection}`, "What you change"],
      ["evidence", "/s/demo-1/evidence", "Outcome"],
      ["checks", "/s/demo-1/evidence?tab=checks", "passed"],
    ];

    /** Starts the rerun whose form is open, after its plan is there. */
    async function start(name: string): Promise<void> {
      await page.getByLabel("The instruction").fill("Deal the cents out one by one.");
      await page.getByLabel("Name of the new session").fill(name);
      await page.getByRole("button", { name: "What would happen?" }).click();
      await page.getByRole("button", { name: "Start it" }).waitFor();
      expect(await seriousIn(page)).toEqual([]);
      const all = page.getByRole("button", { name: /^Allow all/ });
      if (await all.isVisible()) await all.click();
      else for (const box of await page.getByRole("checkbox").all()) await box.check();
      await page.getByRole("button", { name: "Start it" }).click();
      // It is shown beside the original, and it asks before it writes.
      await sees(page, /facts? in common/);
    }

    it("[ST3] every view opens by its address, and axe finds nothing serious in it, light or dark", async () => {
      const found: string[] = [];
      for (const [name, address, shows] of views()) {
        await page.emulateMedia({ colorScheme: "light" });
        await page.goto(`${studio.origin}${address}`);
        await sees(page, shows);
        found.push(...(await seriousIn(page)).map((one) => `${name}, light: ${one}`));
        // The same page in other colours: axe has one rule about them.
        await page.emulateMedia({ colorScheme: "dark" });
        found.push(...(await seriousIn(page, "color-contrast")).map((one) => `${name}, dark: ${one}`));
      }
      expect(found).toEqual([]);
    });

    it("[ST4] every view fits a phone: nothing is wider than the window", async () => {
      await page.setViewportSize({ width: 375, height: 720 });
      const wide: string[] = [];
      for (const [name, address, shows] of views()) {
        await page.goto(`${studio.origin}${address}`);
        await sees(page, shows);
        const width = await page.evaluate("document.documentElement.scrollWidth");
        if (width !== 375) wide.push(`${name}: ${width}`);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
      expect(wide).toEqual([]);
    });

    it("[ST5] a newcomer finds the rejection, reruns from it, approves the write, compares and verifies", async () => {
      await page.goto(studio.origin);
      await page.getByRole("button", { name: /Fix issue 41/ }).click();
      await page.getByRole("button", { name: "Only failures" }).click();
      await page.getByRole("button", { name: /checked review: failed/ }).click();
      await sees(page, /What is left over must be spread/);
      await page.getByRole("button", { name: "Rerun from here" }).click();
      await start("mine");
    });

    it("[ST13] a note and the title tell of a question that arrives, and the write is approved from there", async () => {
      await sees(page, "mine waits for you");
      await expect.poll(() => page.title()).toMatch(/^\(1\) /);
      await page.getByRole("button", { name: "Open" }).click();
      await sees(page, "Waiting for you (1)");
      await sees(page, "Exactly this will happen");
      expect(await seriousIn(page)).toEqual([]);
      await page.getByRole("button", { name: "Approve", exact: true }).click();
      await sees(page, "The run continues");
      await expect.poll(() => page.title()).not.toMatch(/^\(/);
      await page.goto(`${studio.origin}/s/mine/turns`);
      await expect
        .poll(
          async () => {
            await page.keyboard.press("End");
            return page
              .getByText(/Kept: 12 of 12 tests pass/)
              .last()
              .isVisible();
          },
          { timeout: 60_000 },
        )
        .toBe(true);
      await page.goto(`${studio.origin}/s/mine/evidence`);
      await page.getByRole("button", { name: "Verify" }).click();
      await sees(page, /Intact: /);
      for (const [what, file] of [
        ["dossier", "mine.html"],
        ["bundle", "mine.json"],
        ["record", "mine.jsonl"],
      ] as const) {
        const download = page.waitForEvent("download");
        await page.getByRole("link", { name: `Export ${what}` }).click();
        expect((await download).suggestedFilename()).toBe(file);
        expect((await stat(await (await download).path())).size).toBeGreaterThan(1_000);
      }
    });

    it("[ST24] the arguments of a waiting write are changed as text, and the change is what happens", async () => {
      await page.goto(`${studio.origin}/rerun/${demo.rejection}`);
      await start("edited");
      await page.goto(`${studio.origin}/inbox`);
      await page.getByRole("button", { name: "Edit", exact: true }).click();
      const text = page.getByLabel("text", { exact: true });
      await text.fill(`${await text.inputValue()}// changed by a person\n`);
      await sees(page, "+ // changed by a person");
      await page.getByRole("button", { name: "Approve as edited" }).click();
      await sees(page, "The run continues");
      await page.goto(`${studio.origin}/s/edited/files?path=src%2Fsplit.js&tab=text`);
      await sees(page, "// changed by a person");
    });

    it("[ST6] keys alone lead through the graph to a comparison, and back", async () => {
      await page.goto(`${studio.origin}/s/demo-1/graph`);
      await sees(page, "started a session with");
      await page.keyboard.press("n");
      await sees(page, /checked tests: failed/);
      await expect.poll(() => new URL(page.url()).searchParams.get("at")).not.toBeNull();
      const first = new URL(page.url()).searchParams.get("at");
      await page.keyboard.press("m");
      await page.keyboard.press("n");
      await expect.poll(() => new URL(page.url()).searchParams.get("at")).not.toBe(first);
      await page.keyboard.press("c");
      await expect.poll(() => new URL(page.url()).pathname).toBe("/compare");
      expect(new URL(page.url()).searchParams.get("a")).toBe(first);
      await page.keyboard.press("g");
      await page.keyboard.press("i");
      await expect.poll(() => new URL(page.url()).pathname).toBe("/inbox");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("demo-1");
      await page.getByRole("option", { name: /demo-1: Fix issue 41/ }).click();
      await expect.poll(() => new URL(page.url()).pathname).toBe("/s/demo-1/graph");
    });

    it("[ST14] the prompt of a model call is shown as it was sent, and has an address", async () => {
      await page.goto(`${studio.origin}/s/demo-1/turns`);
      await page.getByRole("button", { name: "assistant", exact: true }).first().click();
      await page.getByRole("button", { name: "Prompt" }).click();
      await sees(page, /^Verified: these bytes have the digest/);
      const address = page.url();
      await page.goto("about:blank");
      await page.goto(address);
      await sees(page, /^Verified: these bytes have the digest/);
      await sees(page, /1\. system/);
    });

    it("[ST15] keys or a pointer fold the sub-agent of a row, and keys play the run step by step", async () => {
      await page.goto(`${studio.origin}/s/demo-1/graph`);
      await sees(page, "started a session with");
      await page.keyboard.press("n");
      const row = page.locator("[aria-selected=true]");
      await expect.poll(() => row.textContent()).toContain("checked tests: failed");
      await page.keyboard.press("h");
      await sees(page, "2 rows folded × failed");
      expect(await page.getByText("checked tests: failed").count()).toBe(0);
      await page.keyboard.press("l");
      await sees(page, "checked tests: failed");
      for (let step = 0; step < 4; step++) await page.keyboard.press("j");
      await expect.poll(() => row.textContent()).toContain("called view");
      await page.keyboard.press("h");
      await sees(page, "3 rows of validator folded");
      await page.keyboard.press("l");
      // The same with a pointer.
      await row.hover();
      await row.getByRole("button", { name: "Fold validator" }).click();
      await page.getByRole("button", { name: "3 rows of validator folded" }).click();
      const heads = async (): Promise<string | null> => new URL(page.url()).searchParams.get("head");
      await page.keyboard.press("<");
      await sees(page, "1 later step exists.");
      await page.keyboard.press("<");
      await sees(page, "2 later steps exist.");
      const at = await heads();
      await page.keyboard.press(" ");
      await expect.poll(heads, { timeout: 60_000 }).not.toBe(at);
      await expect.poll(heads, { timeout: 60_000 }).toBe(null);
    });

    it("[ST20] a row tells about itself when the pointer rests on it", async () => {
      await page.goto(`${studio.origin}/s/demo-1/graph`);
      await page
        .getByRole("row", { name: /checked tests: failed/ })
        .first()
        .hover();
      const card = page.getByRole("tooltip");
      await card.getByText("validation-report").waitFor();
      expect(await card.textContent()).toMatch(/9 of 12|passed: 9/);
      expect(new URL(page.url()).searchParams.has("at")).toBe(false);
      expect(await seriousIn(page)).toEqual([]);
      await page.mouse.wheel(0, 400);
      await card.waitFor({ state: "detached" });
    });

    it("[ST16] a signature is shown once it is there, and the page offers the commands", async () => {
      const inFolder = {
        cwd: demo.folder,
        env: { ...surroundings, RATH_HOME: demo.folder, XDG_CONFIG_HOME: join(demo.folder, "config") },
      };
      await page.goto(`${studio.origin}/s/demo-1/evidence`);
      await sees(page, "rath sign demo-1");
      await sees(page, "rath checkpoint && rath prove demo-1 -o demo-1.proof");
      await page.getByRole("button", { name: "Verify" }).click();
      await sees(page, "Nobody has signed this session yet.");
      expect((await spawned(["key", "new", "ada"], inFolder)).code).toBe(0);
      expect((await spawned(["sign", "demo-1"], inFolder)).code).toBe(0);
      await page.getByRole("button", { name: "Verify" }).click();
      await sees(page, /^[●○] signed$/);
    });

    it("[ST7] no view reaches another origin, breaks the policy or throws", async () => {
      await expectNothingWrong(visitor);
    });

    it("[ST8] a bundle becomes a page of files that shows the same, verifies and needs no server", async () => {
      const folder = join(demo.folder, "page");
      const said = await spawned(["studio", "--bundle", demo.bundle, "-o", folder, "--json"], {
        cwd: demo.folder,
        env: { ...surroundings, RATH_HOME: join(demo.folder, "none") },
      });
      expect(said.stderr).toBe("");
      expect(JSON.parse(said.stdout)).toMatchObject({ name: "demo-1" });
      const address = pathToFileURL(join(folder, "index.html")).href;
      const other = await Visitor.open();
      try {
        const offline = await other.page("file://");
        for (const [, path, shows] of views()) {
          if (/^\/(rerun|inbox)/.test(path) || path === `/s/demo-1/graph?at=${demo.rejection}`) continue;
          await offline.goto(`${address}#${path}`);
          await sees(offline, shows);
        }
        await offline.goto(`${address}#/s/demo-1/evidence`);
        await offline.getByRole("button", { name: "Verify" }).click();
        await sees(offline, /Intact: (\d+) of \1 facts/);
        // The same files under a path of some server.
        const files = await served(folder);
        const online = await other.page(files.url);
        await online.goto(`${files.url}/demo/index.html#/s/demo-1/graph`);
        await sees(online, "started a session with");
        await files.close();
        await expectNothingWrong(other);
      } finally {
        await other.close();
      }
    });
  },
);

/** The files of a folder under `/demo/`, as any static server answers them. */
async function served(folder: string): Promise<{ readonly url: string; close(): Promise<void> }> {
  const types: { readonly [ending: string]: string } = {
    html: "text/html",
    js: "text/javascript",
    css: "text/css",
  };
  const server = createServer((request, response) => {
    const path = join(folder, new URL(request.url ?? "/", "http://files").pathname.replace(/^\/demo/, ""));
    response.setHeader("content-type", types[path.split(".").at(-1) ?? ""] ?? "application/octet-stream");
    createReadStream(path)
      .on("error", () => response.writeHead(404).end())
      .pipe(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
