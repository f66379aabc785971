import { many } from "../words.js";
import type { AuditReport, Evidence } from "./report.js";

/** A report as Markdown: a table of duties, each with what there is and how to check it with nothing but standard tools. */
export function reportMarkdown(report: AuditReport): string {
  const { title, at, sessions, facts, oldest, newest, rows, periods, changes, notices } = report;
  const lines = [
    `# ${title}`,
    "",
    `Made at ${at} from ${many(sessions.length, "session")} with ${many(facts, "fact")}${oldest === undefined ? "" : `, from ${oldest} to ${newest}`}.`,
    "",
    ...notices.map((notice) => `- ${cell(notice)}`),
    "",
    "| duty | standing | what is asked | what the record says |",
    "|---|---|---|---|",
    ...rows.map(
      ({ duty, standing, asked, explanation }) =>
        `| ${cell(duty)} | **${standing}** | ${cell(asked)} | ${cell(explanation)} |`,
    ),
    "",
    "## The facts",
    "",
  ];
  for (const { duty, standing, evidence } of rows) {
    lines.push(`### ${duty}: ${standing}`, "", "| what | how many | first | last |", "|---|---:|---|---|");
    for (const { what, count, first, last } of evidence)
      lines.push(`| ${cell(what)} | ${count} | ${code(first)} | ${code(last)} |`);
    lines.push("");
  }
  lines.push("## When it was in use", "", "| run | of | by | from | to |", "|---|---|---|---|---|");
  for (const { run, module, by, start, end } of periods)
    lines.push(
      `| ${code(run)} | ${cell(module)} | ${cell(by)} | ${cell(start)} | ${end === undefined ? "it has not ended" : cell(end)} |`,
    );
  if (periods.length === 0) lines.push("| – | – | – | – | – |");
  lines.push(
    "",
    "## What changed about it",
    "",
    "| what | was | is | when | fact |",
    "|---|---|---|---|---|",
  );
  for (const { what, was, is, at: when, fact } of changes)
    lines.push(`| ${cell(what)} | ${brief(was)} | ${brief(is)} | ${cell(when)} | ${code(fact)} |`);
  if (changes.length === 0) lines.push("| nothing | – | – | – | – |");
  lines.push("", "## How to check it", "", ...howTo(report), "");
  return lines.join("\n");
}

/** The same for a terminal. */
export function reportText(report: AuditReport): string {
  const { title, at, sessions, facts, rows, notices } = report;
  const lines = [title, `made at ${at} from ${many(sessions.length, "session")}, ${many(facts, "fact")}`, ""];
  for (const { duty, standing, asked, evidence, explanation } of rows) {
    lines.push(
      `${MARKS[standing]} ${duty}: ${standing}`,
      `    asked: ${asked}`,
      `    ${onOneLine(explanation)}`,
    );
    for (const one of evidence) lines.push(`    ${evidenceText(one)}`);
    lines.push("");
  }
  lines.push(...notices.map((notice) => `* ${onOneLine(notice)}`));
  return `${lines.join("\n")}\n`;
}

const MARKS = { met: "[x]", partly: "[~]", gap: "[ ]", "not applicable": "[-]" } as const;

function evidenceText({ what, count, first, last }: Evidence): string {
  const ids =
    first === undefined
      ? ""
      : last === undefined || last === first
        ? ` (${first.slice(0, 12)})`
        : ` (${first.slice(0, 12)} to ${last.slice(0, 12)})`;
  return `${onOneLine(what)}: ${count.toLocaleString("en")}${ids}`;
}

/** Steps that need none of this software, for each session that the report is about. */
function howTo({ sessions }: AuditReport): readonly string[] {
  const [first] = sessions;
  const name = first?.name ?? "NAME";
  return [
    "Every id in this report is the SHA-256 of one line of the record. The record of a session is a text file that the author of this report can write with `rath export NAME -o NAME.jsonl`. Then, with standard tools:",
    "",
    "```sh",
    `# the line of an id: its own SHA-256, computed from the file, is the id`,
    `while IFS= read -r line; do printf '%s  ' "$(printf %s "$line" | sha256sum | cut -c1-64)"; printf '%s\\n' "$line"; done < ${quote(name)}.jsonl | grep '^ID'`,
    "# all lines, links and contents, against the head below (Python, standard library alone)",
    `python3 tools/verify.py --head ${first?.head ?? "HEAD"} ${quote(name)}.jsonl`,
    "```",
    "",
    "| session | facts counted under it | head |",
    "|---|---:|---|",
    ...sessions
      .slice(0, 500)
      .map(({ name: session, facts, head }) => `| ${cell(session)} | ${facts} | ${code(head)} |`),
    ...(sessions.length > 500 ? [`| … and ${sessions.length - 500} more | | |`] : []),
    "",
    "A fact that several sessions share is counted under the first of them.",
  ];
}

function code(id: string | undefined): string {
  return id === undefined ? "–" : `\`${id}\``;
}

function brief(value: string): string {
  return /^[0-9a-f]{64}$/.test(value) ? `\`${value.slice(0, 12)}…\`` : cell(value);
}

function quote(name: string): string {
  return name.replaceAll(/[^\w.-]/g, "-");
}

/** Other people's words in a table: on one line, and nothing in them is markup. */
function cell(text: string): string {
  return onOneLine(text.slice(0, 4_000))
    .replaceAll(/[&<>]/g, (mark) => ENTITIES[mark] as string)
    .replaceAll(/[\\`*_[\]|#!]/g, (mark) => `\\${mark}`)
    .toWellFormed();
}

/** Other people's words: nothing in them ends a line, or moves a terminal. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ");
}

const ENTITIES: { readonly [mark: string]: string } = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
