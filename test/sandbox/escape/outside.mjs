// @ts-check
// Attempts that need the host's help: what it reads, collects and restores while something hostile is inside, and what
// is left when a bomb has gone off.
import { execFileSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { freemem } from "node:os";
import { setTimeout as pause } from "node:timers/promises";

/**
 * @typedef {import("openrath/sandbox").Sandbox} Sandbox
 * @typedef {import("./host.mjs").Host} Host
 * @typedef {{ trees: import("openrath/sandbox").Trees, open: (spec?: object) => Promise<Sandbox> }} World
 * @typedef {{ class: string, name: string, alone?: object, run: (box: Sandbox, host: Host, world: World) => Promise<string | undefined> }} Outside
 */

const text = (/** @type {Uint8Array} */ bytes) => Buffer.from(bytes).toString("latin1");
const sh = async (
  /** @type {Sandbox} */ box,
  /** @type {string} */ command,
  /** @type {object} */ options = {},
) => box.exec(command, options).result;
const quoted = (/** @type {string} */ value) => `'${value.replaceAll("'", "'\\''")}'`;

/** What a call of the host gave, as text; an error that it refused with is no escape. */
async function given(/** @type {() => Promise<unknown>} */ call) {
  try {
    const value = await call();
    return value instanceof Uint8Array ? text(value) : JSON.stringify(value ?? null);
  } catch (error) {
    const { code } = /** @type {{ code?: unknown }} */ (error);
    // Every refusal is one of ours: anything else is a hole in the wall, if a small one.
    return typeof code === "string" && /^(path|file|sandbox)-/.test(code) ? "" : `UNTYPED ${String(error)}`;
  }
}

const leaks = (/** @type {string} */ shown) =>
  shown.includes("canary-")
    ? `the host was made to give away: ${shown.slice(0, 80)}`
    : shown.startsWith("UNTYPED")
      ? shown
      : undefined;

/** Every blob that a tree leads to, as text. */
async function everything(/** @type {World} */ { trees }, /** @type {string | null} */ tree) {
  let all = "";
  const open = [tree];
  for (const id of open) {
    const { entries } = await trees.tree(id);
    for (const entry of entries) {
      if (entry.kind === "tree") open.push(entry.digest);
      else if (entry.kind === "link") all += `link ${entry.target}\n`;
      else for await (const piece of trees.pieces(entry)) all += text(piece.subarray(0, 65536));
    }
  }
  return all;
}

/** @returns {Outside[]} */
export function outsideAttempts(/** @type {Host} */ host) {
  /** @type {Outside[]} */
  const list = [];
  const add = (
    /** @type {string} */ of,
    /** @type {string} */ name,
    /** @type {Outside["run"]} */ run,
    /** @type {object | undefined} */ alone = undefined,
  ) => list.push({ class: of, name, run, ...(alone && { alone }) });
  const { secret, folder, target } = host;

  // -- links that the host's own calls meet
  const planted = [
    ["a link to the secret", `ln -sfn ${quoted(secret)} p`, "p"],
    ["a link to its folder", `ln -sfn ${quoted(folder)} p`, "p/secret.txt"],
    ["a link to the root", "ln -sfn / p", `p${secret}`],
    ["a link in the middle", `mkdir -p q/r; ln -sfn ${quoted(folder)} q/r/s`, "q/r/s/secret.txt"],
    ["a relative link", `ln -sfn ../../../../../../..${secret} p`, "p"],
    ["a link to a link", `ln -sfn ${quoted(secret)} z; ln -sfn z p`, "p"],
    ["a link to /proc/self/root", "ln -sfn /proc/self/root p", `p${secret}`],
    ["a link to /proc/self/environ", "ln -sfn /proc/self/environ p", "p"],
    ["a link to /proc/self/fd", "ln -sfn /proc/self/fd p", "p/3"],
    ["a link to the current folder of the runtime", "ln -sfn /proc/self/cwd p", "p/package.json"],
  ];
  for (const [name, make, path] of /** @type {[string, string, string][]} */ (planted)) {
    add("links met by the host", `read through ${name}`, async (box) => {
      await sh(box, make);
      return leaks(await given(() => box.files.read(path)));
    });
    add("links met by the host", `write through ${name}`, async (box) => {
      await sh(box, make);
      await given(() => box.files.write(path.replace("secret.txt", "target/new.txt"), "x"));
      return undefined;
    });
  }
  for (const [name, call] of /** @type {[string, (box: Sandbox) => Promise<unknown>][]} */ ([
    ["list", (box) => box.files.list("out")],
    ["stat", (box) => box.files.stat("out/secret.txt")],
    ["read", (box) => box.files.read("out/secret.txt")],
    ["remove", (box) => box.files.remove("out/target/kept.txt")],
    ["remove the folder", (box) => box.files.remove("out/target")],
    ["move out of it", (box) => box.files.move("out/target/kept.txt", "mine.txt")],
    [
      "move into it",
      async (box) => {
        await box.files.write("mine.txt", "x");
        await box.files.move("mine.txt", "out/target/new.txt");
      },
    ],
    ["make a directory", (box) => box.files.make("out/target/new")],
    ["the target of a link behind it", (box) => box.files.link("out/target/kept.txt")],
  ]))
    add("links met by the host", `${name} behind a link to the host's folder`, async (box) => {
      await sh(box, `ln -sfn ${quoted(folder)} out`);
      return leaks(await given(() => call(box)));
    });
  for (const path of [
    "../secret.txt",
    "a/../../x",
    "/etc/shadow",
    "..",
    "./../..",
    "a/./../../b",
    "\0",
    "x\0/../y",
    `..${"/..".repeat(40)}${secret}`,
    "",
  ])
    add(
      "links met by the host",
      `read the path ${JSON.stringify(path.replace(folder, "<host folder>").slice(0, 40))}`,
      async (box) => leaks(await given(() => box.files.read(path))),
    );
  add("links met by the host", "a pipe that nobody writes to", async (box) => {
    await sh(box, "mkfifo -m 666 pipe");
    const late = Symbol("late");
    const got = await Promise.race([given(() => box.files.read("pipe")), pause(5_000, late)]);
    return got === late ? "the host hangs at a pipe" : leaks(/** @type {string} */ (got));
  });
  add("links met by the host", "write into a hard link of a read-only file", async (box) => {
    await sh(box, "cp /usr/bin/env e && ln e f");
    await given(() => box.files.write("f", "changed"));
    const { stdout } = await sh(box, "head -c 4 e");
    return text(stdout).includes("ELF") ? undefined : "a write went through a hard link";
  });

  // -- collecting what is left behind
  const collected = [
    ["a link to the secret", `ln -sfn ${quoted(secret)} s`],
    ["a link to its folder", `ln -sfn ${quoted(folder)} s`],
    [
      "a folder replaced by a link",
      `mkdir -p dir && echo x > dir/secret.txt && sleep 0.01 && rm -r dir && ln -sfn ${quoted(folder)} dir`,
    ],
    ["a link to /", "ln -sfn / s"],
    ["a link to /proc/self/environ", "ln -sfn /proc/self/environ s"],
    ["links deep down", `mkdir -p a/b/c && ln -sfn ${quoted(folder)} a/b/c/d`],
    ["a loop of links", "ln -sfn y x; ln -sfn x y"],
    [
      "a pipe and a socket",
      "mkfifo p1; python3 -c \"import socket; socket.socket(1,1).bind('sock')\" 2>/dev/null; true",
    ],
    ["names that lie", `mkdir -p -- '..evil' '-rf' && touch -- $'new\\nline' $'\\xff\\xfe' '..evil/x'`],
    ["a file that says it is huge", "truncate -s 500M sparse 2>/dev/null; true"],
    [
      "a thousand levels",
      "python3 -c \"import os\nfor i in range(1000): os.mkdir('d'); os.chdir('d')\" 2>/dev/null; true",
    ],
  ];
  for (const [name, make] of /** @type {[string, string][]} */ (collected))
    add("collecting", `snapshot with ${name}`, async (box, _host, world) => {
      await sh(box, make);
      const { tree } = await box.snapshot();
      const all = name === "a file that says it is huge" ? "" : await everything(world, tree);
      await sh(box, "rm -rf s dir a x y p1 sock sparse d -- '..evil' '-rf' $'new\\nline' $'\\xff\\xfe'");
      return leaks(all.replaceAll(/^link .*$/gm, ""));
    });
  add("collecting", "snapshot while folders are swapped for links", async (box, _host, world) => {
    const swap = box.exec(
      `mkdir -p real && echo mine > real/secret.txt; while :; do mv real d 2>/dev/null; mv d real; ln -sfn ${quoted(folder)} d; rm -f d; mv real d 2>/dev/null; ln -sfn ${quoted(folder)} l; rm l; mv d real 2>/dev/null; done`,
      { background: true },
    );
    try {
      for (let round = 0; round < 40; round++) {
        const snapshot = await box.snapshot().catch(() => undefined);
        if (snapshot === undefined) continue;
        const all = await everything(world, snapshot.tree);
        const leak = leaks(all.replaceAll(/^link .*$/gm, ""));
        if (leak !== undefined) return leak;
      }
      return undefined;
    } finally {
      await swap.kill();
    }
  });

  // -- restoring over what was planted
  for (const [name, plant] of /** @type {[string, string][]} */ ([
    ["a link where a file was", `rm -f keep.txt; ln -s ${quoted(`${target}/kept.txt`)} keep.txt`],
    ["a link where a folder was", `rm -rf sub; ln -s ${quoted(target)} sub`],
    ["a link to the root where a folder was", "rm -rf sub; ln -s / sub"],
    ["a link deep down", `rm -rf sub/deep; ln -s ${quoted(target)} sub/deep`],
    ["a folder where a file was", "rm -f keep.txt; mkdir -p keep.txt/x"],
    ["a pipe where a file was", "rm -f keep.txt; mkfifo keep.txt"],
    ["a hard link", "ln keep.txt other.txt; echo evil > other.txt"],
    ["a folder nobody may enter", "mkdir -p sub/closed/x && chmod 000 sub/closed"],
    ["links in the rest", `ln -s ${quoted(target)} extra; mkdir more; ln -s ${quoted(folder)} more/extra`],
  ]))
    add("restoring", `restore over ${name}`, async (box) => {
      await sh(
        box,
        "rm -rf -- * 2>/dev/null; mkdir -p sub/deep && echo kept > keep.txt && echo deep > sub/deep/kept.txt",
      );
      const { tree } = await box.snapshot();
      await sh(box, plant);
      await box.restore(tree);
      const again = await box.snapshot();
      if (again.tree !== tree) return "the files are not what was restored";
      return leaks(await given(() => box.files.read("keep.txt")));
    });
  add("restoring", "restore while folders are swapped for links", async (box) => {
    await sh(box, "rm -rf -- * 2>/dev/null; mkdir -p sub && echo kept > sub/kept.txt");
    const { tree } = await box.snapshot();
    const swap = box.exec(
      `while :; do rm -rf sub; ln -sfn ${quoted(target)} sub; rm -f sub; mkdir sub; ln -sfn ${quoted(target)} sub/x; done 2>/dev/null`,
      { background: true },
    );
    try {
      for (let round = 0; round < 40; round++) await box.restore(tree).catch(() => {});
      return undefined;
    } finally {
      await swap.kill();
    }
  });

  // -- calls of the host while commands run
  for (const [name, call] of /** @type {[string, (box: Sandbox, round: number) => Promise<unknown>][]} */ ([
    ["read", (box) => box.files.read("d/secret.txt")],
    ["write", (box, round) => box.files.write(`d/new-${round}.txt`, "x")],
    ["list", (box) => box.files.list("d")],
    ["remove", (box) => box.files.remove("d/kept.txt")],
    ["move", (box, round) => box.files.move("m.txt", `d/moved-${round}.txt`)],
    ["make", (box, round) => box.files.make(`d/made-${round}`)],
  ]))
    add("races", `${name} while a folder is swapped for a link`, async (box) => {
      await sh(box, "rm -rf -- * 2>/dev/null; mkdir -p d; echo mine > d/secret.txt; echo m > m.txt");
      const where = name === "read" || name === "list" ? folder : target;
      const swap = box.exec(
        `while :; do mv -T d e 2>/dev/null; ln -sfn ${quoted(where)} d 2>/dev/null; rm -f d 2>/dev/null; mv -T e d 2>/dev/null; done`,
        { background: true },
      );
      try {
        for (let round = 0; round < 400; round++) {
          const shown = await given(() => call(box, round));
          if (shown.includes("canary-") || (name === "list" && shown.includes('"target"')))
            return `the host was led out: ${shown.slice(0, 80)}`;
        }
        return undefined;
      } finally {
        await swap.kill();
      }
    });

  // -- bombs: the host, and the sandbox's own answer, survive
  const bomb = (
    /** @type {string} */ name,
    /** @type {string} */ command,
    /** @type {object} */ spec,
    /** @type {(result: import("openrath/sandbox").ExecResult) => string | undefined} */ judge = () =>
      undefined,
  ) =>
    add(
      "bombs",
      name,
      async (box) => {
        const { bavail, bsize } = statfsSync(folder);
        const [memory, disk] = [freemem(), bavail * bsize];
        const result = await sh(box, command, { wall: 4_000 });
        const after = statfsSync(folder);
        if (disk - after.bavail * after.bsize > 1.5 * 1024 ** 3) return "the disk of the host is filling";
        if (memory - freemem() > 2 * 1024 ** 3) return "the memory of the host is filling";
        const alive = await (await box.status()).phase;
        if (alive !== "running" && alive !== "lost" && alive !== "failed") return `the sandbox is ${alive}`;
        return judge(result);
      },
      spec,
    );
  const small = {
    limits: {
      memory: 128 * 1024 ** 2,
      pids: 64,
      file: 64 * 1024 ** 2,
      disk: 256 * 1024 ** 2,
      output: 1024 ** 2,
      scratch: 32 * 1024 ** 2,
      cpu: 3_000,
    },
  };
  bomb("a fork bomb", "b() { b | b & }; b; sleep 2", small);
  bomb(
    "three hundred processes",
    "for i in $(seq 1 300); do sleep 5 & done 2>/dev/null; sleep 0.5; ls -d /proc/[0-9]* | wc -l",
    small,
    ({ stdout }) =>
      Number(text(stdout).trim() || 0) > 120 ? `there were ${text(stdout).trim()} processes` : undefined,
  );
  bomb(
    "memory",
    "python3 -c \"x=bytearray(600*1024*1024); print('ESCAPED', len(x))\" 2>/dev/null; true",
    small,
    ({ stdout }) => (text(stdout).includes("ESCAPED") ? "it got 600 MB under a limit of 128" : undefined),
  );
  bomb(
    "memory of many processes",
    'for i in 1 2 3 4 5 6 7 8; do python3 -c "x=bytearray(100*1024*1024); import time; time.sleep(2)" & done; wait',
    small,
  );
  bomb(
    "a file larger than allowed",
    "head -c 300M /dev/zero > big 2>/dev/null; stat -c %s big",
    small,
    ({ stdout }) =>
      Number(text(stdout).trim() || 0) > 64 * 1024 ** 2 ? "the file is larger than its limit" : undefined,
  );
  bomb(
    "many files that fill the disk",
    "for i in $(seq 1 60); do head -c 60M /dev/zero > f$i 2>/dev/null; sleep 0.05; done; echo done",
    small,
  );
  bomb("/tmp", "head -c 200M /dev/zero > /tmp/big 2>/dev/null; stat -c %s /tmp/big", small, ({ stdout }) =>
    Number(text(stdout).trim() || 0) > 34 * 1024 ** 2 ? "/tmp has no limit" : undefined,
  );
  bomb(
    "/dev/shm",
    "head -c 200M /dev/zero > /dev/shm/big 2>/dev/null; stat -c %s /dev/shm/big 2>/dev/null || echo 0",
    small,
    ({ stdout }) => (Number(text(stdout).trim() || 0) > 68 * 1024 ** 2 ? "/dev/shm has no limit" : undefined),
  );
  bomb("output without end", "yes", small, ({ stdout, cut, outcome }) =>
    stdout.length > 2 * 1024 ** 2
      ? "all of the output was kept"
      : cut === 0 || outcome === "ok"
        ? "the output was not cut"
        : undefined,
  );
  bomb("output to both without end", "yes & yes >&2", small, ({ stdout, stderr }) =>
    stdout.length + stderr.length > 2 * 1024 ** 2 ? "all of the output was kept" : undefined,
  );
  bomb("processor time", "while :; do :; done", small, ({ outcome }) =>
    outcome === "ok" ? "it ended by itself" : undefined,
  );
  bomb(
    "descriptors",
    "python3 -c \"import os\nn=0\ntry:\n  while n<2000000: os.open('/dev/null',0); n+=1\nexcept OSError: print(n)\"",
    small,
  );
  bomb("a command of a megabyte", `: ${"x".repeat(1_000_000)}; echo fine`, small);

  // -- what stays behind
  const gone = async (/** @type {string} */ mark) => {
    for (let wait = 0; wait < 50; wait++) {
      if (!execFileSync("ps", ["-eo", "args"], { encoding: "utf8", maxBuffer: 2 ** 28 }).includes(mark))
        return true;
      await pause(100);
    }
    return false;
  };
  for (const [name, command] of /** @type {[string, (mark: string) => string][]} */ ([
    ["a child in the background", (mark) => `sleep ${mark} & disown; true`],
    ["nohup", (mark) => `nohup sleep ${mark} >/dev/null 2>&1 & true`],
    ["setsid", (mark) => `setsid sleep ${mark} >/dev/null 2>&1 & true`],
    ["a double fork", (mark) => `(setsid sh -c 'sleep ${mark} & exit' &) ; true`],
    [
      "one that ignores every signal",
      (mark) =>
        `setsid sh -c "trap '' TERM HUP INT QUIT; sleep ${mark}; sleep ${mark}" >/dev/null 2>&1 & true`,
    ],
    ["one that holds the output open", (mark) => `sleep ${mark} & true`],
  ]))
    add(
      "left behind",
      `${name} ends with the sandbox`,
      async (box) => {
        const mark = `98${Math.floor(Math.random() * 1e7)}`;
        await sh(box, command(mark), { wall: 4_000 });
        await box.destroy();
        return (await gone(`sleep ${mark}`)) ? undefined : "it goes on";
      },
      {},
    );

  // -- the way by which commands are given
  for (const [name, command] of /** @type {[string, string][]} */ ([
    ["kill everything but the first process", "kill -9 -1"],
    ["kill the parent", "kill -9 $PPID; sleep 0.2"],
    [
      "kill every process by number",
      "for p in $(ls /proc | grep -E '^[0-9]+$' | sort -rn); do [ $p != $$ ] && kill -9 $p 2>/dev/null; done; sleep 0.2",
    ],
    [
      "stop every process",
      "for p in $(ls /proc | grep -E '^[0-9]+$' | sort -rn); do [ $p != $$ ] && kill -STOP $p 2>/dev/null; done; true",
    ],
    [
      "write into everybody's descriptors",
      "for f in /proc/[0-9]*/fd/*; do (printf 'exit 0 0\\nstart 1 1\\n%s\\n' AAAA > $f) 2>/dev/null & done; sleep 0.5; kill $(jobs -p) 2>/dev/null; true",
    ],
    [
      "read everybody's descriptors",
      "for f in /proc/[0-9]*/fd/0; do (timeout 0.3 cat < $f) 2>/dev/null & done; sleep 0.5; true",
    ],
    ["close what is given", "exec 0<&- 1>&- 2>&-; sleep 0.1"],
    ["words that end the command", "echo \"'; exit 7; '\"; echo 'EOF'; echo ')'; echo '}'"],
  ]))
    add(
      "the channel of commands",
      name,
      async (box, _host, world) => {
        const late = Symbol("late");
        const first = await Promise.race([sh(box, command, { wall: 5_000 }), pause(20_000, late)]);
        if (first === late) return "the host waits for ever";
        const next = await Promise.race([sh(box, "echo fine", { wall: 5_000 }), pause(20_000, late)]);
        if (next === late) return "the host waits for ever";
        const { outcome, stdout } = /** @type {import("openrath/sandbox").ExecResult} */ (next);
        // Either it still works, or it says that it is lost; and another one opens.
        if (outcome === "ok" && text(stdout) !== "fine\n")
          return `the answer of another command: ${text(stdout).slice(0, 60)}`;
        if (!["ok", "lost", "unstarted", "timeout"].includes(outcome)) return `it ended in ${outcome}`;
        const other = await world.open();
        try {
          const healthy = await sh(other, "echo fine");
          return text(healthy.stdout) === "fine\n" ? undefined : "another sandbox suffers as well";
        } finally {
          await other.destroy();
        }
      },
      {},
    );
  return list;
}
