// @ts-check
// `npm run docs`: builds the site in docs-site/dist, static files for any web server, and checks every link in it.
// DOCS_BASE=/openrath/ builds it for a folder of a server. `npm run docs -- --check` checks a site that is built.
// `npm run docs -- --fast`, as `npm test` does it, builds the same pages without the search index and with long scripts.
// `npm run docs -- --llms` writes llms.txt.
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import { ensurePeer } from "../bench/peer.mjs";
import { documentation, llmsText } from "./pages.mjs";
import { isMain, root, run, say } from "./run.mjs";

const site = join(root, "docs-site");
const source = join(site, "src");
const dist = join(site, "dist");
const base = process.env.DOCS_BASE ?? "/";

/** Pages of the site that the sidebar does not list. */
const others = ["README.md", "CONTRIBUTING.md"];

/** Where a page of the repository is on the site: docs/guide.md at guide.md. */
export function placeOf(/** @type {string} */ file) {
  if (file === "README.md") return "overview.md";
  return file
    .replace(/^docs\//, "")
    .replace(/(^|\/)README\.md$/, "$1index.md")
    .replace(/^[A-Z]+\.md$/, (name) => name.toLowerCase());
}

async function build() {
  const installed = await ensurePeer(pathToFileURL(`${site}/`), "vitepress");
  if (!installed.ok) {
    say(`the site cannot be built: ${installed.reason}`);
    return 1;
  }
  stage();
  const program = join(site, "node_modules", "vitepress", "bin", "vitepress.js");
  const env = process.argv.includes("--fast") ? { DOCS_FAST: "1" } : {};
  const code = run(process.execPath, [program, "build", site], { env });
  return code === 0 ? check() : code;
}

/** Copies the pages with links as the site has them. */
function stage() {
  rmSync(source, { recursive: true, force: true });
  const listed = documentation();
  const api = readdirSync(join(root, "docs", "api")).map((name) => `docs/api/${name}`);
  const files = new Set([...listed.flatMap(({ pages }) => pages.map(({ file }) => file)), ...api, ...others]);
  for (const file of files) {
    const place = join(source, placeOf(file));
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, withLinks(file, readFileSync(join(root, file), "utf8"), files));
  }
  for (const images of ["figures", "pictures"])
    cpSync(join(root, "docs", images), join(source, images), { recursive: true });
  copyFileSync(join(root, "llms.txt"), join(publicFolder(), "llms.txt"));
  writeFileSync(join(source, "index.md"), home());
  const { description } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const sidebar = listed.map(({ group, pages }) => ({
    text: group,
    items: pages.map(({ file, title }) => ({
      text: title,
      link: `/${placeOf(file).replace(/(index)?\.md$/, "")}`,
    })),
  }));
  writeFileSync(join(source, "site.json"), JSON.stringify({ title: "OpenRath", description, sidebar }));
}

function publicFolder() {
  const folder = join(source, "public");
  mkdirSync(folder, { recursive: true });
  return folder;
}

/**
 * Links to pages become links of the site. Other files that a page links to are copied, as text; of a folder only the name stays.
 *
 * @param {string} file
 * @param {string} text
 * @param {ReadonlySet<string>} files
 */
function withLinks(file, text, files) {
  const parts = text.split(/(^```.*?^```)/ms);
  return parts
    .map((part) =>
      part.startsWith("```")
        ? part
        : part.replaceAll(
            /(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)/g,
            (_whole, /** @type {string} */ words, /** @type {string} */ link) => {
              const [path = "", anchor] = link.split("#");
              const target = posix.normalize(posix.join(posix.dirname(file), path));
              const to = (/** @type {string} */ place) =>
                `[${words}](/${place}${anchor === undefined ? "" : `#${anchor}`})`;
              if (files.has(target)) return to(placeOf(target));
              if (!statSync(join(root, target)).isFile()) return words;
              // A browser shows text, and would save anything else.
              const copy = join(publicFolder(), "files", `${target}.txt`);
              mkdirSync(dirname(copy), { recursive: true });
              copyFileSync(join(root, target), copy);
              return `[${words}](/files/${target}.txt)`;
            },
          ),
    )
    .join("");
}

