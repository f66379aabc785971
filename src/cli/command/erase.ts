import {
  eraseContent,
  erasedText,
  findContent,
  floorOf,
  foundText,
  remainsOf,
} from "../../evidence/audit/index.js";
import type { Principal } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { type Input, textOption, textsOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { plain } from "../text.js";

/** `rath erase`: shows what there is of or about somebody, and with --yes erases it. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const store = await shell.store();
  const [about, by] = [textOption(input, "about"), textOption(input, "by")];
  const digests = textsOption(input, "digest");
  const why = textOption(input, "why");
  const sure = input.options.yes === true;
  if (about === undefined && by === undefined && digests.length === 0)
    throw new UsageError(
      "rath erase needs to know what to erase.",
      'say what: rath erase --about "Ada Lovelace", --by user:ada, or --digest …; without --yes it is only shown',
    );
  if (sure && why === undefined)
    throw new UsageError(
      "An erasure needs a reason, which stays on the record.",
      'say why, and name no person: --why "request of 3 May, reference 41"',
    );
  const names = await shell.called(input.args);
  const found = await findContent(store, {
    ...(names.length > 0 && { names }),
    ...defined({ about, by }),
    ...(digests.length > 0 && { digests }),
    progress: shell.reading("facts"),
  });
  shell.clear();
  const floor = await floorOf(store, found.erasable);
  const { url } = shell;
  // Another folder was meant, or everything is gone: then "nothing was found" must not pass for success.
  const searched = found.read.facts > 0;
  const where = searched ? `In ${url}:` : `There are no facts in ${url}: name the store with --store.`;
  if (!sure) {
    shell.tell({ store: url, erased: false, found, ...(floor !== undefined && { floor }) });
    if (shell.json) return searched ? 0 : 3;
    await shell.write(plain(`${where}\n${foundText(found, floor)}`));
    if (found.erasable.length > 0)
      shell.hint("to erase it, repeat the command with --yes --why …; this cannot be undone");
    return searched ? 0 : 3;
  }
  const report = await eraseContent(store, found, {
    why: why as string,
    by: (textOption(input, "as") ?? shell.person) as Principal,
    ...defined({ basis: textOption(input, "basis"), about }),
  });
  const sound = report.check.findings.length === 0;
  const remains = remainsOf(report);
  shell.tell({ store: url, ...report, erased: true, remains, pieces: report.erased });
  if (!shell.json) await shell.write(plain(`${where}\n${erasedText(report)}`));
  if (sound && report.erased.length > 0) shell.hint("rath verify", "rath report");
  // Content that is still there must not pass for erased.
  return searched && sound && !remains ? 0 : 3;
}
