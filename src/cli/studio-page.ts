import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Handler } from "../connect/front/index.js";
import { RathError } from "../session/index.js";
import { STUDIO, STUDIO_BUILD } from "./location.js";

/** Scripts, styles and answers come from the server of the page, and nothing else runs. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types studio",
].join("; ");

const TYPES: { readonly [ending: string]: string } = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The page of the studio is not part of this installation. */
export class StudioError extends RathError {
  constructor(reason: string, hint: string) {
    super("studio-missing", `The page of the studio is missing: ${reason}.`, { hint });
  }
}

/** The folder of the built page. In a checkout it is built when it is first opened. */
export function studioFolder(): string {
  const folder = fileURLToPath(STUDIO);
  if (existsSync(join(folder, "index.html"))) return folder;
  const script = fileURLToPath(STUDIO_BUILD);
  if (!existsSync(script)) throw new StudioError("this installation lacks files", "install openrath again");
  const { status } = spawnSync(process.execPath, [script], { stdio: ["ignore", 2, 2] });
  if (status !== 0)
    throw new StudioError("it could not be built", "read the output above, fix it, then: npm run build");
  return folder;
}

/** Answers with the files of the page; every address that is not a file is a view, which the page itself opens. */
export function studioPage(folder: string): Handler {
  const files = new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(folder.length).replaceAll("\\", "/").replace(/^\/*/, "/"), path]),
  );
  return async (request) => {
    const { pathname } = new URL(request.url);
    const found = files.has(pathname) ? pathname : "/index.html";
    const path = files.get(found) as string;
    return new Response(new Uint8Array(readFileSync(path)), {
      headers: {
        "content-type": TYPES[extname(path)] ?? "application/octet-stream",
        "content-security-policy": POLICY,
        // The names of these files carry their digests.
        "cache-control": found.startsWith("/assets/") ? "private, max-age=31536000, immutable" : "no-cache",
      },
    });
  };
}
