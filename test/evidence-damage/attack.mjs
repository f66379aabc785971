// @ts-check
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { RathError } from "openrath";
import { CheckpointLog, CheckpointMemory, readRecordLine, verifyFile, verifyStore } from "openrath/evidence";
import { openStore } from "openrath/store";
import { filesOf, readingOf, urlOf } from "./world.mjs";

/**
 * What became of a case: told with the place, told, harmless because what can be read is the same, or missed.
 *
 * @typedef {"located" | "told" | "same" | "missed"} Outcome
 * @typedef {{ readonly outcome: Outcome, readonly what: string }} Result
 * @typedef {{ readonly name: string, readonly count: number, attempt(index: number): Promise<Result> }} Attack
 * @typedef {import("./world.mjs").World} World
 */

/** Every attack on a world. `room` is a folder that the attacks may use. @param {World} world @param {string} room @returns {readonly Attack[]} */
export function attacksOn(world, room) {
  return [
    ...attacksOnText(world, "bundle"),
    ...attacksOnText(world, "lines"),
    ...attacksOnStore(world, "sqlite", room),
  ];
}

/** @param {World} world @param {"bundle" | "lines"} kind @returns {readonly Attack[]} */
function attacksOnText(world, kind) {
  const bytes = world[kind];
  const rows = splitLines(bytes);
  /** @type {Map<string, import("../../src/evidence/verify/record-line.js").RecordLine>} */
  const known = new Map();
  const read = (/** @type {Buffer} */ line) => {
    // A line that was not changed says what it said before.
    const text = line.toString("latin1");
    const before = known.get(text);
    if (before !== undefined) return before;
    const found = readRecordLine(line);
    if (known.size < 4 * rows.length) known.set(text, found);
    return found;
  };
  const options = { read, keys: { own: [world.key] }, ...(kind === "lines" && { heads: world.heads }) };
  const begins = rows.map(({ from }) => from);
  const first = kind === "lines" ? 0 : rows.findIndex(({ text }) => text === '"lines":[') + 1;
  const last = kind === "lines" ? rows.length : rows.findIndex(({ text }) => text === "],");
  const record = rows
    .slice(first, last)
    .map(({ text }) => (kind === "bundle" ? text.replace(/,$/, "") : text));
  const original = [...record].sort().join("\n");

  /** @param {Buffer} damaged @param {readonly number[]} lines @param {string} what @param {() => boolean} [isSame] @returns {Promise<Result>} */
  const judge = async (damaged, lines, what, isSame) => {
    const { intact, findings } = await verifyFile(damaged, options);
    if (intact && findings.length === 0) return { outcome: isSame?.() === true ? "same" : "missed", what };
    const near = findings.some(({ line, problem }) =>
      lines.some(
        (one) => (line !== undefined && Math.abs(line - one) <= 1) || problem.includes(`line ${one} `),
      ),
    );
    return { outcome: near ? "located" : "told", what };
  };
  /** @param {readonly string[]} lines */
  const withRecord = (lines) =>
    Buffer.from(
      kind === "lines"
        ? lines.map((line) => `${line}\n`).join("")
        : [
            ...rows.slice(0, first).map(({ text }) => text),
            lines.join(",\n"),
            ...rows.slice(last).map(({ text }) => text),
            "",
          ].join("\n"),
    );
  const factAfter = (/** @type {number} */ index) => {
    let next = index + 1;
    while (record[next]?.startsWith('{"blob"')) next++;
    return next;
  };
  const pairs = (record.length * (record.length - 1)) / 2;
  return [
    {
      name: `${kind} flip`,
      count: bytes.length * 8,
      attempt: (bit) => {
        const place = Math.floor(bit / 8);
        const line = lineAt(begins, place);
        const what = `bit ${bit % 8} of byte ${place}, line ${line}`;
        const row = /** @type {{ text: string }} */ (rows[line - 1]);
        // The newline at the very end may be missing; and a file of lines only claims which fact elsewhere erased something.
        const isClaim = row.text.startsWith('{"erased"');
        return judge(
          flipped(bytes, bit),
          [line],
          what,
          () => kind === "lines" && (place === bytes.length - 1 || isClaim),
        );
      },
    },
    {
      name: `${kind} cut`,
      count: bytes.length,
      attempt: (length) =>
        judge(
          bytes.subarray(0, length),
          [lineAt(begins, length)],
          `cut to ${length} bytes`,
          () => kind === "lines" && length === bytes.length - 1,
        ),
    },
    {
      name: `${kind} left out`,
      count: record.length,
      attempt: (index) =>
        judge(
          withRecord(record.toSpliced(index, 1)),
          // The fact after it misses it. The words of that fact may be in lines before it.
          [first + index, first + index + 1, first + factAfter(index)],
          `line ${first + index + 1} left out`,
          () => /** @type {string} */ (record[index]).startsWith('{"erased"'),
        ),
    },
    {
      name: `${kind} doubled`,
      count: record.length,
      attempt: (index) =>
        judge(
          withRecord(record.toSpliced(index, 0, /** @type {string} */ (record[index]))),
          [first + index + 1, first + index + 2],
          `line ${first + index + 1} twice`,
          () => kind === "lines" && /** @type {string} */ (record[index]).startsWith('{"erased"'),
        ),
    },
    {
      name: `${kind} swapped`,
      count: pairs,
      attempt: (index) => {
        const [one, other] = pairAt(index);
        const swapped = record
          .with(one, /** @type {string} */ (record[other]))
          .with(other, /** @type {string} */ (record[one]));
        // The order of lines says nothing but that parents come first: another good order is the same record.
        const isSame = () => kind === "lines" && [...swapped].sort().join("\n") === original;
        return judge(
          withRecord(swapped),
          [one, other, factAfter(one), factAfter(other)].map((place) => first + place + 1),
          `lines ${first + one + 1} and ${first + other + 1} swapped`,
          isSame,
        );
      },
    },
  ];
}

