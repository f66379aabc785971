import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SandboxSpecError, SandboxUnavailableError } from "../error.js";
import { startOf } from "./janitor.js";
import { Registry, stateDirectory } from "./registry.js";
import { Child } from "./testing/child.js";
import { folder } from "./testing/folder.js";

const ENTRY = { provider: "local", id: "a/b\n../c", incarnation: 3 };

describe("the registry", () => {
  it("[J9] a sandbox is written down, for us alone to read, before there is anything of it, and struck out last", async () => {
    const state = folder();
    const registry = new Registry(state);
    const box = await registry.add(ENTRY);
    const file = join(state, "registry", `${box.name}.json`);
    expect(existsSync(box.directory)).toBe(false);
    expect(lstatSync(file).mode & 0o777).toBe(0o600);
    expect(lstatSync(join(state, "registry")).mode & 0o777).toBe(0o700);
    expect(box.directory).toBe(join(state, "live", box.name));
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ ...ENTRY, processes: [], cgroups: [] });
    await box.update({ cgroups: ["/sys/fs/cgroup/x"] });
    await box.update({ processes: [process.pid, 2 ** 22 + 1] });
    const written = JSON.parse(readFileSync(file, "utf8"));
    expect(written).toMatchObject({ cgroups: ["/sys/fs/cgroup/x"] });
    // What is gone already is not ours to end.
    expect(written.processes).toEqual([{ pid: process.pid, start: startOf(process.pid) }]);
    await box.remove();
    await box.remove();
    await box.update({ cgroups: [] });
    expect(readdirSync(join(state, "registry"))).toEqual([]);
    await registry.close();
  });

  it("[J10] lists the sandboxes of all living processes, and not those of dead ones", async () => {
    const state = folder();
    const registry = new Registry(state);
    const box = await registry.add(ENTRY);
    const child = new Child(
      `import { Registry } from "@/sandbox/local/registry.js";
      const registry = new Registry(process.argv[2]);
      const box = await registry.add({ provider: "local", id: "other", incarnation: 1 });
      console.log(JSON.stringify({ name: box.name, janitor: registry.janitor }));
      setInterval(() => {}, 1000);`,
      [state],
    );
    const { name, janitor } = await child.next<{ name: string; janitor: number }>();
    expect((await registry.list()).map((one) => one.name).sort()).toEqual([box.name, name].sort());
    // Without its janitor, so that what it wrote stays.
    process.kill(janitor, "SIGKILL");
    await child.crash();
    expect((await registry.list()).map((one) => one.id)).toEqual([ENTRY.id]);
    expect(readdirSync(join(state, "registry")).length).toBe(2);
    await box.remove();
    await registry.close();
  });

  it("[J11] a directory that is not ours alone is refused", () => {
    const outside = folder();
    const at = join(outside, "deep", "state");
    expect(stateDirectory("local", at)).toBe(at);
    expect(lstatSync(at).mode & 0o777).toBe(0o700);
    chmodSync(at, 0o755);
    expect(() => stateDirectory("local", at)).toThrow(SandboxUnavailableError);
    symlinkSync(outside, join(outside, "link"));
    expect(() => stateDirectory("local", join(outside, "link"))).toThrow(SandboxUnavailableError);
    writeFileSync(join(outside, "file"), "");
    mkdirSync(join(outside, "shared"), { mode: 0o777 });
    chmodSync(join(outside, "shared"), 0o1777);
    expect(() => stateDirectory("local", join(outside, "shared"))).toThrow(/not ours alone/);
    expect(() => stateDirectory("local", "relative")).toThrow(SandboxSpecError);
  });
});
