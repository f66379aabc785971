import type { SandboxFiles } from "./sandbox.js";

/** The files of a workspace or a sandbox, with a check before every call. */
export function gated(
  owner: { readonly files: SandboxFiles },
  check: (method: keyof SandboxFiles) => void,
): SandboxFiles {
  const through =
    <Given extends readonly unknown[], Answer>(
      method: keyof SandboxFiles,
      call: (files: SandboxFiles, ...given: Given) => Promise<Answer>,
    ) =>
    async (...given: Given): Promise<Answer> => {
      check(method);
      return call(owner.files, ...given);
    };
  return {
    read: through("read", (files, path) => files.read(path)),
    write: through("write", (files, path, bytes, options) => files.write(path, bytes, options)),
    list: through("list", (files, path) => files.list(path)),
    stat: through("stat", (files, path) => files.stat(path)),
    link: through("link", (files, path) => files.link(path)),
    make: through("make", (files, path) => files.make(path)),
    remove: through("remove", (files, path) => files.remove(path)),
    move: through("move", (files, from, to) => files.move(from, to)),
  };
}
