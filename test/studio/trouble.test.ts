import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Session } from "openrath";
import { openStore, type Store } from "openrath/store";
import type { Page } from "playwright-core";
import { afterEach, describe, expect, it } from "vitest";
import { mark, PAYLOADS, payload } from "../dossier/payloads.js";
import { recordOf, WAYS } from "../dossier/record.js";
import { expectNothingWrong, sees, untried, Visitor } from "./browser.js";
import { type Studio, startStudio } from "./started.js";

/** Hostile texts: a sample, or as many as the environment says. */
const COUNT = Math.min(PAYLOADS, Number(process.env.OPENRATH_STUDIO_PAYLOADS ?? 100));
const BATCH = 100;
/** A sample has payloads of every kind, not the first ones: a prime number leads once to each of them. */
const spread = (place: number): number => (place * 7_919) % PAYLOADS;
const MANY = 50_000_000;

describe.skipIf(untried !== undefined)(
  `the studio in trouble${untried === undefined ? "" : ` (${untried})`}`,
  () => {
    const ends: (() => Promise<unknown>)[] = [];
    afterEach(async () => {
      for (const end of ends.splice(0).reverse()) await end();
    });

    /** A folder with a store that `fill` writes, the studio over it, and a page that is signed in. */
    async function opened(fill: (store: Store) => Promise<unknown>): Promise<{
      readonly folder: string;
      readonly studio: Studio;
      readonly visitor: Visitor;
      readonly page: Page;
      readonly store: Store;
    }> {
      const folder = mkdtempSync(join(tmpdir(), "rath-studio-"));
      ends.push(async () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
      const store = await openStore(`sqlite:${join(folder, "rath.db")}`);
      ends.push(() => store.close());
      await fill(store);
      const [studio, visitor] = await Promise.all([startStudio(folder), Visitor.open()]);
      ends.push(
        () => studio.stop(),
        () => visitor.close(),
      );
      const page = await visitor.page(studio.origin);
      await page.addInitScript(
        "window.__ran = []; window.ran = (number) => void window.__ran.push(String(number));",
      );
      await page.goto(studio.link);
      await page.getByText("● live").waitFor();
      return { folder, studio, visitor, page, store };
    }

    it("[ST9] hostile words in every field are shown as text, and nothing of them runs or loads", {
      timeout: 1_800_000,
    }, async () => {
      const names: string[] = [];
      const { studio, visitor, page } = await opened(async (store) => {
        for (let from = 0; from < COUNT; from += BATCH) {
          const numbers = Array.from({ length: Math.min(BATCH, COUNT - from) }, (_, place) =>
            spread(from + place),
          );
          const words = numbers.map((number) => payload(number, { address: "http://127.0.0.1:9" }));
          const ways = Object.values(WAYS);
          const turned = ways.map(
            (_, place) => ways[(place + from / BATCH) % ways.length] as (typeof ways)[number],
          );
          names.push(`hostile ${from} <img src=x onerror=ran(${from})>`);
          await store.save(await recordOf(store, words, turned), { name: names.at(-1) as string });
        }
      });
      for (const [at, name] of names.entries()) {
        for (const view of ["graph?z=fact", "turns", "timeline", "files", "evidence?tab=words"]) {
          await page.goto(`${studio.origin}/s/${encodeURIComponent(name)}/${view}`);
          await sees(page, name);
          await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
        }
        await page.goto(`${studio.origin}/s/${encodeURIComponent(name)}/graph?z=fact`);
        await sees(page, mark(spread(at * BATCH)));
        expect(
          await page.evaluate(
            "document.querySelectorAll('script:not([src]), iframe, object, embed, img, svg script').length",
          ),
        ).toBe(0);
        expect(await page.evaluate("window.__ran")).toEqual([]);
      }
      await page.goto(studio.origin);
      await sees(page, names.at(-1) as string);
      await expectNothingWrong(visitor);
    });

    it("[ST10] a server that restarts in the middle is told, and the page goes on when it is back", async () => {
      const { folder, studio, visitor, page, store } = await opened((store) =>
        store.save(Session.start("the beginning"), { name: "tail" }),
      );
      await page.goto(`${studio.origin}/s/tail/graph`);
      await sees(page, "the beginning");
      await sees(page, "● live");
      await studio.stop();
      await sees(page, "The server stopped answering");
      await sees(page, "the beginning");
      const again = await startStudio(folder, ["--port", new URL(studio.origin).port]);
      ends.push(() => again.stop());
      // The cookie of the old server is worth nothing to the new one, and another tab signs this browser in.
      const other = await visitor.page(again.origin);
      await other.goto(again.link);
      await sees(other, "tail");
      await store.save((await store.load("tail")).say("said while nobody was there"), { name: "tail" });
      await page.bringToFront();
      const now = page.getByRole("button", { name: "Now" });
      if (await now.isVisible()) await now.click();
      await sees(page, "said while nobody was there");
      await expectNothingWrong(visitor);
    });

    it("[ST19] [ST21] [ST22] links, clocks and tabs: each says what is true", async () => {
      const { studio, visitor, page, store } = await opened((store) =>
        store.save(Session.start("the first"), { name: "first" }),
      );
      // A link that was used, and a browser that never had one.
      const stranger = await visitor.stranger(studio.origin);
      await stranger.goto(studio.link);
      await sees(stranger, "This link was used before");
      await stranger.goto(studio.origin);
      await sees(stranger, "This browser is not signed in");
      // A browser whose clock is a day ahead.
      await page.clock.setSystemTime(Date.now() + 86_400_000);
      await page.reload();
      await sees(page, "just now");
      // Another tab, which then takes the stream of the first.
      const other = await visitor.page(studio.origin);
      await other.goto(studio.origin);
      await sees(other, "● live");
      await page.close();
      await store.save(Session.start("the second"), { name: "second" });
      await sees(other, "the second");
      await expectNothingWrong(visitor);
    });

    it("[ST17] a store that takes the place of another is shown by itself, and the sign-in stays", async () => {
      const { folder, visitor, page } = await opened((store) =>
        store.save(Session.start("of the old store"), { name: "old" }),
      );
      await sees(page, "of the old store");
      const other = join(folder, "other");
      mkdirSync(other);
      const store = await openStore(`sqlite:${join(other, "rath.db")}`);
      await store.save(Session.start("of the new store"), { name: "new" });
      await store.close();
      for (const file of readdirSync(folder).filter((name) => name.startsWith("rath.db")))
        rmSync(join(folder, file));
      // The log goes first: the file without it would be another store.
      for (const file of readdirSync(other).toSorted().toReversed())
        renameSync(join(other, file), join(folder, file));
      await sees(page, "The server now shows another store");
      await sees(page, "of the new store");
      await page.getByRole("button", { name: "OK" }).click();
      await expectNothingWrong(visitor);
    });

    it("[ST11] a thousand changes a second reach the page, which shows the newest and answers meanwhile", async () => {
      const { studio, visitor, page, store } = await opened((store) =>
        store.save(Session.start("the beginning"), { name: "storm" }),
      );
      await page.goto(`${studio.origin}/s/storm/graph?z=fact`);
      await sees(page, "the beginning");
      let asked = 0;
      page.on("request", () => {
        asked += 1;
      });
      // As many facts as the clock says are there: a slow machine saves more of them at once, and never fewer a second.
      let session = await store.load("storm");
      const began = performance.now();
      const storm = (async () => {
        for (let number = 0; number < 3_000; ) {
          const due = Math.min(3_000, performance.now() - began);
          for (; number < due; number++) session = session.say(`number ${number} of the storm`);
          await store.save(session, { name: "storm" });
          await new Promise((done) => setTimeout(done, 1));
        }
      })();
      await page.getByRole("button", { name: "turns" }).click();
      await page.getByRole("button", { name: "facts" }).click();
      await page.keyboard.press("End");
      await storm;
      await page.keyboard.press("End");
      await sees(page, "number 2999 of the storm");
      // A round asks for what is in view: the session, the questions, the summary, the place and at most four pages.
      expect(asked).toBeLessThan(((performance.now() - began) / 100 + 5) * 10);
      await expectNothingWrong(visitor);
    });

    it("[ST23] [ST25] the page says how far a long session is read, and leads to any turn of it", async () => {
      const { studio, visitor, page, store } = await opened((store) => {
        let session = Session.start("A long one");
        for (let number = 1; number < 8_000; number++) session = session.say(`number ${number}`);
        return store.save(session, { name: "long" });
      });
      await page.goto(`${studio.origin}/s/long/graph?z=fact`);
      await sees(page, /reads this session for the first time: [\d,]+ of 8,000 facts/);
      await sees(page, "A long one");
      const middle = [...(await store.load("long")).history()][4_000];
      await page.goto(`${studio.origin}/s/long/turns?at=${middle?.id}`);
      await sees(page, "number 4000");
      // Turns before it came in above, and moved nothing.
      await sees(page, "number 3999");
      await page.keyboard.press("Escape");
      await page.keyboard.press("End");
      await sees(page, "number 7999");
      await page.keyboard.press("Home");
      await sees(page, "A long one");
      await expectNothingWrong(visitor);
    });

    it("[ST12] five hundred branches, fifty megabytes of output, and text from right to left or without spaces", async () => {
      const { studio, visitor, page } = await opened(async (store) => {
        const trunk = Session.start("Many ways");
        await store.save(trunk, { name: "many" });
        for (let number = 0; number < 500; number++)
          await store.save(trunk.fork(`way ${number}`).say(`words of way ${number}`), {
            name: `many/${number}`,
          });
        const asked = Session.start("Read it all").append({ type: "tool-call", name: "read", input: {} });
        const output = `${"a line of the output\n".repeat(MANY / 21)}the end`;
        await store.save(asked.append({ type: "tool-result", of: asked.id, output }), { name: "large" });
        const words = "مرحبا بالعالم, שלום, 你好世界こんにちは안녕하세요ไม่มีช่องว่าง".repeat(3);
        const marked = "R&amp;D &lt;b&gt; &eacute; <i>";
        await store.save(
          Session.start(words).say(words, { role: "assistant" }).say(marked, { role: "assistant" }),
          { name: "words" },
        );
      });
      await page.goto(`${studio.origin}/s/many/graph`);
      await sees(page, "501 branches");
      await page.keyboard.press("End");
      await sees(page, /words of way|forked the branch way/);
      await page.goto(`${studio.origin}/s/large/turns`);
      await page.getByText("read", { exact: true }).click();
      await page.getByRole("button", { name: /^Open all 50/ }).click();
      await sees(page, /Piece 1 of 191/);
      await sees(page, "a line of the output");
      await page.getByRole("button", { name: "Last" }).click();
      await sees(page, /Piece 191 of 191/);
      await page.setViewportSize({ width: 375, height: 720 });
      for (const view of ["graph", "turns"]) {
        await page.goto(`${studio.origin}/s/words/${view}`);
        await sees(page, /مرحبا/);
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(375);
      }
      // Character references of Markdown, which a library would ask the browser for in a way that the policy refuses.
      await sees(page, "R&D <b> &eacute; <i>");
      await expectNothingWrong(visitor);
    });
  },
);
