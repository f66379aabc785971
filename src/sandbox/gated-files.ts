import type { SandboxFiles } from "./sandbox.js";

/** The files of a workspace as long as it is there: every call asks first. */
export function gated(files: SandboxFiles, ask: () => void): SandboxFiles {
  const through =
    <Given extends readonly unknown[], Answer>(call: (...given: Given) => Promise<Answer>) =>
    async (...given: Given): Promise<Answer> => {
      ask();
      return call(...given);
    };
  return {
    read: through((path) => files.read(path)),
    write: through((path, bytes, options) => files.write(path, bytes, options)),
    list: through((path) => files.list(path)),
    stat: through((path) => files.stat(path)),
    link: through((path) => files.link(path)),
    make: through((path) => files.make(path)),
    remove: through((path) => files.remove(path)),
    move: through((from, to) => files.move(from, to)),
  };
}
