import { type ExportFormat, exportFormat, exportFormats } from "../../connect/format/index.js";
import { writeWhole } from "../../evidence/dossier/index.js";
import type { Found, Store } from "../../store/index.js";
import { type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { argument, count, table } from "../text.js";

/** `rath export SESSION`: lines of the record, or what another system reads. */
export async function run(shell: Shell, input: Input): Promise<void> {
  if (input.options.list === true) return list(shell);
  if (input.args.length === 0)
    throw new UsageError(
      "rath export needs a session.",
      "rath export SESSION -o FILE; list the names: rath list",
    );
  const store = await shell.store();
  const found = await Promise.all(input.args.map((reference) => shell.find(reference)));
  const format = textOption(input, "format") ?? (textOption(input, "to") === undefined ? "lines" : "otel");
  const output = textOption(input, "output");
  if (shell.json && output === undefined && textOption(input, "to") === undefined)
    throw new UsageError(
      "With --json the export needs an output file.",
      "name one: rath export SESSION -o FILE --json",
    );
  if (format === "lines") return lines(shell, store, found, output, input.options.blobs !== false);
  if (found.length > 1)
    throw new UsageError(
      `The format ${format} holds one session in a file; only lines hold several.`,
      "export the sessions one by one",
    );
  const [one] = found as [Found];
  const subject = {
    ...(one.name !== undefined && { name: one.name }),
    session: await store.load(one.id, { horizon: Number.MAX_SAFE_INTEGER }),
    store,
  };
  const content = input.options.content === true;
  const to = textOption(input, "to");
  if (to !== undefined) {
    if (format !== "otel")
      throw new UsageError(
        `--to sends otel spans; the format ${format} cannot be sent.`,
        "rath export SESSION --format otel --to URL",
      );
    const { sendSpans } = await import("../../connect/format/otel/index.js");
    const sent = await sendSpans(subject, { url: to, content });
    shell.tell({ session: one.id, format, to, ...sent });
    shell.say(`${count(sent.spans, "span")} of ${shell.id(one.id)} were sent to ${to}.`);
    return;
  }
  const writer: ExportFormat = await exportFormat(format);
  const written = await writer.write(subject, { content });
  if (output === undefined) shell.streams.stdout.write(written);
  else await writeWhole(output, [written]);
  const bytes = typeof written === "string" ? Buffer.byteLength(written) : written.length;
  shell.tell({ session: one.id, format, file: output, bytes });
  if (output !== undefined)
    shell.say(`${output}: ${shell.id(one.id)} as ${writer.title}, ${count(bytes, "byte")}.`);
}

async function list(shell: Shell): Promise<void> {
  const formats = await exportFormats();
  const rows = [
    { name: "lines", title: "the record itself (docs/format.md)", extension: ".jsonl" },
    ...formats,
  ].map(({ name, title, extension }) => ({ name, title, extension }));
  shell.tell(rows);
  shell.say(table(rows.map(({ name, title, extension }) => [shell.bold(name), extension, title])));
}

async function lines(
  shell: Shell,
  store: Store,
  found: readonly Found[],
  output: string | undefined,
  blobs: boolean,
): Promise<void> {
  let facts = 0;
  async function* text(): AsyncGenerator<string> {
    for await (const line of store.export(
      found.map(({ id }) => id),
      { blobs },
    )) {
      if (line.startsWith('{"rath"')) facts += 1;
      if (facts % 10_000 === 0) shell.progress(`${facts.toLocaleString("en")} facts …`);
      yield `${line}\n`;
    }
  }
  if (output === undefined) {
    for await (const line of text()) await shell.write(line);
    return;
  }
  await writeWhole(output, text());
  shell.clear();
  const heads = found.map(({ id }) => id);
  shell.tell({ file: output, format: "lines", facts, heads });
  shell.say(
    `${output}: ${count(facts, "fact")}, every byte of ${found.map(({ id, name }) => name ?? id.slice(0, 12)).join(", ")}.`,
  );
  shell.hint(`rath verify ${argument(output)} --head ${heads[0]}`);
}
