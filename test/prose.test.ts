import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { formsIn } from "../scripts/prose.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("prose", () => {
  it("[R18] check:prose finds each banned form, and accepts plain sentences", () => {
    const banned = {
      "what was given as its policy is none": "is none",
      "a part of the path is no folder": "is no X",
      "Where whoever embeds does not answer": "whoever, whom",
      "the person to whom it goes": "whoever, whom",
      "it shall stop": "shall",
      "kept for ever": "for ever",
      "nobody waits any more": "any more",
      "Of several, the first": "of several",
      "it was done as asked": "as asked",
      "What is finished is not done again.": "headless what/who",
      "It goes on; what is longer is a document.": "headless what/who",
    };
    for (const [text, form] of Object.entries(banned))
      expect(formsIn(text).map((found) => found.form)).toEqual([form]);
    const plain = [
      "There is no file.",
      "The lease is no longer valid.",
      "What should happen next?",
      "The record says what happened and who decided.",
      "Somewhat later, several people answer.",
    ];
    for (const text of plain) expect(formsIn(text)).toEqual([]);
  });

  it("[R19] every relative link of the documents leads somewhere", () => {
    const broken = pages().flatMap((page) =>
      linksOf(textOf(page)).flatMap((link) => (leads(page, link) ? [] : [`${page}: ${link}`])),
    );
    expect(broken).toEqual([]);
  });
});

function pages(): string[] {
  const docs = readdirSync(join(root, "docs"), { recursive: true }).map((name) => join("docs", String(name)));
  return [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "GLOSSARY.md",
    "CHANGELOG.md",
    "skills/openrath/SKILL.md",
    "llms.txt",
    ...docs.filter((name) => name.endsWith(".md")),
  ];
}

/** A page without its programs: code may contain brackets and parentheses. */
function textOf(page: string): string {
  return readFileSync(join(root, page), "utf8").replaceAll(/^```.*?^```/gms, "");
}

function linksOf(text: string): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = ""]) => link)
    .filter((link) => !link.startsWith("http"));
}

function leads(page: string, link: string): boolean {
  const [file = "", heading] = link.split("#");
  const target = file === "" ? page : normalize(join(dirname(page), file));
  if (!existsSync(join(root, target))) return false;
  return heading === undefined || !target.endsWith(".md") || headingsOf(target).includes(heading);
}

/** Headings as GitHub makes anchors of them. */
function headingsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
      .replaceAll(" ", "-"),
  );
}
