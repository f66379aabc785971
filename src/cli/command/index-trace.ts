import { open, stat } from "node:fs/promises";
import { basename } from "node:path";
import type { ExistingSource, JsonlOptions } from "../../connect/existing/index.js";
import { byOption, type Input, textOption } from "../entry.js";
import { UsageError, unreadable } from "../error.js";
import type { Shell } from "../shell.js";
import { argument, count, plain } from "../text.js";

const KINDS = ["git", "langgraph", "langfuse", "jsonl"] as const;
type Kind = (typeof KINDS)[number];

/** `rath import PATH --index NAME`: links what another system recorded, and leaves it where it is. */
export async function indexTrace(shell: Shell, input: Input, name: string): Promise<number> {
  const [path] = input.args;
  if (path === undefined || input.args.length > 1)
    throw new UsageError("An index is of one file or folder.", `rath import PATH --index ${argument(name)}`);
  const { indexExisting } = await import("../../connect/existing/index.js");
  const from = await sourceAt(path, input);
  const indexed = await indexExisting(await shell.store(), {
    name,
    from,
    by: byOption(shell, input),
    progress: shell.reading("records"),
  });
  shell.clear();
  shell.tell({ file: path, format: from.format, ...indexed });
  const { records, added, changed, vanished, skipped, skips } = indexed;
  shell.say(
    `${plain(path)}: ${from.format}, ${count(records, "record")}: ${added} new, ${changed} changed, ${vanished} gone`,
  );
  for (const { where, why } of skips.slice(0, MOST))
    shell.say(shell.yellow(`  warning: ${plain(where)}: ${plain(why)}`));
  if (skipped > MOST) shell.say(shell.dim(`  … ${skipped - MOST} more cannot be read`));
  shell.say(`  ${shell.id(indexed.head)} ${shell.bold(plain(indexed.name))}`);
  shell.hint(`rath log ${argument(indexed.name)}`, `rath why ${argument(indexed.name)} --step 1`);
  return 0;
}

const MOST = 20;
const SQLITE = "SQLite format 3";

async function sourceAt(path: string, input: Input): Promise<ExistingSource> {
  const existing = await import("../../connect/existing/index.js");
  const fields = fieldsIn(input);
  const kind = kindIn(input) ?? (await looksLike(path, fields !== undefined));
  if (kind === "git") return existing.gitCommits(path);
  if (kind === "langgraph") return existing.langgraphThreads(path);
  if (kind === "langfuse") return existing.langfuseExport(path);
  if (fields !== undefined) return existing.jsonlLogs(path, fields);
  throw new UsageError(
    `The fields of ${basename(path)} are not known.`,
    "name the fields: --fields session=run_id,tool=tool,at=time",
  );
}

function kindIn(input: Input): Kind | undefined {
  const format = textOption(input, "format");
  if (format === undefined) return undefined;
  const kind = KINDS.find((one) => one === format);
  if (kind !== undefined) return kind;
  throw new UsageError(
    `There is no index of ${JSON.stringify(format.slice(0, 40))}.`,
    `use one of ${KINDS.join(", ")}`,
  );
}

async function looksLike(path: string, hasFields: boolean): Promise<Kind> {
  try {
    if ((await stat(path)).isDirectory()) return "git";
    const file = await open(path);
    try {
      const { buffer } = await file.read(Buffer.alloc(SQLITE.length), 0, SQLITE.length, 0);
      if (buffer.toString("latin1") === SQLITE) return "langgraph";
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw unreadable(path, cause);
  }
  return hasFields ? "jsonl" : "langfuse";
}

/** `--fields session=run_id,tool=name`: where a log has what it is linked by. */
function fieldsIn(input: Input): JsonlOptions | undefined {
  const text = textOption(input, "fields");
  if (text === undefined) return undefined;
  const pairs = text.split(",").map((pair) => pair.split("="));
  if (pairs.every((pair) => pair.length === 2 && pair.every((one) => one.trim() !== "")))
    return Object.fromEntries(pairs.map((pair) => pair.map((one) => one.trim()))) as JsonlOptions;
  throw new UsageError(
    `--fields must be names with names; got ${JSON.stringify(text.slice(0, 60))}.`,
    "--fields session=run_id,tool=tool,at=time",
  );
}
