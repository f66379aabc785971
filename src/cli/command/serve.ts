import { serve } from "../../connect/front/index.js";
import { hasUsers, type ServerOptions, server, usersFile } from "../../server/index.js";
import { warnOf } from "../../session/index.js";
import { countOption, type Input, textOption, textsOption } from "../entry.js";
import { UsageError } from "../error.js";
import { untilInterrupted } from "../interrupt.js";
import { loadModules, NO_MODULES } from "../modules.js";
import type { Shell } from "../shell.js";
import { plain } from "../text.js";
import { storeFile } from "../users.js";

const LOOPBACK = ["127.0.0.1", "localhost", "::1"];
const PORT = 7284;

/** `rath serve`: the store over HTTP, until somebody ends it. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const host = textOption(input, "host") ?? "127.0.0.1";
  const port = countOption(input, "port", 0) ?? PORT;
  if (port > 65_535)
    throw new UsageError("A port is at most 65535.", `--port ${PORT}, or --port 0 for a free port`);
  const file = textOption(input, "modules");
  const { modules, options, auth } = file === undefined ? NO_MODULES : await loadModules(file, shell.url);
  const ways = authOf(shell, auth);
  const isOpen = !LOOPBACK.includes(host);
  const names = textsOption(input, "allowHost");
  if (isOpen && ways.single !== undefined)
    throw new UsageError(
      `A server without users is for this machine only, and other machines can reach ${host}.`,
      "add users first: rath user add NAME --role view; or leave --host out",
    );
  if (isOpen && names.length === 0 && /^(0\.0\.0\.0|::)$/.test(host))
    throw new UsageError(
      `Requests cannot use ${host} as the host name.`,
      "name the host of the server: --allow-host rath.example.com",
    );
  const rath = await shell.rath(options);
  const handler = server(rath, {
    auth: ways,
    modules,
    hosts: [...names, ...(isOpen ? [`${host.includes(":") ? `[${host}]` : host}:${port}`] : [])],
    origins: textsOption(input, "allowOrigin"),
  });
  const served = await serve(handler, { port, host }).catch((error: unknown) => {
    handler.close();
    throw error;
  });
  const { token } = handler;
  const isOver = untilInterrupted();
  shell.tell({ url: served.url, ...(token !== undefined && { token }) });
  shell.say(`${shell.bold(served.url)} serves ${plain(shell.url)}.`);
  if (token === undefined) shell.say("Requests need a token from rath user add.");
  else {
    shell.say(
      shell.red("Single-user mode: the store has no users. Everybody with this token may do everything."),
    );
    shell.say(`authorization: Bearer ${token}`);
  }
  shell.hint(...(token === undefined ? ["rath user list"] : ["rath user add NAME --role view"]));
  // It answers meanwhile.
  const resuming = handler.resume().then(
    (names) => {
      if (names.length > 0)
        shell.say(`Continuing ${names.map((name) => shell.bold(plain(name))).join(", ")}.`);
    },
    (error: unknown) => warnOf(error, "OPENRATH_SERVER"),
  );
  const code = await isOver;
  handler.close();
  await served.close();
  await resuming;
  return code;
}

/** The users of the store, and what the file of modules adds; without both, the one person of this machine. */
function authOf(shell: Shell, given: ServerOptions["auth"] | undefined): ServerOptions["auth"] {
  const store = storeFile(shell);
  const users = hasUsers(store) ? { users: usersFile(store) } : {};
  const ways = { ...users, ...given };
  return Object.keys(ways).length > 0 ? ways : { single: shell.person };
}