/** @param {World} world @param {"sqlite"} kind @param {string} room @returns {readonly Attack[]} */
function attacksOnStore(world, kind, room) {
  const pristine = join(world.folder, kind);
  const home = join(room, kind);
  const files = filesOf(pristine).map(({ path, size }) => ({
    path,
    size,
    bytes: readFileSync(join(pristine, path)),
  }));
  const total = files.reduce((sum, { size }) => sum + size, 0);
  /** @param {number} place @returns {{ path: string, bytes: Buffer, at: number }} */
  const fileAt = (place) => {
    let rest = place;
    for (const { path, size, bytes } of files) {
      if (rest < size) return { path, bytes, at: rest };
      rest -= size;
    }
    throw new RangeError(`there is no byte ${place}`);
  };
  let isFresh = false;
  /** Puts everything back, but for one file. @param {string} path @param {Uint8Array} changed */
  const restore = (path, changed) => {
    const there = isFresh ? filesOf(home) : [];
    const isWhole =
      there.length === files.length &&
      there.every(({ path: one, size }, index) => files[index]?.path === one && files[index]?.size === size);
    if (!isWhole) {
      rmSync(home, { recursive: true, force: true });
      cpSync(pristine, home, { recursive: true });
    } else
      for (const file of files)
        if (!readFileSync(join(home, file.path)).equals(file.bytes))
          writeFileSync(join(home, file.path), file.bytes);
    isFresh = true;
    writeFileSync(join(home, path), changed);
  };
  const remembered = new CheckpointMemory(join(world.folder, `${kind}-config`)).list();
  const options = {
    keys: { own: [world.key] },
    log: new CheckpointLog(join(home, "log")),
    checkpoints: { remembered },
  };
  /** @param {string} what @param {(store: import("openrath/store").Store) => Promise<void>} [deed] @param {string} [named] @returns {Promise<Result>} */
  const judge = async (what, deed, named) => {
    /** @type {import("openrath/store").Store | undefined} */
    let store;
    try {
      store = await openStore(urlOf(home));
      await deed?.(store);
      const { intact, findings } = await verifyStore(store, options);
      if (!intact) {
        const isPlaced = findings.every(({ place, problem }) => place !== "" && problem !== "");
        const isNamed = named === undefined || findings.some(({ fact }) => fact === named);
        return { outcome: isPlaced && isNamed ? "located" : "told", what };
      }
      const { names, lines } = await readingOf(store);
      const isSame =
        JSON.stringify({ names, lines }) === JSON.stringify(world.reading) ||
        sameReading({ names, lines }, world.reading);
      return { outcome: isSame ? "same" : "missed", what };
    } catch (error) {
      if (!(error instanceof RathError))
        throw new Error(`${what}: an error without a type`, { cause: error });
      const { place } = error.data;
      return { outcome: typeof place === "string" && place !== "" ? "located" : "told", what };
    } finally {
      await store?.close().catch(() => {});
    }
  };
  const names = world.reading.names.map(([name]) => name);
  /** @type {readonly { what: string, prepare?: () => void, deed?: (store: import("openrath/store").Store) => Promise<void>, named?: string }[]} */
  const deeds = [
    ...names.flatMap((name) => [
      {
        what: `the name ${name} is forgotten`,
        deed: (/** @type {import("openrath/store").Store} */ store) => store.forget(name, { force: true }),
        named: headOf(world, name),
      },
      {
        what: `the name ${name} is forgotten, and what it led to is collected`,
        deed: async (/** @type {import("openrath/store").Store} */ store) => {
          await store.forget(name, { force: true });
          await store.gc({ all: true });
        },
        named: headOf(world, name),
      },
      ...Array.from({ length: 12 }, (_, back) => ({
        what: `the name ${name} goes ${back + 1} facts back`,
        deed: async (/** @type {import("openrath/store").Store} */ store) => {
          let session = await store.load(name);
          for (let step = 0; step <= back; step++) session = session.parents[0] ?? session;
          await store.save(session, { name, force: true });
        },
        named: headOf(world, name),
      })),
    ]),
    {
      what: "the whole home is put back",
      prepare: () => {
        rmSync(home, { recursive: true, force: true });
        cpSync(join(world.folder, `${kind}-earlier`), home, { recursive: true });
      },
    },
    {
      what: "the store is put back, and its log is not",
      prepare: () => {
        for (const { path } of files.filter((one) => !one.path.startsWith("log")))
          rmSync(join(home, path), { force: true });
        for (const { path } of filesOf(join(world.folder, `${kind}-earlier`)))
          if (!path.startsWith("log")) {
            mkdirSync(dirname(join(home, path)), { recursive: true });
            cpSync(join(world.folder, `${kind}-earlier`, path), join(home, path));
          }
      },
      named: headOf(world, "main"),
    },
    { what: "the log is taken away", prepare: () => rmSync(join(home, "log"), { recursive: true }) },
    {
      what: "the log is put back",
      prepare: () => {
        rmSync(join(home, "log"), { recursive: true });
        cpSync(join(world.folder, `${kind}-earlier`, "log"), join(home, "log"), { recursive: true });
      },
    },
  ];
  const [anyFile] = files;
  if (anyFile === undefined) throw new Error("a store without files");
  return [
    {
      name: `${kind} flip`,
      count: total * 8,
      attempt: (bit) => {
        const { path, bytes, at } = fileAt(Math.floor(bit / 8));
        restore(path, flipped(bytes, at * 8 + (bit % 8)));
        return judge(`bit ${bit % 8} of byte ${at} of ${path}`);
      },
    },
    {
      name: `${kind} cut`,
      count: total,
      attempt: (place) => {
        const { path, bytes, at } = fileAt(place);
        restore(path, bytes.subarray(0, at));
        return judge(`${path} cut to ${at} bytes`);
      },
    },
    {
      name: `${kind} rollback`,
      count: deeds.length,
      attempt: (index) => {
        const { what, prepare, deed, named } = /** @type {(typeof deeds)[number]} */ (deeds[index]);
        rmSync(home, { recursive: true, force: true });
        cpSync(pristine, home, { recursive: true });
        prepare?.();
        isFresh = false;
        return judge(what, deed, named);
      },
    },
  ];
}

