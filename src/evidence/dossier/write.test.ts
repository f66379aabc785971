import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { memory } from "../../memory/index.js";
import { Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { readBundle } from "../bundle/index.js";
import { SigningKey } from "../proof/index.js";
import { writeDossier } from "./index.js";
import { repaired } from "./testing/repaired.js";
import { writeWhole } from "./whole-file.js";

const folder = mkdtempSync(join(tmpdir(), "openrath-dossier-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the files of a dossier", () => {
  it("[F1] a page and a bundle that verifies, imports elsewhere and has the dossier in it", async () => {
    const { store, head } = await repaired();
    const key = SigningKey.make("ada");
    const files = await writeDossier(store, "issue-7", join(folder, "both.html"), { sign: [key] });
    expect(files.html?.file).toBe(join(folder, "both.html"));
    expect(files.bundle?.file).toBe(join(folder, "both.json"));
    const bytes = readFileSync(join(folder, "both.json"));
    expect(files.bundle).toMatchObject({
      bytes: bytes.length,
      digest: createHash("sha256").update(bytes).digest("hex"),
    });
    expect(readFileSync(join(folder, "both.html"), "utf8")).toContain(files.bundle?.digest);
    const bundle = await readBundle(bytes);
    expect(bundle.verified).toMatchObject({ intact: true, facts: files.dossier.counts.facts });
    expect(bundle.view).toEqual(JSON.parse(JSON.stringify(files.dossier)));
    expect(bundle.about).toMatchObject({
      kind: "dossier",
      session: { id: head.id, name: "issue-7" },
      status: "finished",
    });
    const other = await openStore("memory:");
    await other.import(bundle.lines(), { name: "theirs", head: head.id });
    expect((await other.load("theirs")).id).toBe(head.id);
    // Elsewhere, from the bundle alone, the same dossier comes of it.
    const again = await writeDossier(other, "theirs", join(folder, "again"), {
      at: files.dossier.made.at,
      name: "issue-7",
    });
    expect({ ...again.dossier, proof: 0 }).toEqual({ ...files.dossier, proof: 0 });
  });

  it("[F1] branches that nothing took in are in the bundle too", async () => {
    const { store, trunk } = await repaired();
    const lost = trunk.fork("lost").say("unheard");
    await store.save(lost, { name: "lost" });
    const { bundle } = await writeDossier(store, "issue-7", join(folder, "lost"));
    const read = await readBundle(readFileSync(bundle?.file ?? ""));
    expect(
      read.verified.heads.map((one) => (typeof one === "string" ? one : (one as { id: string }).id)),
    ).toContain(lost.id);
  });

  it("[F1] erased content is in neither file, and the bundle still verifies", async () => {
    const store = await openStore("memory:");
    const canary = "CANARY-0815";
    const session = Session.start(`It is ${canary}.`, { inline: 0 }).say(`Once more: ${canary}`, {
      role: "assistant",
    });
    await store.save(session, { name: "it" });
    const digests = [...session.history()].flatMap((one) => [...one.blobs()].map(({ ref }) => ref.digest));
    await store.erase("it", { digests, why: "asked for", by: "user:ada" });
    const { html, bundle } = await writeDossier(store, "it", join(folder, "erased"));
    for (const file of [html?.file, bundle?.file]) {
      const text = readFileSync(file ?? "", "utf8");
      expect(text).toContain("asked for");
      expect(text).not.toContain(canary);
      expect(text).not.toContain(Buffer.from(canary).toString("base64").slice(0, 10));
    }
    expect((await readBundle(readFileSync(bundle?.file ?? ""))).verified).toMatchObject({
      intact: true,
      erased: 2,
    });
  });

  it("[F1] memory spaces go along where that is asked for, and else not", async () => {
    const store = await openStore("memory:");
    const said = Session.start("It is blue.", { by: "user:ada" });
    await store.save(said, { name: "said" });
    const notes = memory({ name: "notes", scope: "project:shop" }).open(store);
    const { head, memory: id } = await notes.write({
      text: "It is blue.",
      because: [said.id],
      source: "human-correction",
      by: "user:ada",
    });
    const session = Session.start("Which colour?").append({
      type: "memory-read",
      space: "notes",
      head,
      query: "colour",
      hits: [{ memory: id, score: 1 }],
    });
    await store.save(session, { name: "it" });
    const lines = async (along: boolean): Promise<string> => {
      const { bundle } = await writeDossier(store, "it", join(folder, "memory"), {
        only: "bundle",
        memory: along,
      });
      let text = "";
      for await (const line of (await readBundle(readFileSync(bundle?.file ?? ""))).lines()) text += line;
      return text;
    };
    expect(await lines(true)).toContain('"type":"memory-write"');
    expect(await lines(false)).not.toContain('"type":"memory-write"');
  });

  it("[F1] only one of them, and nothing is left where it cannot be written", async () => {
    const { store } = await repaired();
    expect(Object.keys(await writeDossier(store, "issue-7", join(folder, "page"), { only: "html" }))).toEqual(
      ["dossier", "html"],
    );
    expect(
      Object.keys(await writeDossier(store, "issue-7", join(folder, "proof"), { only: "bundle" })),
    ).toEqual(["dossier", "bundle"]);
    expect(
      readdirSync(folder)
        .filter((file) => /^(page|proof)/.test(file))
        .sort(),
    ).toEqual(["page.html", "proof.json"]);
    await expect(writeDossier(store, "issue-7", join(folder, "nowhere", "x"))).rejects.toMatchObject({
      code: "dossier-not-written",
    });
    const damaged = await openStore("memory:");
    await damaged.import(store.export("issue-7", { blobs: false }), { name: "it" });
    // A bundle must have everything; a page says what is not here.
    await expect(writeDossier(damaged, "it", join(folder, "broken"))).rejects.toMatchObject({
      code: "store-damaged",
    });
    await writeDossier(damaged, "it", join(folder, "broken"), { only: "html" });
    expect(readdirSync(folder).filter((file) => file.startsWith("broken"))).toEqual(["broken.html"]);
    expect(readdirSync(folder).filter((file) => file.endsWith(".part"))).toEqual([]);
  });

  it("[F2] a file that was not named is replaced only if it is of a dossier", async () => {
    const { store } = await repaired();
    const place = mkdtempSync(join(folder, "mine-"));
    const at = (name: string): string => join(place, name);
    const [json, html] = ['{"precious":true}', "<!doctype html><title>Mine</title>"];
    writeFileSync(at("a.json"), json);
    writeFileSync(at("b.html"), html);
    writeFileSync(at("target"), json);
    symlinkSync(at("target"), at("c.json"));
    symlinkSync(at("nowhere"), at("d.json"));
    mkdirSync(at("e.json"));
    execFileSync("mkfifo", [at("f.json")]);
    writeFileSync(at("g.json"), "");
    const before = readdirSync(place).sort();
    for (const base of ["a.html", "a", "b.json", "b", "c", "d.html", "e", "f", "g"])
      await expect(writeDossier(store, "issue-7", at(base)), base).rejects.toMatchObject({
        code: "dossier-not-written",
        hint: expect.stringMatching(/--(html|bundle)-only/),
      });
    expect(readdirSync(place).sort()).toEqual(before);
    for (const name of ["a.json", "target"]) expect(readFileSync(at(name), "utf8")).toBe(json);
    expect(readFileSync(at("b.html"), "utf8")).toBe(html);
    // Named, or left alone.
    await writeDossier(store, "issue-7", at("a.html"), { only: "html" });
    expect(readFileSync(at("a.json"), "utf8")).toBe(json);
    await writeDossier(store, "issue-7", at("a.json"));
    expect((await readBundle(readFileSync(at("a.json")))).verified.intact).toBe(true);
    // What a dossier wrote before, in whichever way it was named then.
    for (const base of ["a", "a.html", "a.json", "a"]) {
      const { bundle } = await writeDossier(store, "issue-7", at(base));
      expect(readFileSync(at("a.html"), "utf8")).toContain(bundle?.digest);
    }
  });

  it("[F3] no link is written through, and a failure leaves nothing", async () => {
    const place = mkdtempSync(join(folder, "links-"));
    const at = (name: string): string => join(place, name);
    writeFileSync(at("victim"), "mine");
    for (const name of ["out", "out.part", `out.${process.pid}.part`]) symlinkSync(at("victim"), at(name));
    const before = readdirSync(place).sort();
    const text = ["a", Buffer.from("ü"), "b".repeat(3 << 20)];
    expect(await writeWhole(at("out"), text)).toMatchObject({ bytes: 3 + (3 << 20) });
    expect(readFileSync(at("victim"), "utf8")).toBe("mine");
    expect(lstatSync(at("out")).isFile()).toBe(true);
    expect(readFileSync(at("out"), "utf8")).toBe(`aü${"b".repeat(3 << 20)}`);
    const broken = async function* (): AsyncGenerator<string> {
      yield "c".repeat(2 << 20);
      throw new Error("no more");
    };
    await expect(writeWhole(at("out"), broken())).rejects.toThrow("no more");
    expect(readFileSync(at("out"), "utf8")).toMatch(/^aü/);
    await expect(writeWhole(place, ["x"])).rejects.toMatchObject({ code: expect.any(String) });
    expect(readdirSync(place).sort()).toEqual(before);
    expect(readdirSync(folder).filter((file) => file.endsWith(".part"))).toEqual([]);
    // A name as long as a file system takes has room too.
    await writeWhole(at("n".repeat(255)), ["x"]);
    expect(readFileSync(at("n".repeat(255)), "utf8")).toBe("x");
  });
});
