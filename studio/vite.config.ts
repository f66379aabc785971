import { fileURLToPath } from "node:url";
import tailwind from "@tailwindcss/vite";
import { defineConfig } from "vite";

// JSX is compiled by the bundler itself. Names of files carry their digest, so the server lets browsers keep them.
export default defineConfig(({ mode }) => ({
  plugins: [tailwind()],
  resolve: {
    alias: {
      "decode-named-character-reference": fileURLToPath(new URL("src/entities.ts", import.meta.url)),
    },
  },
  build: {
    // The page as files without a server: a browser runs no modules from file:, so all of it is one script.
    ...(mode === "copy" && { outDir: "dist/copy", copyPublicDir: false }),
    modulePreload: mode === "copy" ? false : { polyfill: false },
    // A style in a script is an inline style to the policy.
    cssCodeSplit: mode !== "copy",
    target: "es2023",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // A data: address is a foreign origin to the policy of the page.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      // Libraries mark their files for servers, which this page does not have.
      // A copy loads nothing later, so what its loader does with addresses is never reached.
      onLog: (level, log, tell) =>
        log.code === "MODULE_LEVEL_DIRECTIVE" ||
        (mode === "copy" && log.code === "EMPTY_IMPORT_META") ||
        tell(level, log),
      ...(mode === "copy" && {
        input: "src/main.tsx",
        output: {
          format: "iife",
          codeSplitting: false,
          entryFileNames: "page.js",
          assetFileNames: "page[extname]",
        },
      }),
    },
  },
}));
