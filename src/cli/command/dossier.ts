import { type WrittenDossier, writeDossier } from "../../evidence/dossier/index.js";
import { KeyRing } from "../../evidence/proof/index.js";
import { defined } from "../../util/index.js";
import { countOption, type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { argument, count, plain } from "../text.js";

/** `rath dossier`: a page for people and the bundle that proves it. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [reference] = input.args;
  if (reference === undefined || input.args.length > 1)
    throw new UsageError("A dossier covers exactly one session.", "rath dossier SESSION -o FILE");
  const { htmlOnly, bundleOnly } = input.options;
  if (htmlOnly === true && bundleOnly === true)
    throw new UsageError("--html-only and --bundle-only exclude each other.", "leave one of them out");
  const found = await shell.find(reference);
  const base = textOption(input, "output") ?? fileNameOf(reference);
  if (base === "") throw new UsageError("The name of the file is empty.", "rath dossier SESSION -o FILE");
  const signer = textOption(input, "sign");
  const ring = new KeyRing(shell.config);
  const [most, characters] = [countOption(input, "most", 2), countOption(input, "characters", 100)];
  const files = await writeDossier(await shell.store(), found.id, base, {
    name: found.name ?? reference,
    ...defined({ most, characters }),
    ...(htmlOnly === true && { only: "html" as const }),
    ...(bundleOnly === true && { only: "bundle" as const }),
    memory: input.options.memory === true,
    // The receiver can then check the signatures in it, and must know from elsewhere whose keys they are.
    keys: ring.list().map(({ key }) => key),
    ...(signer !== undefined && { sign: [ring.signer(signer)] }),
    progress: shell.reading("facts"),
  });
  shell.clear();
  tell(shell, files);
}

function tell(shell: Shell, { dossier, html, bundle }: WrittenDossier): void {
  const { counts, session, outcome, branches, models, tools } = dossier;
  shell.tell({
    session: { id: session.id, ...(session.name !== undefined && { name: session.name }) },
    status: outcome.status,
    ...defined({ html, bundle }),
    facts: counts.facts,
    elsewhere: counts.elsewhere,
    branches: branches.total,
    rejected: counts.rejected,
    models: models.total,
    tools: tools.total,
    notes: dossier.notes,
  });
  shell.say(
    `${shell.bold(plain(session.name ?? session.id.slice(0, 12)))} ${outcome.status}: ${count(counts.facts, "fact")}, ${count(branches.total, "branch", "branches")}, ${count(models.total, "model call")}, ${count(tools.total, "tool call")}`,
  );
  if (html !== undefined) shell.say(`page    ${plain(html.file)} ${shell.dim(`(${size(html.bytes)})`)}`);
  if (bundle !== undefined)
    shell.say(`bundle  ${plain(bundle.file)} ${shell.dim(`(${size(bundle.bytes)})`)}`);
  for (const note of dossier.notes) shell.say(shell.dim(`note: ${note}`));
  if (bundle !== undefined)
    shell.hint(`rath verify ${argument(bundle.file)}`, `rath import ${argument(bundle.file)} --name theirs`);
  else if (html !== undefined) shell.hint(`open ${html.file} in a browser`);
}

/** A session's name as the name of a file in this folder. */
function fileNameOf(reference: string): string {
  return `dossier-${reference.replaceAll(/[^\w.-]+/g, "-").slice(0, 80)}`;
}

function size(bytes: number): string {
  return bytes < 10_000
    ? count(bytes, "byte")
    : bytes < 1e6
      ? `${Math.round(bytes / 1e3)} kB`
      : `${(bytes / 1e6).toFixed(1)} MB`;
}
