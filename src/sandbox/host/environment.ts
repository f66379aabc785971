import { join } from "node:path";
import { secretsOf } from "../check-spec.js";
import { BOX_VARIABLE } from "../local/cleaner.js";
import type { Box } from "../local/registry.js";
import type { SandboxSpec } from "../spec.js";

export type Environment = { readonly [name: string]: string };

/** What of our own environment commands may see: where programs are, and in which language they speak. */
const INHERITED = /^(PATH|LANG|LANGUAGE|TZ|LC_[A-Z]+)$/;

/**
 * The variables of commands: a few of ours, none that tells a secret by accident, then those of the spec. Home and
 * temporary files are in the box, so that they are removed with it. One variable names the box: by it, processes are found
 * that a command has left.
 */
export function environmentOf(spec: SandboxSpec, secrets: Environment, box: Box): Environment {
  const inherited = Object.entries(process.env).filter(
    ([name, value]) => INHERITED.test(name) && value !== undefined,
  );
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    ...(Object.fromEntries(inherited) as Environment),
    HOME: join(box.directory, "home"),
    TMPDIR: join(box.directory, "tmp"),
    ...spec.env,
    ...secretsOf(spec, secrets),
    [BOX_VARIABLE]: box.name,
  };
}
