import { dossierHtml, dossierOf } from "openrath/evidence";
import { openStore } from "openrath/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Browser, missing } from "./browser.js";
import { recordOf, WAYS } from "./record.js";

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1_400, height: 900 };

/** A page with every kind of section: words that are nobody's attack, short and long. */
async function example(): Promise<string> {
  const store = await openStore("memory:");
  const words = Object.keys(WAYS).flatMap((way) => [
    way,
    `${way}: ${"a long sentence about it that goes on and on. ".repeat(30)}`,
    `${way}${"_without_a_blank".repeat(20)}`,
  ]);
  const session = await recordOf(store, ["Repair the parser, and say what was wrong with it.", ...words]);
  await store.save(session, { name: "it" });
  return dossierHtml(await dossierOf(store, "it"), { bundle: { file: "it.json", digest: "ab".repeat(32) } });
}

describe.skipIf(missing !== undefined)(`the page in a browser ${missing ?? ""}`, () => {
  let [browser, plain]: [Browser?, Browser?] = [];
  let html: string;
  beforeAll(async () => {
    html = await example();
    [browser, plain] = [await Browser.open(), await Browser.open({ javaScriptEnabled: false })];
  });
  afterAll(async () => {
    await browser?.close();
    await plain?.close();
  });
  const show = (size: typeof PHONE) => (browser as Browser).show(html, size);

  it.each([
    ["phone", PHONE],
    ["desk", DESK],
  ] as const)("[V1] opens at the width of a %s, light and dark, and nothing stands out", async (_, size) => {
    const { page, requests, errors } = await show(size);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const open of [false, true]) {
        await page.evaluate(`for (const one of document.querySelectorAll("details")) one.open = ${open}`);
        const widths = (await page.evaluate(
          "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
        )) as number[];
        expect(widths[0]).toBe(widths[1]);
        // Nothing that is not in a part of its own that can be moved sideways is wider than the page.
        const wide = await page.evaluate(
          "[...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scroll, pre, svg, .graph li')).map((one) => one.outerHTML.slice(0, 120)).slice(0, 5)",
        );
        expect(wide).toEqual([]);
      }
    }
    expect([requests, errors, (browser as Browser).heard]).toEqual([[], [], []]);
    await page.close();
  });

  it("[V2] without JavaScript parts open and ids lead to their facts", async () => {
    const { page, requests, errors } = await (plain as Browser).show(html, DESK);
    const item = page.locator("#tools details.item").first();
    expect(await item.locator(".body").isVisible()).toBe(false);
    await item.locator("summary").first().click();
    expect(await item.locator(".body").isVisible()).toBe(true);
    const link = item.locator(".proofs a.id").first();
    const target = (await link.getAttribute("href")) as string;
    await link.click();
    // The row is in a part that is closed: going there opens it.
    expect(await page.locator(target).isVisible()).toBe(true);
    await page.locator("nav.contents a", { hasText: "Proof" }).click();
    expect(page.url()).toMatch(/#proof$/);
    expect([requests, errors]).toEqual([[], []]);
    await page.close();
  });

  it("[V3] on paper all parts are open, nothing is cut off, and there are no dark areas", async () => {
    const { page } = await show({ width: 720, height: 1_000 });
    // Who prints from a dark screen gets paper all the same.
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    const closed = await page.evaluate(
      "[...document.querySelectorAll('details:not([open])')].filter((one) => [...one.children].slice(1).every((child) => child.getBoundingClientRect().height === 0)).map((one) => one.outerHTML.slice(0, 100)).slice(0, 3)",
    );
    expect(closed).toEqual([]);
    const hidden = await page.evaluate(
      "[...document.querySelectorAll('pre')].filter((one) => one.scrollHeight > one.clientHeight + 2 || one.scrollWidth > one.clientWidth + 2).map((one) => one.className + one.textContent.slice(0, 60)).slice(0, 3)",
    );
    expect(hidden).toEqual([]);
    expect(await page.locator("nav.contents").isVisible()).toBe(false);
    const dark = await page.evaluate(
      "[...document.querySelectorAll('body, body *')].filter((one) => { const [r, g, b, a = 1] = getComputedStyle(one).backgroundColor.match(/[\\d.]+/g).map(Number); return a > 0 && (r + g + b) / 3 < 200; }).map((one) => one.outerHTML.slice(0, 100)).slice(0, 3)",
    );
    expect(dark).toEqual([]);
    const pdf = await page.pdf({ format: "A4" });
    expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
    expect(pdf.length).toBeGreaterThan(50_000);
    await page.close();
  });

  it("[V4] landmarks, headings in order, names, and a way past the contents", async () => {
    const { page } = await show(DESK);
    const seen = (await page.evaluate(`({
      lang: document.documentElement.lang,
      title: document.title,
      landmarks: ["header", "nav[aria-label]", "main", "footer"].map((one) => document.querySelectorAll(one).length),
      headings: [...document.querySelectorAll("h1, h2, h3")].map((one) => Number(one.localName[1])),
      unnamed: [...document.querySelectorAll("section")].filter((one) => !document.getElementById(one.getAttribute("aria-labelledby"))).length,
      heads: [...document.querySelectorAll("th")].filter((one) => !one.scope).length,
      regions: [...document.querySelectorAll(".scroll")].filter((one) => one.tabIndex !== 0 || !one.getAttribute("aria-label")).length,
      picture: document.querySelector("svg[role=img] > title")?.textContent.length > 10,
      rows: document.querySelectorAll(".graph li").length,
      dots: document.querySelectorAll("svg .dot, svg path.edge:not([d*=V]):not([d*=C])").length,
      summaries: [...document.querySelectorAll("details")].filter((one) => one.firstElementChild?.localName !== "summary").length,
    })`)) as { readonly [name: string]: unknown };
    expect(seen).toMatchObject({
      lang: "en",
      title: "Dossier: it",
      landmarks: [1, 1, 1, 1],
      unnamed: 0,
      heads: 0,
      regions: 0,
      picture: true,
      summaries: 0,
    });
    const headings = seen.headings as readonly number[];
    expect(headings.filter((level) => level === 1)).toHaveLength(1);
    headings.forEach((level, place) => {
      expect(level - (headings[place - 1] ?? 0), `heading ${place}`).toBeLessThanOrEqual(1);
    });
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.className")).toBe("skip");
    expect(await page.evaluate("document.querySelector('a.skip').getBoundingClientRect().left >= 0")).toBe(
      true,
    );
    await page.close();
  });

  it.each(["light", "dark"] as const)("[V4] enough contrast when it is %s", async (colorScheme) => {
    const { page } = await show(DESK);
    await page.emulateMedia({ colorScheme });
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
    const faint = await page.evaluate(`(() => {
      const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
      const light = (colour) => { const [r, g, b] = numbers(colour).slice(0, 3).map((one) => { const part = one / 255; return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const ground = (element) => { for (let one = element; one; one = one.parentElement) { const [, , , a = 1] = numbers(getComputedStyle(one).backgroundColor); if (a > 0) return getComputedStyle(one).backgroundColor; } return "rgb(255,255,255)"; };
      const found = new Set();
      for (const element of document.querySelectorAll("body *")) {
        if (![...element.childNodes].some((node) => node.nodeType === 3 && node.nodeValue.trim() !== "") || element.closest("svg")) continue;
        const [one, other] = [light(getComputedStyle(element).color), light(ground(element))];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (ratio < 4.5) found.add(element.localName + "." + element.className + " " + ratio.toFixed(2));
      }
      return [...found].slice(0, 10);
    })()`);
    expect(faint).toEqual([]);
    await page.close();
  });
});
