import { expect, it } from "vitest";
import { digestOf, type TreeEntry } from "../../session/index.js";
import { type Counted, said, virtual } from "./testing/counted.js";

it("[V1] opening costs nothing: what is not looked into is not read, whatever is in it", async () => {
  const { open, space } = virtual();
  const tree = forest(space, 3, 2);
  const sandbox = await open({}, tree);
  expect(space.read).toEqual([]);
  expect(await said(sandbox, "echo hi")).toBe("hi\n");
  // The workspace itself was not looked into either: the command had no use for it.
  expect(space.read).toEqual([]);
  expect(await said(sandbox, "cat d1/d2/f0")).toBe("file d1/d2/f0\n");
  expect(space.read.length).toBe(4);
  space.reset();
  expect((await sandbox.files.list("d0")).length).toBe(6);
  expect((await sandbox.files.stat("d0/f1"))?.size).toBe(11);
  expect(space.read.length).toBe(1);
});

it("[V2] a tree of 100,000 files opens, is read, changed, forked and kept at the cost of what is touched", async () => {
  const { open, space } = virtual();
  const tree = wide(space, 1000, 100);
  const sandbox = await open({}, tree);
  expect(await said(sandbox, "cat d777/f42; echo changed > d777/f42; echo new > top")).toBe(
    "content of 777\n",
  );
  expect(space.read.length).toBe(3);
  space.reset();
  const fork = await sandbox.fork({ id: "fork" });
  // Two files, the directory and the workspace.
  expect(space.put.length).toBe(4);
  expect(space.read).toEqual([]);
  space.reset();
  const second = await sandbox.fork({ id: "second" });
  expect([space.put, space.read]).toEqual([[], []]);
  expect(await said(fork, "cat d777/f42 top; rm d777/f42")).toBe("changed\nnew\n");
  expect(await said(second, "cat d777/f42")).toBe("changed\n");
  const snapshot = await sandbox.snapshot();
  expect([snapshot.files, fork.ref.tree]).toEqual([100_001, snapshot.tree]);
  space.reset();
  // Counted once; afterwards only what changed is looked at.
  await sandbox.files.write("d5/f5", "again");
  expect((await sandbox.snapshot()).files).toBe(100_001);
  expect([space.put.length, space.read.length]).toEqual([3, 0]);
});

it("[V3] a snapshot writes what changed since the last one, and nothing when nothing did", async () => {
  const { open, space } = virtual();
  const sandbox = await open();
  for (const path of ["a/b/c/one", "a/b/two", "x/y/three", "four"]) await sandbox.files.write(path, path);
  const first = await sandbox.snapshot();
  expect(space.put.length).toBe(4 + 6);
  space.reset();
  expect(await sandbox.snapshot()).toEqual(first);
  await said(sandbox, "cat a/b/c/one; ls -R; touch four; chmod 644 four; echo -n > /tmp/other");
  expect((await sandbox.snapshot()).tree).toBe(first.tree);
  // It was touched, so the workspace is looked at again, and is the tree it was.
  expect(new Set(space.put)).toEqual(new Set([first.tree]));
  space.reset();
  await said(sandbox, "echo more >> x/y/three");
  await sandbox.snapshot();
  expect(space.put.length).toBe(4);
  expect(space.put[0]).toBe(digestOf("x/y/threemore\n"));
});

it("[V4] stored files are not held in memory, and withheld ones are an error but not the end", async () => {
  const { open, space } = virtual();
  const sandbox = await open();
  await sandbox.files.write("dir/a.txt", "text");
  await sandbox.files.write("b.txt", "other");
  const { tree } = await sandbox.snapshot();
  space.reset();
  expect(Buffer.from(await sandbox.files.read("dir/a.txt")).toString()).toBe("text");
  expect(space.read).toEqual([digestOf("text")]);
  space.blobs.delete(digestOf("text"));
  await expect(sandbox.files.read("dir/a.txt")).rejects.toMatchObject({ code: "file-withheld" });
  const result = await sandbox.exec("cat dir/a.txt").result;
  expect([result.outcome, result.code === 0]).toEqual(["error", false]);
  expect(await said(sandbox, "cat b.txt")).toBe("other");
  expect((await sandbox.snapshot()).tree).toBe(tree);
  const [, entry] = JSON.parse(Buffer.from(space.blobs.get(tree) ?? "").toString()).entries;
  space.blobs.delete(entry[3]);
  const again = await open({}, tree);
  await expect(again.files.list("dir")).rejects.toMatchObject({ code: "file-withheld" });
  expect(await said(again, "cat b.txt")).toBe("other");
});

