import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { request } from "node:http";
import { delimiter, join } from "node:path";
import { fillOf, TAR_END, tarHeader } from "../tar.js";

/** The programs that the image of the tests has, as far as this machine has them. */
const PROGRAMS = [
  "sh bash env id true false sleep cat ls mkdir rm rmdir mv cp ln chmod touch head tail wc sort uniq tr cut printf",
  "echo test stat dd seq yes tee find xargs grep sed awk tar gzip timeout mktemp readlink realpath du df date uname",
  "whoami stty tty setsid mkfifo od nproc ps basename dirname truncate base64 sha256sum diff nohup pwd expr mount",
].flatMap((line) => line.split(" "));

const ETC = {
  passwd: "root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n",
  group: "root:x:0:\nagent:x:1000:\nstaff:x:50:\n",
};

/**
 * Puts a small image into an engine that has none to be relied on: the shell and the usual programs of this machine,
 * with the libraries that they need. No registry is asked.
 */
export async function importImage(socket: string, name: string): Promise<void> {
  const files = new Map<string, string>();
  for (const program of PROGRAMS) {
    const found = pathOf(program);
    if (found === undefined) continue;
    const real = realpathSync(found);
    files.set(`bin/${program}`, real);
    for (const library of librariesOf(real)) files.set(library.slice(1), realpathSync(library));
  }
  if (!files.has("bin/sh")) throw new Error("this machine has no sh to make an image of");
  await post(socket, `/images/create?fromSrc=-&repo=${name}&tag=latest`, archiveOf(files));
}

/** Whether an engine has an image. */
export async function hasImage(socket: string, name: string): Promise<boolean> {
  return (await statusOf(socket, "GET", `/images/${name}/json`)) === 200;
}

export async function removeImage(socket: string, name: string): Promise<void> {
  await statusOf(socket, "DELETE", `/images/${name}?force=true`);
}

function statusOf(socket: string, method: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: socket, method, path, timeout: 60_000 }, (response) => {
      response.resume();
      response.on("error", reject);
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    asked.on("timeout", () => asked.destroy(new Error("the engine does not answer")));
    asked.on("error", reject);
    asked.end();
  });
}

function pathOf(program: string): string | undefined {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));
}

/** The libraries that the loader would load, the loader itself among them. */
function librariesOf(program: string): readonly string[] {
  try {
    const text = execFileSync("ldd", [program], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return [...text.matchAll(/(\/\S+) \(0x/g)].map((match) => match[1] as string);
  } catch {
    // A program that needs none.
    return [];
  }
}

function* archiveOf(files: ReadonlyMap<string, string>): Generator<Uint8Array> {
  const common = { uid: 0, gid: 0, mtime: 0, target: Buffer.alloc(0), size: 0 };
  const made = new Set<string>();
  const folder = function* (path: string): Generator<Uint8Array> {
    const parts = path.split("/");
    for (let length = 1; length <= parts.length; length++) {
      const name = parts.slice(0, length).join("/");
      if (name === "" || made.has(name)) continue;
      made.add(name);
      yield tarHeader({
        ...common,
        kind: "directory",
        name: Buffer.from(name),
        mode: name === "tmp" ? 0o1777 : 0o755,
      });
    }
  };
  const file = function* (name: string, content: Uint8Array, mode: number): Generator<Uint8Array> {
    yield* folder(name.split("/").slice(0, -1).join("/"));
    yield tarHeader({ ...common, kind: "file", name: Buffer.from(name), mode, size: content.length });
    yield content;
    yield fillOf(content.length);
  };
  yield tarHeader({ ...common, kind: "directory", name: Buffer.from("."), mode: 0o755 });
  for (const name of ["tmp", "etc", "proc", "sys", "dev", "root", "usr/bin", "workspace"])
    yield* folder(name);
  for (const [name, text] of Object.entries(ETC)) yield* file(`etc/${name}`, Buffer.from(text), 0o644);
  for (const [name, path] of files) yield* file(name, readFileSync(path), 0o755);
  yield TAR_END;
}

async function post(socket: string, path: string, body: Iterable<Uint8Array>): Promise<void> {
  const text = await new Promise<string>((resolve, reject) => {
    const asked = request(
      { socketPath: socket, path, method: "POST", headers: { "content-type": "application/x-tar" } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("error", reject);
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
      },
    );
    asked.setTimeout(120_000, () => asked.destroy(new Error("the engine does not answer")));
    asked.on("error", reject);
    for (const chunk of body) asked.write(chunk);
    asked.end();
  });
  if (/error/i.test(text)) throw new Error(`the engine did not take the image: ${text}`);
}
