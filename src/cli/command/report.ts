import { writeFile } from "node:fs/promises";
import { extname } from "node:path";
import { actReport, type Profile, reportMarkdown, reportText } from "../../evidence/audit/index.js";
import { defined } from "../../util/index.js";
import { type Input, textOption } from "../entry.js";
import type { Shell } from "../shell.js";
import { count, plain } from "../text.js";

/** `rath report`: a row for each duty of a law, with the facts or the gap. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const store = await shell.store();
  const names = await shell.called(input.args);
  const report = await actReport(store, names.length === 0 ? undefined : names, {
    ...defined({ profile: textOption(input, "profile") as Profile | undefined }),
    ...(input.options.biometric === true && { biometric: true }),
    progress: shell.reading("facts"),
  });
  shell.clear();
  const file = textOption(input, "output");
  if (file !== undefined) {
    const kind = extname(file).toLowerCase();
    const text =
      kind === ".json"
        ? `${JSON.stringify(report, null, 2)}\n`
        : kind === ".md" || kind === ".markdown"
          ? reportMarkdown(report)
          : plain(reportText(report));
    await writeFile(file, text);
  }
  shell.tell(report);
  if (shell.json) return;
  if (file === undefined) await shell.write(plain(reportText(report)));
  const open = report.rows.filter(({ standing }) => standing === "gap" || standing === "partly").length;
  if (file !== undefined)
    shell.say(
      `${plain(file)}: ${count(report.rows.length, "duty", "duties")}, ${open === 0 ? "all met or not applicable" : `${open} not wholly met`}`,
    );
  shell.hint(
    ...(file === undefined ? ["rath report -o report.md  # with ids and how to check them"] : []),
    ...(report.retention === undefined
      ? ['rath retention set --profile eu-ai-act --basis "AI Act, Article 19(1)"']
      : []),
  );
}
