import { ROLES, type Role, Users, usersFile } from "../../server/index.js";
import { type Input, textOption, textsOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { plain, table } from "../text.js";
import { storeFile } from "../users.js";

/** `rath user`: the people who may use a server of this store. A token is shown once. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [action = "list", name, more] = input.args;
  const users = new Users(usersFile(storeFile(shell)));
  if (more !== undefined) throw new UsageError("There is one argument too many.", USE);
  if (action === "list" && name === undefined) return list(shell, users);
  if (name === undefined || (action !== "add" && action !== "revoke"))
    throw new UsageError(
      name === undefined && action !== "list"
        ? `rath user ${plain(action)} needs a name.`
        : `Unknown action of rath user: ${plain(action)}.`,
      USE,
    );
  if (action === "revoke") {
    const gone = users.revoke(name);
    shell.tell({ revoked: gone.map(({ id, name }) => ({ id, name })) });
    shell.say(
      `${gone.map((one) => `${shell.bold(plain(one.name))} ${one.id}`).join(", ")}: revoked, from the next request on.`,
    );
    shell.hint("rath user list");
    return;
  }
  const roles = textsOption(input, "role") as readonly Role[];
  if (roles.length === 0) throw new UsageError("The user needs a role.", `--role ${ROLES.join(", --role ")}`);
  const under = textOption(input, "under") ?? "*";
  const until = textOption(input, "expires");
  const expires = until === undefined ? undefined : expiryOf(until);
  // The list lies beside the store, which may be new.
  await shell.store();
  const { token, entry } = users.add({ name, roles, under, ...(expires !== undefined && { expires }) });
  shell.tell({
    name,
    id: entry.id,
    roles,
    under,
    ...(expires !== undefined && { expires }),
    token,
    file: users.file,
  });
  shell.say(
    `${shell.bold(plain(name))} may ${roles.join(", ")} ${under === "*" ? "everything" : `sessions under ${plain(under)}`}.`,
  );
  shell.say(`The token, shown only once: ${token}`);
  shell.hint("rath serve", "rath user list");
}

const USE = "rath user add NAME --role view, rath user list, rath user revoke NAME";

function list(shell: Shell, users: Users): void {
  const tokens = users.tokens.map(({ hash: _, ...shown }) => shown);
  shell.tell(tokens);
  if (tokens.length === 0) {
    shell.say("There are no users: rath serve runs in single-user mode.");
    shell.hint("rath user add NAME --role view");
    return;
  }
  shell.say(
    table(
      tokens.map(({ id, name, grants, expires }) => [
        shell.bold(plain(name)),
        id,
        grants.map(({ roles, under }) => `${roles.join(", ")} under ${plain(under)}`).join("; "),
        expires === undefined ? "does not expire" : `until ${expires}`,
      ]),
    ),
  );
}

/** "30d" from now, or a time. */
function expiryOf(text: string): string {
  const [, count, unit = ""] = /^(\d{1,5})([hdw])$/.exec(text) ?? [];
  const time =
    count === undefined ? Date.parse(text) : Date.now() + Number(count) * HOURS[unit as "h"] * 3_600_000;
  if (Number.isNaN(time))
    throw new UsageError(`Cannot read the time ${plain(text)}.`, "use --expires 30d, 12h, 4w or 2027-01-31");
  return new Date(time).toISOString();
}

const HOURS = { h: 1, d: 24, w: 168 } as const;
