import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { program, surroundings } from "../cli/call.js";
import { type Studio, startStudio, unbuilt } from "./started.js";

describe.skipIf(unbuilt !== undefined)(`rath studio${unbuilt === undefined ? "" : ` (${unbuilt})`}`, () => {
  let folder: string;
  let studio: Studio;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rath-studio-"));
    studio = await startStudio(folder);
  });
  afterAll(async () => {
    await studio.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("[ST1] the link signs one browser in, once", async () => {
    const token = new URL(studio.link).hash.replace("#token=", "");
    const enter = () =>
      fetch(`${studio.origin}/api/start`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-rath": "1", origin: studio.origin },
        body: JSON.stringify({ token }),
      });
    expect((await fetch(`${studio.origin}/api/sessions`)).status).toBe(401);
    const entered = await enter();
    expect(entered.status).toBe(200);
    const cookie = entered.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/HttpOnly/i);
    expect(cookie).toMatch(/SameSite=Strict/i);
    const sessions = await fetch(`${studio.origin}/api/sessions`, {
      headers: { cookie: cookie.split(";")[0] ?? "" },
    });
    expect(await sessions.json()).toEqual({ items: [], next: null });
    expect((await enter()).status).toBe(401);
  });

  it("[ST18] a port that is used is named, and the command ends", async () => {
    const child = spawn(process.execPath, [program, "studio", "--port", new URL(studio.origin).port], {
      cwd: folder,
      env: { ...surroundings, RATH_HOME: join(folder, "other") },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint += text;
    });
    expect(await new Promise((done) => child.once("close", done))).toBe(1);
    expect(complaint).toContain("is used by another program");
    expect(complaint).not.toContain("    at ");
  });

  it("[ST2] every view is answered with the page and its policy; its files are kept by their digest", async () => {
    for (const view of ["/", "/s/pay%2F7/graph", "/inbox?at=x", "/f/0123"]) {
      const response = await fetch(`${studio.origin}${view}`);
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(response.headers.get("content-type")).toContain("text/html");
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).toContain("require-trusted-types-for 'script'");
      expect(policy).not.toContain("unsafe");
    }
    const page = await (await fetch(studio.origin)).text();
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? "";
    expect((await fetch(`${studio.origin}${script}`)).headers.get("cache-control")).toContain("immutable");
    expect(page).not.toMatch(/<script>|<style|style="/);
    expect((await fetch(`${studio.origin}/../../package.json`)).headers.get("content-type")).toContain(
      "text/html",
    );
  });
});
