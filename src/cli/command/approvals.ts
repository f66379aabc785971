import type { GivenApproval } from "../../runtime/index.js";
import { byOption, type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { argument, brief, oneLine, plain, quoted } from "../text.js";

/** `rath approvals [SESSION]`: the standing approvals of a session, or of all, and the command that revokes each. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [reference] = input.args;
  const rath = await shell.rath();
  const revoke = textOption(input, "revoke");
  if (revoke !== undefined && reference === undefined)
    throw new UsageError(
      "It is not said which session the approval is of.",
      `name it: rath approvals SESSION --revoke ${quoted(plain(revoke))}`,
    );
  const found = reference === undefined ? undefined : await shell.find(reference);
  const name = found?.name ?? found?.id;
  if (revoke !== undefined && name !== undefined) {
    const by = byOption(shell, input);
    const why = textOption(input, "why");
    const id = await rath.revoke(name, { by, approval: revoke, ...(why !== undefined && { why }) });
    shell.tell({ session: name, revoked: id, by });
    shell.say(`revoked a standing approval of ${shell.bold(plain(name))} as ${shell.bold(oneLine(by))}`);
    shell.hint(`rath approvals ${quoted(plain(name))}`);
    return;
  }
  const given = await rath.approvals(name);
  shell.tell(given);
  if (given.length === 0) {
    shell.say(
      name === undefined ? "There are no standing approvals." : `${plain(name)} has none that stand.`,
    );
    shell.hint(
      "rath approve SESSION --always arguments   # approves a waiting call, and later calls with the same arguments",
    );
  }
  for (const one of given) shell.say(textOf(shell, one));
}

function textOf(shell: Shell, one: GivenApproval): string {
  const { id, session, by, at, why, always, what, caller, for: behalf, shown, rule, expires, revoked } = one;
  const holds = revoked === undefined;
  const giver = by === shell.person ? "" : ` --by ${argument(plain(by))}`;
  const covers = always === "tool" ? "every call of" : "the same call of";
  const people = behalf.map((name) => oneLine(name)).join(", ");
  const revocation =
    revoked && `  revoked  ${oneLine(revoked.at)} by ${oneLine(revoked.by)}${because(revoked.why)}`;
  const rows: readonly (string | false | undefined)[] = [
    `${shell.bold(plain(session))}  ${covers} ${shell.bold(oneLine(what, 60))}${holds ? "" : shell.red("  revoked")}`,
    `  shown    ${brief(shown, 4_000)}`,
    `  given    ${oneLine(at)} by ${oneLine(by)}${because(why)}`,
    `  to       ${oneLine(caller)}${people === "" ? "" : ` for ${people}`}`,
    rule !== undefined && `  because  ${oneLine(rule)}`,
    expires !== undefined && `  until    ${oneLine(expires)}`,
    revocation,
    `  id       ${shell.id(id)}`,
    holds &&
      `  type     ${shell.typed(`rath approvals ${argument(plain(session))} --revoke ${id.slice(0, 12)}${giver}`)}`,
  ];
  return rows.filter((row) => typeof row === "string").join("\n");
}

function because(why: string | undefined): string {
  return why === undefined ? "" : `: ${oneLine(why)}`;
}