/** @param {World} world @param {string} name */
function headOf(world, name) {
  return world.reading.names.find(([one]) => one === name)?.[1] ?? "";
}

/** The same names and the same lines, in whatever order. @param {import("./world.mjs").Reading} one @param {import("./world.mjs").Reading} other */
function sameReading(one, other) {
  const plain = (/** @type {import("./world.mjs").Reading} */ { names, lines }) =>
    JSON.stringify([[...names].map(String).sort(), [...lines].sort()]);
  return plain(one) === plain(other);
}

/** @param {Uint8Array} bytes @param {number} bit */
function flipped(bytes, bit) {
  const copy = Buffer.from(bytes);
  const place = Math.floor(bit / 8);
  copy[place] = /** @type {number} */ (copy[place]) ^ (1 << (bit % 8));
  return copy;
}

/** @param {Buffer} bytes */
function splitLines(bytes) {
  const rows = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(10, from);
    rows.push({ from, text: bytes.toString("utf8", from, end) });
    from = end + 1;
  }
  return rows;
}

/** @param {readonly number[]} begins @param {number} place */
function lineAt(begins, place) {
  let [low, high] = [0, begins.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (begins[middle]) <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Every pair once: (0,1), (0,2), (1,2), (0,3) … @param {number} index @returns {[number, number]} */
function pairAt(index) {
  let other = Math.floor((1 + Math.sqrt(1 + 8 * index)) / 2);
  while ((other * (other - 1)) / 2 > index) other -= 1;
  while (((other + 1) * other) / 2 <= index) other += 1;
  return [index - (other * (other - 1)) / 2, other];
}
