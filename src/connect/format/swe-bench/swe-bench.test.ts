import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Session } from "../../../session/index.js";
import { openStore } from "../../../store/index.js";
import { sample } from "../trajectory/testing/sample.js";
import { sweBenchExport } from "./write.js";

function hasGit(): boolean {
  try {
    execFileSync("git", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describe("predictions for SWE-bench", () => {
  it("[P1] have the instance, the model and the accepted patch", async () => {
    const { session, store } = await sample();
    const text = (await sweBenchExport.write({ session, store, name: "acme__widget-41" })) as string;
    expect(text.endsWith("}\n") && text.indexOf("\n") === text.length - 1).toBe(true);
    const prediction = JSON.parse(text);
    expect(Object.keys(prediction)).toEqual(["instance_id", "model_name_or_path", "model_patch"]);
    expect(prediction).toMatchObject({ instance_id: "acme__widget-41", model_name_or_path: "acme/big-1" });
    expect(prediction.model_patch).toMatch(/\+2\n three\n\+four\n/);
    await store.close();
  });

  it.skipIf(!hasGit())("[P2] apply to the files that there were", async () => {
    const { session, store } = await sample();
    const { model_patch: patch } = JSON.parse((await sweBenchExport.write({ session, store })) as string);
    const folder = mkdtempSync(join(tmpdir(), "rath-prediction-"));
    try {
      writeFileSync(join(folder, "a.js"), "one\ntwo\nthree\n");
      writeFileSync(join(folder, "b.js"), "same\n");
      execFileSync("git", ["apply", "-"], { cwd: folder, input: patch });
      expect(readFileSync(join(folder, "a.js"), "utf8")).toBe("one\n2\nthree\nfour\n");
      expect(readFileSync(join(folder, "c.js"), "utf8")).toBe("new\n");
    } finally {
      rmSync(folder, { recursive: true });
      await store.close();
    }
  });

  it("[P3] are refused where there is no patch", async () => {
    const store = await openStore("memory:");
    const session = Session.start("hi");
    await expect(sweBenchExport.write({ session, store })).rejects.toMatchObject({
      name: "ExportError",
      code: "export-refused",
      data: { format: "swe-bench", session: session.id },
    });
    const { session: other, store: full } = await sample();
    await expect(sweBenchExport.write({ session: other, store })).rejects.toMatchObject({
      code: "export-refused",
    });
    const [unchanged] = [...other.history()].filter(({ fact }) => fact.type === "workspace-import");
    await expect(sweBenchExport.write({ session: unchanged as Session, store: full })).rejects.toThrow(
      /no accepted patch/,
    );
    await Promise.all([store.close(), full.close()]);
  });
});
