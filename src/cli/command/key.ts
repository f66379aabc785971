import { existsSync, readFileSync } from "node:fs";
import { KeyRing } from "../../evidence/proof/index.js";
import { nearestOf } from "../../util/index.js";
import type { Input } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { plain, table } from "../text.js";

const ACTIONS = ["new", "list", "show", "trust"];

/** `rath key`: makes keys, lists them, prints public ones, and takes in those of others. A private key is never printed. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [action = "list", what, more] = input.args;
  const ring = new KeyRing(shell.config);
  if (more !== undefined || (action === "list" && what !== undefined))
    throw new UsageError(
      "There is one argument too many.",
      "rath key new NAME, rath key list, rath key show NAME, rath key trust FILE",
    );
  if (action === "list") return list(shell, ring);
  if (!ACTIONS.includes(action)) {
    const near = nearestOf(action, ACTIONS);
    throw new UsageError(
      `Unknown action of rath key: ${plain(action.slice(0, 40))}.`,
      near === undefined ? `use one of ${ACTIONS.join(", ")}` : `did you mean rath key ${near}?`,
    );
  }
  if (what === undefined)
    throw new UsageError(
      `rath key ${action} needs ${action === "trust" ? "a file" : "a name"}.`,
      `rath key ${action} ${action === "trust" ? "FILE" : "NAME"}`,
    );
  if (action === "new") {
    const key = ring.make(what);
    shell.tell({ name: key.name, id: key.id, public: key.text, file: `${ring.folder}/${key.name}.pem` });
    shell.say(`Created the key ${shell.bold(key.label)}. Its private half stays in ${ring.folder}.`);
    shell.say(`Others verify with its public half: ${key.text}`);
    shell.hint("rath checkpoint", "rath sign SESSION");
    return;
  }
  if (action === "trust") {
    const key = ring.trust(existsSync(what) ? readFileSync(what, "utf8") : what);
    shell.tell({ name: key.name, id: key.id, public: key.text });
    shell.say(
      `Signatures of ${shell.bold(key.label)} are trusted from now on. Compare the id through another channel: ${key.id}`,
    );
    return;
  }
  const found = ring.list().filter(({ key }) => [key.name, key.label, key.id].includes(what));
  const [one] = found;
  if (one === undefined)
    throw new UsageError(`There is no key ${plain(what.slice(0, 60))} here.`, "list the keys: rath key list");
  if (found.length > 1)
    throw new UsageError(
      `${found.length} keys have the name ${plain(what)}.`,
      `give the full label: ${found.map(({ key }) => key.label).join(" or ")}`,
    );
  shell.tell({ name: one.key.name, id: one.key.id, public: one.key.text, own: one.own });
  shell.say(one.key.text);
}

function list(shell: Shell, ring: KeyRing): void {
  const keys = ring.list();
  shell.tell(keys.map(({ key, own, file }) => ({ name: key.name, id: key.id, own, public: key.text, file })));
  if (keys.length === 0) {
    shell.say("There is no key yet.");
    shell.hint("rath key new NAME");
  } else
    shell.say(
      table(keys.map(({ key, own }) => [shell.bold(key.name), key.id, own ? "your own" : "trusted"])),
    );
}
