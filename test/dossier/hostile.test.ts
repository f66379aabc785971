import { agent, openRath, scripted, tool } from "openrath";
import { dossierHtml, dossierOf, writeBundle } from "openrath/evidence";
import { openStore } from "openrath/store";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { campaign } from "../../src/session/testing/campaign.js";
import { Browser, missing } from "./browser.js";
import { mark, PAYLOADS, payload } from "./payloads.js";
import { recordOf, WAYS } from "./record.js";

/** In all, and in one dossier. */
const COUNT = Number(process.env.OPENRATH_DOSSIER_PAYLOADS ?? campaign(400));
const BATCH = 200;

/** Everything that a page is made of. An element or attribute that is not here was made by the words of a record. */
const ELEMENTS: { readonly [element: string]: readonly string[] } = {
  html: ["lang"],
  head: [],
  meta: ["charset", "http-equiv", "content", "name"],
  title: ["id"],
  style: [],
  body: [],
  div: ["class", "role", "aria-label", "tabindex", "dir"],
  header: ["class"],
  nav: ["class", "aria-label"],
  main: ["id"],
  footer: [],
  section: ["id", "aria-labelledby"],
  h1: ["dir"],
  h2: ["id"],
  h3: ["dir"],
  p: ["class"],
  span: ["class"],
  b: ["dir"],
  small: [],
  a: ["class", "href", "title"],
  code: ["class", "title", "dir"],
  pre: ["class", "dir"],
  time: ["datetime"],
  ol: [],
  ul: ["class"],
  li: ["class", "dir"],
  dl: ["class"],
  dt: [],
  dd: [],
  details: ["class", "id", "open"],
  summary: [],
  table: [],
  thead: [],
  tbody: [],
  tr: ["id"],
  th: ["scope", "class", "dir"],
  td: ["class", "dir", "colspan"],
  svg: ["width", "height", "viewBox", "role", "aria-labelledby"],
  path: ["class", "d"],
  circle: ["class", "cx", "cy", "r"],
  rect: ["class", "x", "y", "width", "height", "rx"],
};
/** What their values look like: nothing of a record is in an attribute but ids and times. */
const VALUES: { readonly [attribute: string]: RegExp } = {
  href: /^#[a-z0-9-]+$/,
  id: /^[a-z0-9-]+$/,
  class: /^[a-z0-9 -]*$/,
  title: /^[0-9a-f]{64}$/,
  dir: /^auto$/,
  datetime: /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  colspan: /^\d$/,
  tabindex: /^0$/,
  d: /^[MmVvHhLlCc0-9. -]+$/,
  scope: /^(?:row|col)$/,
};

/** What is on a page that a page does not make. It runs in the page, so it is written as text. */
const LOOK = `({ elements, values }) => {
  const patterns = Object.entries(values).map(([name, source]) => [name, new RegExp(source)]);
  const found = new Set();
  // Elements, and whatever else can stand in a document but text: sections, instructions, comments.
  const walker = document.createTreeWalker(document, 1 | 8 | 64 | 128);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (node.nodeType !== 1) { found.add("node " + node.nodeType + ": " + node.nodeValue.slice(0, 60)); continue; }
    const known = Object.hasOwn(elements, node.localName) ? elements[node.localName] : undefined;
    if (known === undefined) found.add("<" + node.localName + ">");
    if (node.shadowRoot) found.add("shadow in " + node.localName);
    for (const { name, value } of node.attributes) {
      if (!known?.includes(name)) found.add("<" + node.localName + " " + name + ">");
      for (const [attribute, pattern] of patterns)
        if (attribute === name && !pattern.test(value)) found.add(name + "=" + value.slice(0, 60));
    }
  }
  return [...found].slice(0, 20);
}`;

function strangers(page: Page): Promise<readonly string[]> {
  const values = Object.fromEntries(Object.entries(VALUES).map(([name, { source }]) => [name, source]));
  return page.evaluate(`(${LOOK})(${JSON.stringify({ elements: ELEMENTS, values })})`);
}

/** What turns text around, moves terminals or has no width: on the page only its picture or its name may stand. */
function unseen(text: string): readonly string[] {
  return [...text].filter(
    (one) =>
      /\p{Cc}|\p{Zl}|\p{Zp}|[\u202a-\u202e\u2066-\u2069\u200b\ufeff]/u.test(one) &&
      one !== "\n" &&
      one !== "\t",
  );
}