it("[V5] a failed put does not count as kept", async () => {
  const { open, space } = virtual();
  const sandbox = await open();
  await sandbox.files.write("dir/a.txt", "text");
  const put = space.putBlobs.bind(space);
  for (const fails of [1, 2]) {
    let calls = 0;
    space.putBlobs = async (blobs) => {
      calls += 1;
      if (calls === fails) throw new Error("the disk is full");
      return put(blobs);
    };
    await expect(sandbox.snapshot()).rejects.toThrow("the disk is full");
    expect(Buffer.from(await sandbox.files.read("dir/a.txt")).toString()).toBe("text");
  }
  space.putBlobs = put;
  const { tree } = await sandbox.snapshot();
  expect(Buffer.from(await (await open({}, tree)).files.read("dir/a.txt")).toString()).toBe("text");
});

it("[V6] a directory that moves is looked at again where something is excluded by its path", async () => {
  const { open } = virtual();
  const exclude = ["out/skip", "*.tmp"];
  const sandbox = await open({ exclude });
  await said(sandbox, "mkdir -p in/skip out; echo 1 > in/skip/a; echo 2 > in/b; echo 3 > in/c.tmp");
  const before = await sandbox.snapshot();
  expect(before.files).toBe(2);
  await said(sandbox, "cp -r in/skip out/skip; mv in/skip out/kept");
  const after = await sandbox.snapshot();
  expect(after.files).toBe(2);
  const other = await open({ exclude }, after.tree);
  expect(await said(other, "find . -type f | sort")).toBe("./in/b\n./out/kept/a\n");
  expect((await other.snapshot()).tree).toBe(after.tree);
  // Opened without them, it is another tree.
  expect((await (await open({}, after.tree)).snapshot()).tree).not.toBe(after.tree);
});

it("[V7] a copy is shared only until one of both is changed", async () => {
  const { open } = virtual();
  const sandbox = await open();
  await said(
    sandbox,
    "mkdir -p a/b; echo 1 > a/b/f; echo 1 >> log; echo 2 >> log; cp -r a c; cp log log2; ln log log3",
  );
  await said(
    sandbox,
    "echo 2 > a/b/f; echo new > c/b/g; echo a >> log; echo b >> log2; echo c >> log3; rm -r a/b",
  );
  expect(await said(sandbox, "cat c/b/f c/b/g; ls a; cat log log2 log3")).toBe(
    "1\nnew\n1\n2\na\n1\n2\nb\n1\n2\nc\n",
  );
  const fork = await sandbox.fork({ id: "fork" });
  await said(sandbox, "echo parent >> log");
  await said(fork, "echo fork >> log; echo more >> log");
  expect(await said(sandbox, "tail -1 log")).toBe("parent\n");
  expect(await said(fork, "tail -2 log")).toBe("fork\nmore\n");
  // Nor do bytes that go in or out stay in anybody's hands.
  const given = Buffer.from("given");
  await sandbox.files.write("given", given);
  given.fill("x");
  (await sandbox.files.read("given")).fill(0);
  expect(await said(sandbox, "cat given")).toBe("given");
});

/** Directories in directories: `breadth` files and three directories in each. */
function forest(space: Counted, breadth: number, depth: number, path = ""): string {
  const entries: TreeEntry[] = [];
  for (let place = 0; place < breadth; place++) {
    const bytes = Buffer.from(`file ${path}f${place}\n`);
    entries.push({
      kind: "file",
      name: `f${place}`,
      mode: 0o644,
      size: bytes.length,
      digest: space.add(bytes),
    });
  }
  for (let place = 0; depth > 0 && place < 3; place++) {
    const digest = forest(space, breadth, depth - 1, `${path}d${place}/`);
    entries.push({ kind: "tree", name: `d${place}`, mode: 0o755, digest });
  }
  return space.tree(entries);
}

/** Many directories with many files each. */
function wide(space: Counted, directories: number, files: number): string {
  return space.tree(
    Array.from({ length: directories }, (_, place): TreeEntry => {
      const bytes = Buffer.from(`content of ${place}\n`);
      const digest = space.add(bytes);
      const entries = Array.from(
        { length: files },
        (_, file): TreeEntry => ({ kind: "file", name: `f${file}`, mode: 0o644, size: bytes.length, digest }),
      );
      return { kind: "tree", name: `d${place}`, mode: 0o755, digest: space.tree(entries) };
    }),
  );
}
