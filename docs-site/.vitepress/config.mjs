// @ts-check
// The pages are in src, where scripts/docs.mjs puts them with the sidebar (site.json).
import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";

const { title, description, sidebar } = JSON.parse(
  readFileSync(new URL("../src/site.json", import.meta.url), "utf8"),
);

// The pages are the same without: the index renders each of them once more.
const isFast = process.env.DOCS_FAST !== undefined;

export default defineConfig({
  ...(isFast && { vite: { build: { minify: false } } }),
  title,
  description,
  lang: "en",
  base: process.env.DOCS_BASE ?? "/",
  srcDir: "src",
  outDir: "dist",
  cleanUrls: false,
  lastUpdated: false,
  metaChunk: true,
  // Files that are copied beside the pages. scripts/docs.mjs checks these links too, and every anchor.
  ignoreDeadLinks: [/^\/files\//],
  markdown: {
    // The pages hold types such as Promise<Session>, and no HTML.
    html: false,
    config(markdown) {
      const image = markdown.renderer.rules.image;
      // Figures stand in the page itself, so that they follow its colours.
      markdown.renderer.rules.image = (tokens, index, options, env, self) => {
        const source = tokens[index]?.attrGet("src") ?? "";
        if (!/figures\/[\w-]+\.svg$/.test(source)) return image?.(tokens, index, options, env, self) ?? "";
        const file = new URL(`../src/${source.slice(source.indexOf("figures/"))}`, import.meta.url);
        const svg = readFileSync(file, "utf8").replace(/<style>[\s\S]*?<\/style>\s*/, "");
        return `<span class="figure" v-pre>${svg}</span>`;
      };
    },
  },
  themeConfig: {
    sidebar,
    outline: [2, 3],
    ...(!isFast && { search: { provider: "local" } }),
    docFooter: { prev: "Previous", next: "Next" },
  },
});