describe.skipIf(missing !== undefined)(`hostile words ${missing ?? ""}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await Browser.open();
  });
  afterAll(() => browser?.close());

  it("[X1] [X2] in every kind of field run nothing, load nothing, make nothing, and are there to be read", {
    timeout: 1_800_000,
  }, async () => {
    expect(COUNT, "there are not so many different ones").toBeLessThanOrEqual(PAYLOADS);
    for (let from = 0; from < COUNT; from += BATCH) {
      const numbers = Array.from({ length: Math.min(BATCH, COUNT - from) }, (_, place) => from + place);
      const words = numbers.map((number) => payload(number, browser));
      const store = await openStore("memory:");
      // Where the ways begin moves along, so that each family comes into each kind of field.
      const ways = Object.values(WAYS);
      const turned = ways.map(
        (_, place) => ways[(place + from / BATCH) % ways.length] as (typeof ways)[number],
      );
      const session = await recordOf(store, words, turned);
      await store.save(session, { name: "it" });
      const dossier = await dossierOf(store, "it", { most: 2_000, name: words[0] as string });
      const html = dossierHtml(dossier, { bundle: { file: words[1] as string } });
      const { page, requests, errors } = await browser.show(html, { width: 1_400, height: 900 });
      await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
      await page.mouse.move(700, 400);
      await page.keyboard.press("Tab");
      expect(await strangers(page)).toEqual([]);
      expect(await page.evaluate("window.__ran")).toEqual([]);
      const text = (await page.evaluate("document.documentElement.textContent")) as string;
      expect(numbers.filter((number) => !text.includes(mark(number)))).toEqual([]);
      expect(await page.title()).toContain(mark(from));
      expect(unseen(text)).toEqual([]);
      expect([requests, errors, browser.heard]).toEqual([[], [], []]);
      await page.close();
    }
  });

  it("[X1] the check finds what a page must not have", async () => {
    const { page, requests, errors } = await browser.show(
      `<!doctype html><html lang=en><body><p onclick="x">y</p><a href="javascript:ran(1)">z</a><img src="${browser.address}/told"><script>ran(2)</script><!-- c --></body></html>`,
      { width: 800, height: 600 },
    );
    await page.waitForLoadState("networkidle");
    expect(await strangers(page)).toEqual(
      expect.arrayContaining(["<p onclick>", "<img>", "<script>", "href=javascript:ran(1)"]),
    );
    expect(await page.evaluate("window.__ran")).toEqual(["2"]);
    expect([requests.length, browser.heard]).toEqual([1, ["/told"]]);
    expect(errors).toEqual([]);
    browser.heard.length = 0;
    await page.close();
  });
});

describe("secrets", () => {
  it("[X3] are in no page, no dossier and no bundle", async () => {
    const canary = "canary-9a8b7c6d5e4f";
    const rath = openRath({ store: "memory:", secrets: { TOKEN: canary } });
    const fetchIt = tool({
      name: "fetch_it",
      description: "Asks the service.",
      input: { type: "object", properties: {} } as const,
      effect: "read",
      run: () => ({
        said: `your token is ${canary}`,
        header: `Bearer ${canary}`,
        coded: Buffer.from(canary).toString("base64"),
      }),
    });
    const clerk = agent({
      name: "clerk",
      model: scripted({ tool: "fetch_it", input: {} }, `It said ${canary}.`),
      tools: [fetchIt],
    });
    await rath.run(clerk, rath.start("Ask the service."), { name: "it" });
    const store = await rath.store();
    const dossier = await dossierOf(store, "it");
    let bundle = "";
    for await (const piece of writeBundle(store, [dossier.session.id], { about: {}, view: dossier as never }))
      bundle += piece;
    for (const text of [JSON.stringify(dossier), dossierHtml(dossier), bundle]) {
      expect(text).toContain("fetch_it");
      expect(text).not.toContain(canary);
      expect(text).not.toContain(Buffer.from(canary).toString("base64"));
    }
    expect(dossier.tools.items[0]?.redacted).toEqual(["TOKEN"]);
    await rath.close();
  });
});