function home() {
  return `---
layout: home
hero:
  name: OpenRath
  text: A durable runtime for AI agents
  tagline: Kill the process anywhere and run the program again. Finished work is kept, nothing is paid twice, and the record says who did what, and why.
  actions:
    - { theme: brand, text: Quick start, link: /quick-start }
    - { theme: alt, text: Concepts, link: /concepts }
features:
  - { title: Durable, details: "Every step is a checkpoint. After a crash, a finished effect is never repeated, and one in doubt is never repeated silently." }
  - { title: Human in the loop, details: "Approvals cover the exact bytes shown, wait without a process, and come from any process." }
  - { title: Replay and what-if, details: "Run a program against its record and get the same id, without a model. Change it, and get a what-if." }
  - { title: Guardrails, details: "Policies allow, ask or deny each call, by tool, path, host, amount or untrusted content." }
  - { title: Branches, details: "Fork a conversation together with its files, run both sides, merge." }
  - { title: Evidence, details: "Every id is a SHA-256: verify, sign, trace, audit and erase from the record alone." }
---
`;
}

/** Every link and every part of every page leads to something in the site, and nothing is loaded from elsewhere. */
function check() {
  const pages = new Map(
    readdirSync(dist, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".html"))
      .map((name) => [name.replaceAll("\\", "/"), readFileSync(join(dist, name), "utf8")]),
  );
  /** @type {string[]} */
  const broken = [];
  let links = 0;
  for (const [page, html] of pages) {
    for (const [, link = ""] of html.matchAll(/<a\b[^>]*?\shref="([^"]*)"/g)) {
      if (/^(https?:|mailto:)/.test(link)) continue;
      links += 1;
      if (!leads(page, decodeURI(link.replaceAll("&amp;", "&")), pages)) broken.push(`${page}: ${link}`);
    }
    for (const [tag, address] of html.matchAll(
      /<(?:script|link|img|iframe)\b[^>]*?\s(?:src|href)="([^"]*)"/g,
    ))
      if (/^(https?:)?\/\//.test(address ?? "") || !leads(page, address ?? "", pages))
        broken.push(`${page}: ${tag}`);
  }
  for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".css"),
  ))
    for (const [address] of readFileSync(join(dist, name), "utf8").matchAll(
      /url\((?!data:|["']?data:)[^)]*\)|@import[^;]*/g,
    ))
      if (/\/\//.test(address)) broken.push(`${name}: ${address}`);
  for (const line of broken) say(`a link of the site leads nowhere, or outside: ${line}`);
  say(
    `the site has ${pages.size} pages and ${links} links inside it, ${broken.length} of them broken: ${dist}`,
  );
  return broken.length === 0 && pages.size > 20 && links > 1000 ? 0 : 1;
}

/**
 * @param {string} page
 * @param {string} link
 * @param {ReadonlyMap<string, string>} pages
 */
function leads(page, link, pages) {
  const [path = "", anchor] = link.split("#");
  const absolute =
    path === ""
      ? page
      : path.startsWith(base)
        ? path.slice(base.length)
        : posix.join(posix.dirname(page), path);
  const target =
    [absolute, `${absolute}.html`, posix.join(absolute, "index.html")].find((name) => {
      const place = join(dist, name);
      return name !== "" && existsSync(place) && statSync(place).isFile();
    }) ?? (absolute === "" ? "index.html" : undefined);
  if (target === undefined) return false;
  const html = pages.get(target);
  return !anchor || html === undefined || html.includes(`id="${decodeURIComponent(anchor)}"`);
}

if (isMain(import.meta.url)) {
  if (process.argv.includes("--llms")) writeFileSync(join(root, "llms.txt"), llmsText());
  else process.exitCode = process.argv.includes("--check") ? check() : await build();
}
