/**
 * A program that has sandboxes by hand: the registry, and a plain bubblewrap that does not die with its parent, so that
 * nobody but the janitor ends it. It tells the pid of its janitor, then goes on making and removing sandboxes until it is
 * killed. Arguments: the state directory, how many live at a time, a folder for control groups or "-".
 */
const STAND_IN = `
  import { spawn } from "node:child_process";
  import { mkdirSync, rmdirSync, rmSync, symlinkSync, writeFileSync, existsSync } from "node:fs";
  import { join } from "node:path";
  import { Registry } from "@/sandbox/local/registry.js";
const [state, many, groups] = process.argv.slice(2);
const registry = new Registry(state);
const tell = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
async function open(number) {
  const box = await registry.add({ provider: "local", id: "one/" + number, incarnation: 1 });
  const cgroup = groups === "-" ? undefined : join(groups, box.name);
  if (cgroup !== undefined) {
    await box.update({ cgroups: [cgroup] });
    mkdirSync(cgroup);
  }
  mkdirSync(join(box.directory, "workspace", "closed"), { recursive: true, mode: 0o700 });
  writeFileSync(join(box.directory, "workspace", "closed", "file"), "text");
  symlinkSync("/", join(box.directory, "workspace", "link"));
  const child = spawn("bwrap", [
    ...["--unshare-pid", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"],
    ...["--bind", join(box.directory, "workspace"), "/mnt", "--json-status-fd", "3"],
    ...["sh", "-c", "chmod 000 /mnt/closed; (setsid sleep 1000 &) ; exec sleep 1000"],
  ], { stdio: ["ignore", "ignore", "inherit", "pipe"], env: { PATH: process.env.PATH } });
  const init = await new Promise((resolve, reject) => {
    let text = "";
    child.once("error", reject);
    child.once("exit", () => resolve(undefined));
    child.stdio[3].on("data", (part) => {
      text += part;
      const found = /"child-pid": (\\d+)/.exec(text);
      if (found) resolve(Number(found[1]));
    });
  });
  if (cgroup !== undefined) writeFileSync(join(cgroup, "cgroup.procs"), String(init));
  await box.update({ processes: [child.pid, init] });
  return { box, child, init, cgroup };
}
async function close({ box, child, init, cgroup }) {
  const over = new Promise((resolve) => child.once("exit", resolve));
  process.kill(init, "SIGKILL");
  await over;
  if (cgroup !== undefined) for (let turn = 0; existsSync(cgroup) && turn < 500; turn++) {
    try { rmdirSync(cgroup); } catch { await new Promise((resolve) => setTimeout(resolve, 10)); }
  }
  rmSync(box.directory, { recursive: true, force: true });
  await box.remove();
}
let number = 0;
const open_ = await Promise.all(Array.from({ length: Number(many) }, () => open(number++)));
tell({ janitor: registry.janitor, inits: open_.map(({ init }) => init) });
while (process.argv[5] !== "still") {
  await close(open_.shift());
  open_.push(await open(number++));
}
setInterval(() => {}, 1000);
`;

export { STAND_IN };
