import { readRetention, retentionFolder, writeRetention } from "../../evidence/audit/index.js";
import type { Principal } from "../../session/index.js";
import { nearestOf } from "../../util/index.js";
import { type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { count, oneLine } from "../text.js";

/** The period of each profile, in days: the longest six months of a calendar, and the longest five years. */
const DAYS: { readonly [profile: string]: number } = { "eu-ai-act": 184, "sysc-9.1": 1_827 };

/** `rath retention`: how long content must stay. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const folder = retentionFolder(await shell.store());
  if (folder === undefined)
    throw new UsageError(
      "A retention floor needs a store on disk.",
      "name a store on disk: --store sqlite:FILE",
    );
  const [action, days] = input.args;
  if (action !== undefined && action !== "set")
    throw new UsageError(
      `Unknown action of rath retention: ${JSON.stringify(oneLine(action, 40))}.`,
      nearestOf(action, ["set"]) === undefined
        ? "rath retention, or: rath retention set DAYS --basis …"
        : "did you mean set?",
    );
  if (action === "set") await set(shell, folder, input, days);
  const floor = await readRetention(folder);
  shell.tell(floor ?? { days: 0 });
  if (floor === undefined) {
    shell.say("No floor is set: content may be erased at any time.");
    shell.hint('rath retention set --profile eu-ai-act --basis "AI Act, Article 19(1)"');
    return;
  }
  shell.say(
    floor.days === 0
      ? "The floor is removed: content may be erased at any time."
      : `Content must stay for ${count(floor.days, "day")} after it was last recorded.`,
  );
  shell.say(`basis: ${oneLine(floor.basis, 200)}; set by ${oneLine(floor.by)} at ${oneLine(floor.at)}`);
  for (const { days: was, basis, by, at } of floor.before ?? [])
    shell.say(`before: ${count(was, "day")}, ${oneLine(basis, 200)}; by ${oneLine(by)} at ${oneLine(at)}`);
}

async function set(shell: Shell, folder: string, input: Input, given: string | undefined): Promise<void> {
  const profile = textOption(input, "profile");
  const days = given ?? (profile === undefined ? undefined : String(DAYS[profile] ?? ""));
  if (days === undefined || !/^\d{1,6}$/.test(days))
    throw new UsageError(
      given === undefined
        ? "For how many days?"
        : `${JSON.stringify(oneLine(given, 40))} is not a number of days.`,
      'give one: rath retention set 184 --basis "AI Act, Article 19(1)"',
    );
  const basis = textOption(input, "basis");
  if (basis === undefined)
    throw new UsageError(
      "On which basis?",
      'say which law, contract or rule wants it: --basis "AI Act, Article 19(1)"',
    );
  await writeRetention(folder, {
    days: Number(days),
    basis,
    ...(profile !== undefined && { profile }),
    at: new Date().toISOString(),
    by: (textOption(input, "as") ?? shell.person) as Principal,
  });
}
