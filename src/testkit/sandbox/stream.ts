import { deepStrictEqual, equal } from "node:assert";
import type { ExecEvent, Execution } from "../../sandbox/index.js";
import { collected, skip, within } from "../runner.js";
import { check, done, ended, isTold, promise, run, type SandboxCase, sameBytes, text } from "./case.js";

const everyByte = Uint8Array.from({ length: 256 }, (_, value) => value);

export const streamCases: readonly SandboxCase[] = [
  check("[E20] a command that is given no input finds its end at once", async (sandbox) => {
    equal(await done(sandbox, "cat; echo end"), "end\n");
    equal(await done(sandbox, ["cat"]), "");
  }),

  check("[E21] input is what is given, text or bytes, and no more", async (sandbox, { capabilities }) => {
    if (!capabilities.stdin) skip("commands of this kind of sandbox take no input");
    equal(await done(sandbox, "cat", { stdin: "Grüße\n" }), "Grüße\n");
    equal(await done(sandbox, ["wc", "-c"], { stdin: "" }).then(Number), 0);
    await done(sandbox, "cat > bytes", { stdin: everyByte });
    sameBytes(await sandbox.files.read("bytes"), everyByte, "what came in");
    const long = Buffer.alloc(3_000_000, "0123456789abcde\n");
    await done(sandbox, "cat > long", { stdin: long });
    sameBytes(await sandbox.files.read("long"), long, "what came in");
    // A command that does not read its input neither fails nor hangs.
    equal(await done(sandbox, "echo unread", { stdin: long }), "unread\n");
  }),

  check("[E22] open input takes what is written until it is ended", async (sandbox, { capabilities }) => {
    if (!capabilities.stdin) skip("commands of this kind of sandbox take no input");
    const execution = sandbox.exec("cat; echo end", { stdin: "open" });
    await within("writing", execution.write("one\n"));
    await within("writing", execution.write(Buffer.from("two\n")));
    execution.end();
    execution.end();
    equal((await ended(execution)).out, "one\ntwo\nend\n");
    await within(
      "writing to what has ended",
      execution.write("late").catch(() => {}),
    );
  }),

  check("[E23] a command answers to each line as it is written", async (sandbox, { capabilities }) => {
    if (!capabilities.stdin) skip("commands of this kind of sandbox take no input");
    if (!isTold(capabilities, "streaming")) skip("input is taken only when it is whole");
    const execution = sandbox.exec('while read -r line; do echo "got $line"; done', { stdin: "open" });
    const watch = watching(execution);
    for (const line of ["one", "two", "three"]) {
      await execution.write(`${line}\n`);
      await within(`the answer to ${line}`, watch.saw(`got ${line}\n`));
    }
    execution.end();
    equal((await ended(execution)).outcome, "ok");
  }),

  check("[E24] output is byte for byte what the command wrote", async (sandbox, { capabilities }) => {
    if (!capabilities.exact) skip("output of this kind of sandbox is text");
    await sandbox.files.write("bytes", everyByte);
    const { stdout, stderr } = await run(sandbox, "cat bytes bytes; cat bytes >&2; echo é; echo é >&2");
    const accent = Buffer.from("é\n");
    sameBytes(stdout, Buffer.concat([everyByte, everyByte, accent]), "stdout");
    sameBytes(stderr, Buffer.concat([everyByte, accent]), "stderr");
  }),

  check("[E25] stdout and stderr are apart", async (sandbox) => {
    const { out, err, outcome } = await run(
      sandbox,
      "echo one; echo two >&2; echo three; echo four >&2; exit 5",
    );
    deepStrictEqual([out, err, outcome], ["one\nthree\n", "two\nfour\n", "error"]);
    equal(await done(sandbox, "{ echo one; echo two >&2; } 2>&1"), "one\ntwo\n");
  }),

  check("[E26] watchers see the start, the output and the exit of the result", async (sandbox) => {
    const execution = sandbox.exec("echo one; echo two >&2; echo three");
    const events = await within("the end of the events", collected(execution));
    deepStrictEqual([events[0]?.type, events.at(-1)?.type], ["start", "exit"]);
    const result = await execution.result;
    const last = events.at(-1);
    equal(last?.type === "exit" ? last.result : undefined, result);
    for (const from of ["stdout", "stderr"] as const) sameBytes(outputOf(events, from), result[from], from);
    equal(events.filter(({ type }) => type !== "output").length, 2);
  }),

  check("[E27] output is seen as it comes", async (sandbox, { capabilities }) => {
    if (!isTold(capabilities, "streaming")) skip("output comes when the command has ended");
    const execution = sandbox.exec(
      "echo one; until [ -e go ]; do sleep 0.02; done; echo two >&2; until [ -e on ]; do sleep 0.02; done; printf three",
    );
    const watch = watching(execution);
    await within("seeing the first line", watch.saw("one\n"));
    await sandbox.files.write("go", "");
    await within("seeing the second line", watch.saw("two\n"));
    await sandbox.files.write("on", "");
    equal((await ended(execution)).out, "one\nthree");
  }),

  check("[E28] any number can watch, each from the beginning, for any time", async (sandbox) => {
    const execution = sandbox.exec("echo one; sleep 0.1; echo two; sleep 0.1; echo three");
    const early = [collected(execution), collected(execution)];
    for await (const event of execution) if (event.type === "start") break;
    const { out } = await ended(execution);
    equal(out, "one\ntwo\nthree\n");
    const late = collected(execution);
    for (const seen of await within("the end of all who look on", Promise.all([...early, late])))
      equal(text(outputOf(seen, "stdout")), out);
  }),

  check("[E29] megabytes of output come whole and in order", async (sandbox) => {
    const lines = Array.from(
      { length: 150_000 },
      (_, line) => `line ${line} of many in a long output\n`,
    ).join("");
    await sandbox.files.write("long.txt", lines);
    const { stdout, cut } = await run(sandbox, "cat long.txt");
    sameBytes(stdout, Buffer.from(lines), "stdout");
    equal(cut, 0);
  }),

  promise("[E30] output beyond the limit is counted and dropped", async ({ capabilities, open }) => {
    if (!capabilities.limits.includes("output")) skip("output is not limited");
    const sandbox = await open({ limits: { output: 1000 } });
    await sandbox.files.write("long.txt", "x".repeat(5000));
    const { stdout, cut, outcome } = await run(sandbox, "cat long.txt; cat long.txt > copy.txt");
    deepStrictEqual([stdout.length, cut, outcome], [1000, 4000, "ok"]);
    equal((await sandbox.files.stat("copy.txt"))?.size, 5000);
    const both = await run(sandbox, "cat long.txt; cat long.txt >&2");
    deepStrictEqual([both.stdout.length + both.stderr.length, both.cut], [1000, 9000]);
    const less = await run(sandbox, "cat long.txt", { output: 10 });
    deepStrictEqual([less.stdout.length, less.cut], [10, 4990]);
    const none = await run(sandbox, "cat long.txt", { output: 0 });
    deepStrictEqual([none.stdout.length, none.cut], [0, 5000]);
    const more = await run(sandbox, "cat long.txt", { output: 10_000 });
    deepStrictEqual([more.stdout.length, more.cut], [5000, 0]);
  }),

  check("[E31] a terminal has the size that was given", async (sandbox, { capabilities }) => {
    if (!capabilities.pty) {
      const { outcome, why } = await run(sandbox, "true", { pty: {} });
      deepStrictEqual([outcome, typeof why], ["unstarted", "string"]);
      skip("there are no terminals here; one that was asked for was refused");
    }
    equal(await done(sandbox, "[ -t 1 ] || echo pipe"), "pipe\n");
    const shown = await run(
      sandbox,
      "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal; stty size; echo err >&2; exit 3",
      { pty: { columns: 123, rows: 45 } },
    );
    deepStrictEqual([shown.out.replaceAll("\r", ""), shown.err], ["terminal\n45 123\nerr\n", ""]);
    deepStrictEqual([shown.code, shown.outcome], [3, "error"]);
  }),
];

function outputOf(events: readonly ExecEvent[], from: "stdout" | "stderr"): Uint8Array {
  return Buffer.concat(
    events.flatMap((event) => (event.type === "output" && event.from === from ? [event.bytes] : [])),
  );
}

/** Looks on from the beginning. */
export function watching(execution: Execution): { saw(words: string): Promise<void> } {
  let seen = "";
  let isOver = false;
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const look of waiting) look();
  };
  void (async () => {
    for await (const event of execution) {
      if (event.type === "output") seen += text(event.bytes);
      tell();
    }
    isOver = true;
    tell();
  })();
  return {
    saw: (words) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!seen.includes(words) && !isOver) return;
          waiting.delete(look);
          if (seen.includes(words)) resolve();
          else reject(new Error(`it ended without ${JSON.stringify(words)}, after ${JSON.stringify(seen)}`));
        };
        waiting.add(look);
        look();
      }),
  };
}
