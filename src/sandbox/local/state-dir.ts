import { createHash, randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { cp, lstat, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stateDirectory } from "./registry.js";

/** Where the sandboxes of this user lie on the host, and what they share there. */
export type StateDirectory = {
  readonly root: string;
  /** Checkouts that are shared by sandboxes and never written to. */
  readonly frozen: string;
  /** What sandboxes see as /etc. */
  readonly etc: string;
};

export async function openStateDirectory(directory?: string): Promise<StateDirectory> {
  const root = stateDirectory("local", directory);
  const state: StateDirectory = { root, frozen: join(root, "frozen"), etc: join(root, `etc-${versionOf()}`) };
  await mkdir(state.frozen, { recursive: true, mode: 0o700 });
  await writeEtc(state);
  return state;
}

/** Who a command is inside, for any user who runs us outside. */
export const INSIDE = { user: "agent", id: 1000, home: "/home/agent" } as const;

const ETC: { readonly [name: string]: string } = {
  passwd: `root:x:0:0:root:/root:/usr/sbin/nologin\n${INSIDE.user}:x:${INSIDE.id}:${INSIDE.id}::${INSIDE.home}:/bin/bash\n`,
  group: `root:x:0:\n${INSIDE.user}:x:${INSIDE.id}:\n`,
  hosts: "127.0.0.1 localhost\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
  "resolv.conf": "",
};
/**
 * Things of the host that are the same for everybody and tell nothing about it: where programs and libraries are found,
 * and whom to trust. Copied, not bound: each mount is paid for whenever a sandbox opens.
 */
const COPIED = [
  ...["services", "protocols", "mime.types"],
  ...["alternatives", "ld.so.cache"],
  ...["ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/tls/cert.pem", "pki/ca-trust/extracted"],
];

/** What would make another copy. */
function versionOf(): string {
  const times = COPIED.map((name) => statSync(`/etc/${name}`, { throwIfNoEntry: false })?.ctimeMs ?? 0);
  return createHash("sha256")
    .update(JSON.stringify([ETC, COPIED, times]))
    .digest("hex")
    .slice(0, 16);
}

/** Written beside and put in place at once: several processes may begin at the same time. */
async function writeEtc({ root, etc }: StateDirectory): Promise<void> {
  if ((await lstat(etc).catch(() => undefined)) !== undefined) return;
  const draft = join(root, `etc-draft-${randomBytes(6).toString("hex")}`);
  await mkdir(draft, { mode: 0o755 });
  for (const [name, text] of Object.entries(ETC)) await writeFile(join(draft, name), text);
  for (const name of COPIED) await copied(`/etc/${name}`, join(draft, name));
  await rename(draft, etc).catch(async (error: unknown) => {
    await rm(draft, { recursive: true, force: true });
    if ((await lstat(etc).catch(() => undefined)) === undefined) throw error;
  });
}

/** Links stay links: those that lead to what is not there inside lead nowhere. */
async function copied(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, { recursive: true, verbatimSymlinks: true }).catch(() => {});
}
