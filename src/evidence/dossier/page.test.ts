import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { digestOf, Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { escaped, html } from "./html/html.js";
import { STYLE } from "./html/style.js";
import { dossierHtml, dossierOf } from "./index.js";
import { repaired } from "./testing/repaired.js";

async function page(): Promise<string> {
  const { store } = await repaired();
  return dossierHtml(await dossierOf(store, "issue-7"), {
    bundle: { file: "it.json", digest: "ab".repeat(32) },
  });
}

const NAMED: { readonly [name: string]: string } = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
  "#96": "`",
  "#61": "=",
};

describe("the page of a dossier", () => {
  it("[P1] any value put into markup is text", () => {
    expect(html`<p>${'<b x="1">&\'`='}</p>`.text).toBe(
      "<p>&lt;b x&#61;&quot;1&quot;&gt;&amp;&#39;&#96;&#61;</p>",
    );
    expect(html`<p>${[html`<i>${"<"}</i>`, undefined, false, 5]}</p>`.text).toBe("<p><i>&lt;</i>5</p>");
    expect(escaped("a\u0000\u001b[31m\u007f\u0085\r\n\t\u2028b")).toBe("a␀␛[31m␡⟦U+0085⟧␍\n\t⟦U+2028⟧b");
    expect(escaped("\u202etxt.exe\u2066\u200f\u061c\u200b\ufeff\u00ad")).toBe(
      "⟦U+202E⟧txt.exe⟦U+2066⟧⟦U+200F⟧⟦U+061C⟧⟦U+200B⟧⟦U+FEFF⟧⟦U+00AD⟧",
    );
    expect(escaped("\ud800x\udc00 \u{e0041} \uffff")).toBe("⟦U+D800⟧x⟦U+DC00⟧ ⟦U+E0041⟧ ⟦U+FFFF⟧");
    // What people write stays as it is.
    expect(escaped("Grüße, 日本語, فارسی\u200cها, 👩\u200d🚀 ❤\ufe0f\n\tx")).toBe(
      "Grüße, 日本語, فارسی\u200cها, 👩\u200d🚀 ❤\ufe0f\n\tx",
    );
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff })), (codes) => {
        const text = String.fromCharCode(...codes);
        const told = escaped(text);
        expect(told).not.toMatch(/[<>"'`=]|&(?!amp;|lt;|gt;|quot;|#39;|#96;|#61;)/);
        expect(told.isWellFormed()).toBe(true);
      }),
    );
  });

  it("[P2] no script, nothing to load, one style sheet, and links that lead to something on the page", async () => {
    const text = await page();
    expect(
      text
        .match(/<[a-z]+/g)
        ?.filter((tag) => /script|iframe|object|embed|form|input|img|link|base$/.test(tag)),
    ).toEqual([]);
    expect(text).not.toMatch(/\son[a-z]+=|javascript:|\ssrc=|\sstyle=|@import|url\(/);
    expect(text.match(/<style>/g)).toHaveLength(1);
    const digest = createHash("sha256").update(STYLE).digest("base64");
    expect(text).toContain(
      `content="default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'"`,
    );
    const ids = new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id));
    expect(ids.size).toBe([...text.matchAll(/\sid="([^"]+)"/g)].length);
    const links = [...text.matchAll(/\shref="([^"]*)"/g)].map(([, href]) => href as string);
    expect(links.length).toBeGreaterThan(60);
    for (const link of links) {
      expect(link.startsWith("#")).toBe(true);
      expect(ids.has(link.slice(1)), link).toBe(true);
    }
    expect(text).toContain("ab".repeat(32));
  });

  it("[P2] the line of the head can be copied from the page, and gives its id", async () => {
    const { store, head } = await repaired();
    const shell = (text: string): string | undefined =>
      /<pre>printf %s (.*?) \| sha256sum<\/pre>/s
        .exec(text)?.[1]
        ?.replace(/&(amp|lt|gt|quot|#39|#96|#61);/g, (_, name: string) => NAMED[name] as string)
        .slice(1, -1)
        .replaceAll(`'\\''`, "'");
    expect(digestOf(shell(dossierHtml(await dossierOf(store, "issue-7"))) ?? "")).toBe(head.id);
    const quoted = head.say(`It's "so" <b>`, { role: "assistant" });
    await store.save(quoted, { name: "quoted" });
    expect(digestOf(shell(dossierHtml(await dossierOf(store, "quoted"))) ?? "")).toBe(quoted.id);
    // What would be shown otherwise than it is cannot be copied, and is not offered.
    await store.save(head.say("turned \u202e around", { role: "assistant" }), { name: "turned" });
    expect(shell(dossierHtml(await dossierOf(store, "turned")))).toBeUndefined();
  });

  it("[P3] an omission is told at its place", async () => {
    const store = await openStore("memory:");
    let session = Session.start("Go.");
    for (let place = 0; place < 50; place++) {
      const call = session.append({ type: "tool-call", name: `t${place}`, input: {} });
      session = call.append({ type: "tool-result", of: call.id, output: "z".repeat(700) });
    }
    await store.save(session, { name: "it" });
    const text = dossierHtml(await dossierOf(store, "it", { most: 10, characters: 650 }));
    expect(text).toContain("40 more in the bundle.");
    expect(text).toContain("91 more in the bundle.");
    expect(text).toContain("50 more characters in the bundle.");
    // Those after the gap keep their numbers.
    expect(text).toContain("50. t49");
    expect(text).not.toContain("t20");
  });

  it("[P3] nothing is said of sections that have nothing", async () => {
    const store = await openStore("memory:");
    await store.save(Session.start("Only words."), { name: "it" });
    const text = dossierHtml(await dossierOf(store, "it"));
    for (const id of ["models", "tools", "commands", "memory", "approvals", "patch", "checks", "spending"])
      expect(text).not.toContain(`id="${id}"`);
    for (const id of ["summary", "graph", "branches", "timeline", "environment", "proof"])
      expect(text).toContain(`id="${id}"`);
  });
});
