import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EMPTY_TREE } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { ArchiveError } from "../error.js";
import { textOfName } from "../path.js";
import { PIECE_BYTES, Trees } from "../trees.js";
import { relative } from "./files.js";
import { fillOf, readTar, TAR_END, tarHeader } from "./tar.js";
import { leadsOut, readTree, writeTree } from "./tree-read.js";

const hasTar = spawnSync("tar", ["--version"]).status === 0;
const ODD = Buffer.from([0x6f, 0xff, 0xfe, 0x0a, 0x78]);
const LONG = "n".repeat(255);

let folder: string;
let trees: Trees;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "openrath-tar-"));
  trees = new Trees(await openStore("memory:"));
});
afterEach(() => {
  spawnSync("chmod", ["-R", "u+rwx", folder]);
  rmSync(folder, { recursive: true, force: true });
});

/** Everything that a workspace may hold. */
function plant(root: string): void {
  mkdirSync(join(root, "empty"), { recursive: true });
  mkdirSync(join(root, "closed"));
  writeFileSync(join(root, "plain.txt"), "plain");
  writeFileSync(join(root, "run.sh"), "#!/bin/sh\n");
  chmodSync(join(root, "run.sh"), 0o755);
  writeFileSync(join(root, "secret"), "s");
  chmodSync(join(root, "secret"), 0o600);
  writeFileSync(join(root, "nothing"), "");
  writeFileSync(join(root, "block"), Buffer.alloc(512, 7));
  writeFileSync(join(root, "large"), Buffer.alloc(PIECE_BYTES + 3, "abc"));
  writeFileSync(Buffer.concat([Buffer.from(`${root}/`), ODD]), "odd");
  writeFileSync(join(root, "naïve ☂ 𝕏"), "text");
  mkdirSync(join(root, LONG, LONG), { recursive: true });
  writeFileSync(join(root, LONG, LONG, LONG), "deep");
  symlinkSync("plain.txt", join(root, "link"));
  symlinkSync("/etc/passwd", join(root, "absolute"));
  symlinkSync("../../../etc", join(root, "out"));
  symlinkSync("x/".repeat(200), join(root, "far"));
  linkSync(join(root, "plain.txt"), join(root, "twin"));
  chmodSync(join(root, "closed"), 0o500);
}

