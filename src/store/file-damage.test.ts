import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FileShelf } from "./file.js";
import { scanFacts } from "./file-lines.js";
import {
  collect,
  example,
  findings,
  folder,
  one,
  openWith,
  other,
  root,
  save,
  two,
} from "./testing/example.js";

it("[FS4] what a crash left half written, at any byte, is moved aside and never glued to", async () => {
  const path = await example();
  const next = two.say("never acknowledged é");
  const more = next.say("more");
  const tail = Buffer.from(`${next.line}\n`);
  const whole = readFileSync(join(path, "facts.jsonl"));
  const opened = async (file: string, bytes: Uint8Array, left: number): Promise<void> => {
    const result = await openWith(path, file, bytes);
    if ("error" in result) throw result.error;
    const { shelf } = result;
    expect(await collect(shelf.history([two.id]))).toEqual([root.line, one.line, two.line]);
    expect(await shelf.name("main")).toMatchObject({ head: two.id });
    expect(readdirSync(result.path).filter((name) => name.startsWith("torn-"))).toHaveLength(left);
    expect(await shelf.commit(save(more, {}))).toMatchObject({ outcome: "done" });
    await shelf.close();
    const again = await FileShelf.open(result.path);
    expect(await collect(again.history([more.id]))).toEqual(
      [root, one, two, next, more].map(({ line }) => line),
    );
    expect(await findings(again)).toEqual([]);
    await again.close();
  };
  for (let length = 1; length < tail.length; length++)
    await opened("facts.jsonl", Buffer.concat([whole, tail.subarray(0, length)]), 1);
  // Whole lines that nobody was told of may stay.
  await opened("facts.jsonl", Buffer.concat([whole, tail]), 0);
  for (const rest of [
    "\n",
    "\n\n",
    "\0\0\0\0",
    `\0\0\0\0\n`,
    '{"rath":1\n',
    `garbage\n${next.line}\n`,
    "{}\n",
  ]) {
    await opened("facts.jsonl", Buffer.concat([whole, Buffer.from(rest)]), 1);
  }
  const names = readFileSync(join(path, "names.jsonl"));
  const entry = names.subarray(names.lastIndexOf(0x0a, names.length - 2) + 1);
  for (let length = 1; length < entry.length; length++)
    await opened("names.jsonl", Buffer.concat([names, entry.subarray(0, length)]), 1);
  await opened("names.jsonl", Buffer.concat([names, Buffer.alloc(50)]), 1);
});

it("[FS5] what was acknowledged and is no longer there is damage, with file and line", async () => {
  const path = await example();
  const whole = readFileSync(join(path, "facts.jsonl"));
  for (let size = 0; size < whole.length; size += 7) {
    const result = await openWith(path, "facts.jsonl", whole.subarray(0, size));
    const line = whole.subarray(0, size).toString("latin1").split("\n").length;
    expect("error" in result && result.error).toMatchObject({
      code: "store-damaged",
      data: { place: `facts.jsonl:${line}` },
    });
  }
  const lost = await openWith(path, "names.jsonl", Buffer.alloc(0));
  expect("error" in lost && lost.error).toMatchObject({
    code: "store-damaged",
    data: { place: "names.jsonl:1" },
  });
});

it("[FS6] a flipped bit in facts or names is found, with file and line (every fifth byte)", async () => {
  const path = await example();
  for (const file of ["facts.jsonl", "names.jsonl"]) {
    const whole = readFileSync(join(path, file));
    const places = [
      whole.length - 1,
      whole.length - 2,
      ...Array.from({ length: Math.floor(whole.length / 5) }, (_, index) => index * 5),
    ];
    for (const [index, place] of places.entries()) {
      const bytes = Buffer.from(whole);
      bytes[place] = (bytes[place] as number) ^ (1 << (index % 8));
      const result = await openWith(path, file, bytes);
      if ("shelf" in result) expect.fail(`${file} with bit ${index % 8} of byte ${place} flipped was opened`);
      expect(result.error.code).toBe("store-damaged");
      expect(result.error.data.place).toMatch(new RegExp(`^${file}:\\d+$`));
    }
  }
});

it("[FS7] lines in another order or doubled are harmless unless a child comes before its parent", async () => {
  const path = await example();
  const lines = [root.line, one.line, other.line, two.line];
  const file = (order: readonly (string | undefined)[]): Buffer =>
    Buffer.from(order.map((line) => `${line}\n`).join(""));
  for (const order of [
    [0, 2, 1, 3],
    [0, 0, 1, 2, 3],
    [0, 1, 2, 3, 3],
    [0, 1, 1, 2, 2, 3],
  ]) {
    const result = await openWith(path, "facts.jsonl", file(order.map((index) => lines[index])));
    if ("error" in result) throw result.error;
    expect(await collect(result.shelf.history([two.id]))).toEqual([root.line, one.line, two.line]);
    await result.shelf.commit(save(two.say("x"), {}));
    await result.shelf.close();
    const again = await FileShelf.open(result.path);
    expect(await again.count(two.id)).toBe(3);
    await again.close();
  }
  const wrong = await openWith(path, "facts.jsonl", file([lines[0], lines[3], lines[1], lines[2]]));
  expect("error" in wrong && wrong.error).toMatchObject({
    code: "store-damaged",
    data: { place: "facts.jsonl:2" },
  });
  const missing = await openWith(path, "facts.jsonl", file([lines[0], lines[2], lines[3], lines[2]]));
  expect("error" in missing && missing.error).toMatchObject({
    code: "store-damaged",
    data: { place: "facts.jsonl:3" },
  });
});

it("[FS8] scanFacts reads a file in any state and says what is wrong with each line", async () => {
  const path = await example();
  const file = join(path, "facts.jsonl");
  const altered = other.line.replace("other", "0ther");
  writeFileSync(
    file,
    `${root.line}\n${one.line.slice(0, -3)}\n\0\0\0\n${altered}\n\n${two.line}\n${root.line}\n${other.line}`,
  );
  const scanned = [...scanFacts(path)];
  expect(
    scanned.map(({ number, problem }) => [number, problem === undefined ? "sound" : problem.slice(0, 12)]),
  ).toEqual([
    [1, "sound"],
    [2, "it is not JS"],
    [3, "it has NUL b"],
    [4, "sound"],
    [5, "it is not JS"],
    [6, "its parent d".slice(0, 11) + scanned[5]?.problem?.[11]],
    [7, "sound"],
    [8, "it is cut of"],
  ]);
  expect(scanned[0]).toMatchObject({ place: "facts.jsonl:1", line: root.line, id: root.id });
});

it("[FS18] truncating under a running shelf is an error, not a crash", async () => {
  const path = folder();
  const shelf = await FileShelf.open(path);
  await shelf.commit(save(two, {}));
  truncateSync(join(path, "facts.jsonl"), 100);
  await expect(shelf.lines([two.id])).rejects.toMatchObject({ code: "store-damaged" });
  await expect(shelf.commit(save(other))).rejects.toMatchObject({ code: "store-damaged" });
  await shelf.close();
});