describe("archives", () => {
  it.runIf(hasTar).each(["ustar", "pax", "gnu"])(
    "[D1] archives of the system's tar (%s) are read exactly: names of any bytes and length, modes, links, hard links, empty directories",
    async (format) => {
      const root = join(folder, "workspace");
      mkdirSync(root);
      plant(root);
      if (format === "ustar") {
        // That format has no room for such names.
        rmSync(join(root, LONG), { recursive: true });
        rmSync(join(root, "far"));
      }
      const archive = execFileSync("tar", ["-C", folder, `--format=${format}`, "-c", "workspace"], {
        maxBuffer: 64 * 1024 ** 2,
      });
      const { tree, files, bytes, skipped } = await readTree(
        relative(readTar(inChunks(archive, 1000))),
        trees,
      );
      expect(skipped).toEqual([]);
      const found = await flat(tree);
      expect(found.get("plain.txt")).toBe("644 plain");
      expect(found.get("twin")).toBe("644 plain");
      expect(found.get("run.sh")).toBe("755 #!/bin/sh\n");
      expect(found.get("secret")).toBe("600 s");
      expect(found.get("nothing")).toBe("644 ");
      expect(found.get("empty")).toBe("755 directory");
      expect(found.get("closed")).toBe("500 directory");
      expect(found.get(textOfName(ODD))).toBe("644 odd");
      expect(found.get("naïve ☂ 𝕏")).toBe("644 text");
      expect(found.get("out")).toBe("-> ../../../etc");
      expect(found.get("absolute")).toBe("-> /etc/passwd");
      expect(found.get("large")).toHaveLength(4 + PIECE_BYTES + 3);
      if (format !== "ustar") {
        expect(found.get(`${LONG}/${LONG}/${LONG}`)).toBe("644 deep");
        expect(found.get("far")).toBe(`-> ${"x/".repeat(200)}`);
      }
      expect(files).toBe([...found.values()].filter((value) => !/directory$/.test(value)).length);
      expect(bytes).toBeGreaterThan(PIECE_BYTES);
    },
  );

  it.runIf(hasTar)("[D1] the system's tar unpacks our archives exactly", async () => {
    const root = join(folder, "workspace");
    mkdirSync(root);
    plant(root);
    const packed = execFileSync("tar", ["-C", folder, "-c", "workspace"], { maxBuffer: 64 * 1024 ** 2 });
    const { tree } = await readTree(relative(readTar(inChunks(packed, 70_000))), trees);
    const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const archive = Buffer.concat(await all(writeTree({ tree, trees, owner, under: "again" })));
    const unpacked = spawnSync("tar", ["-C", folder, "-xp"], { input: archive, encoding: "utf8" });
    expect([unpacked.status, unpacked.stderr]).toEqual([0, ""]);
    const again = join(folder, "again");
    expect(readFileSync(join(again, LONG, LONG, LONG), "utf8")).toBe("deep");
    expect(readFileSync(Buffer.concat([Buffer.from(`${again}/`), ODD]), "utf8")).toBe("odd");
    expect(readlinkSync(join(again, "far"))).toBe("x/".repeat(200));
    expect(lstatSync(join(again, "closed")).mode & 0o777).toBe(0o500);
    const repacked = execFileSync("tar", ["-C", folder, "-c", "again"], { maxBuffer: 64 * 1024 ** 2 });
    expect((await readTree(relative(readTar(inChunks(repacked, 777))), trees)).tree).toBe(tree);
    expect(await leadsOut(tree, trees)).toBe(true);
  });

  it("[D1] our archives are read back, whatever their names and numbers are", async () => {
    const entries = [
      {
        name: Buffer.alloc(100, "a"),
        target: Buffer.alloc(100, "b"),
        uid: 8 ** 7,
        gid: 2 ** 32 - 2,
        size: 0,
      },
      { name: Buffer.alloc(101, "a"), target: Buffer.alloc(101, "b"), uid: 0, gid: 0, size: 0 },
      { name: Buffer.alloc(4000, 0xfe), target: Buffer.alloc(4095, 0xff), uid: 1, gid: 1, size: 0 },
    ];
    const headers = entries.map((entry) => tarHeader({ ...entry, kind: "link", mode: 0o777, mtime: 1 }));
    const read = await all(readTar(inChunks(Buffer.concat([...headers, TAR_END]), 512)));
    expect(read.map(({ name, target, uid, gid }) => ({ name, target, uid, gid, size: 0 }))).toEqual(entries);
    const huge = tarHeader({
      ...{
        kind: "file",
        name: Buffer.from("huge"),
        target: Buffer.alloc(0),
        uid: 0,
        gid: 0,
        mode: 0o600,
        mtime: 1,
      },
      size: 9 * 1024 ** 3,
    });
    const reader = readTar(inChunks(huge, 512));
    expect((await reader.next()).value).toMatchObject({ size: 9 * 1024 ** 3, mode: 0o600 });
    await expect(reader.next()).rejects.toThrow(ArchiveError);
  });

  it("[D2] an archive that is cut off anywhere is refused", async () => {
    const archive = Buffer.concat([
      tarHeader({ ...plain, name: Buffer.alloc(200, "n"), size: 600 }),
      Buffer.alloc(600, 1),
      fillOf(600),
      TAR_END,
    ]);
    expect(await all(readTar(inChunks(archive, 100)))).toHaveLength(1);
    for (let length = 0; length <= archive.length - TAR_END.length; length += 64)
      await expect(consumed(archive.subarray(0, length))).rejects.toThrow(ArchiveError);
  });

  it("[D2] damaged and hostile archives are refused, or give entries; they never do anything else", async () => {
    const archive = Buffer.concat([
      tarHeader({ ...plain, name: Buffer.alloc(200, "n"), size: 5 }),
      Buffer.from("12345"),
      fillOf(5),
      TAR_END,
    ]);
    const damaged = Buffer.from(archive);
    damaged[5] = (damaged[5] as number) ^ 1;
    await expect(consumed(damaged)).rejects.toThrow("does not have its own checksum");
    const hostile: { readonly [name: string]: string } = {
      "../out": "out of",
      "/a/../../b": "out of",
      a: "",
    };
    for (const [name, reason] of Object.entries(hostile)) {
      const one = Buffer.concat([
        tarHeader({ ...plain, kind: "directory", name: Buffer.from("workspace") }),
        tarHeader({ ...plain, name: Buffer.from(`workspace/${name}`), size: 0 }),
        TAR_END,
      ]);
      const reading = readTree(relative(readTar(inChunks(one, 512))), trees);
      if (reason === "") expect((await reading).files).toBe(1);
      else await expect(reading).rejects.toThrow(reason);
    }
    const stranger = Buffer.concat([
      tarHeader({ ...plain, kind: "directory", name: Buffer.from("w") }),
      tarHeader({ ...plain, name: Buffer.from("x/y"), size: 0 }),
      TAR_END,
    ]);
    await expect(readTree(relative(readTar(inChunks(stranger, 512))), trees)).rejects.toThrow(
      "is not in the directory",
    );
    const through = Buffer.concat([
      tarHeader({ ...plain, kind: "directory", name: Buffer.from("w") }),
      tarHeader({ ...plain, kind: "link", name: Buffer.from("w/a"), target: Buffer.from("/etc") }),
      tarHeader({ ...plain, name: Buffer.from("w/a/b"), size: 0 }),
      TAR_END,
    ]);
    await expect(readTree(relative(readTar(inChunks(through, 512))), trees)).rejects.toThrow(
      "which is not a directory",
    );
  });

  it("[D2] a header that claims to be endless is refused before it is read", async () => {
    const endless = tarHeader({ ...plain, name: Buffer.from("x"), size: 2 ** 30 });
    endless.write("x", 156, "latin1");
    endless.write("        ", 148, "latin1");
    let sum = 0;
    for (const byte of endless) sum += byte;
    endless.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
    await expect(consumed(endless)).rejects.toThrow("longer than any name");
  });

  it("[D3] a tree leaves out excluded paths, and says so; entries that no tree can hold are listed", async () => {
    const archive = Buffer.concat([
      tarHeader({ ...plain, kind: "directory", name: Buffer.from("w") }),
      tarHeader({ ...plain, kind: "directory", name: Buffer.from("w/node_modules") }),
      tarHeader({ ...plain, name: Buffer.from("w/node_modules/x"), size: 0 }),
      tarHeader({ ...plain, kind: "other", name: Buffer.from("w/pipe") }),
      tarHeader({
        ...plain,
        kind: "hard-link",
        name: Buffer.from("w/y"),
        target: Buffer.from("w/node_modules/x"),
      }),
      tarHeader({ ...plain, name: Buffer.from("w/kept"), size: 0 }),
      TAR_END,
    ]);
    const found = await readTree(relative(readTar(inChunks(archive, 9))), trees, ["node_modules"]);
    expect(found.skipped).toEqual([
      { path: "pipe", why: "it is neither file, directory nor link" },
      { path: "y", why: "it is another name of a file that is left out" },
    ]);
    expect(await trees.tree(found.tree)).toMatchObject({
      exclude: ["node_modules"],
      entries: [{ name: "kept" }],
    });
    const empty = Buffer.concat([
      tarHeader({ ...plain, kind: "directory", name: Buffer.from("w") }),
      TAR_END,
    ]);
    expect((await readTree(relative(readTar(inChunks(empty, 512))), trees)).tree).toBe(EMPTY_TREE);
  });
});

const plain = {
  kind: "file" as const,
  target: Buffer.alloc(0),
  uid: 0,
  gid: 0,
  mode: 0o644,
  mtime: 1,
  size: 0,
};

async function* inChunks(bytes: Buffer, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function consumed(archive: Buffer): Promise<void> {
  for await (const entry of readTar(inChunks(archive, 100))) for await (const _chunk of entry.body());
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** Every path of a tree, with what is there as a text. */
async function flat(tree: string, way = ""): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const entry of (await trees.tree(tree)).entries) {
    const path = `${way}${entry.name}`;
    if (entry.kind === "link") found.set(path, `-> ${entry.target}`);
    else if (entry.kind === "tree") {
      found.set(path, `${entry.mode.toString(8)} directory`);
      for (const [name, value] of await flat(entry.digest, `${path}/`)) found.set(name, value);
    } else {
      const bytes = Buffer.concat(await all(trees.pieces({ kind: entry.kind, digest: entry.digest })));
      expect(bytes.length).toBe(entry.size);
      found.set(path, `${entry.mode.toString(8)} ${bytes.toString("utf8")}`);
    }
  }
  return found;
}
