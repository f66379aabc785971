import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type BrowserContext, chromium, type Page } from "playwright-core";

/** Why there is no browser; undefined when there is one. */
export const missing: string | undefined = findOut();

const program = process.env.OPENRATH_CHROMIUM ?? "chromium";

function findOut(): string | undefined {
  try {
    execFileSync(process.env.OPENRATH_CHROMIUM ?? "chromium", ["--version"], {
      stdio: "ignore",
      timeout: 30_000,
    });
    return undefined;
  } catch {
    return "there is no chromium: apt-get install chromium, or say where it is in OPENRATH_CHROMIUM";
  }
}

/** What a page did that a dossier must not do. */
export type Watched = {
  readonly page: Page;
  /** Requests besides that of the page itself. */
  readonly requests: string[];
  readonly errors: string[];
};

/** A browser with a profile of its own, and an address that hears whoever calls. */
export class Browser {
  readonly #context: BrowserContext;
  readonly #folder: string;
  readonly #server: Server;
  readonly address: string;
  /** What was asked of the address. */
  readonly heard: string[];
  #pages = 0;

  private constructor(context: BrowserContext, folder: string, server: Server, heard: string[]) {
    this.#context = context;
    this.#folder = folder;
    this.#server = server;
    this.heard = heard;
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(options: { readonly javaScriptEnabled?: boolean } = {}): Promise<Browser> {
    const folder = mkdtempSync(join(tmpdir(), "openrath-browser-"));
    const heard: string[] = [];
    const server = createServer((request, response) => {
      heard.push(request.url ?? "");
      response.end("alert(1)");
    });
    server.on("error", () => {});
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const executablePath = program.includes("/")
      ? program
      : execFileSync("which", [program], { encoding: "utf8" }).trim();
    const context = await chromium.launchPersistentContext(join(folder, "profile"), {
      executablePath,
      headless: true,
      // Root has no namespaces of its own in a container; what is shown here comes from these tests alone.
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
      timeout: 60_000,
      ...options,
    });
    return new Browser(context, folder, server, heard);
  }

  /** Shows a page from a file, as somebody would who was sent it. */
  async show(html: string, size: { readonly width: number; readonly height: number }): Promise<Watched> {
    const file = join(this.#folder, `page-${this.#pages++}.html`);
    writeFileSync(file, html);
    const page = await this.#context.newPage();
    const [requests, errors]: [string[], string[]] = [[], []];
    const own = pathToFileURL(file).href;
    page.on("request", (request) => {
      if (request.url().split("#")[0] !== own) requests.push(request.url());
    });
    page.on("console", (message) => errors.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("dialog", (dialog) => {
      errors.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss().catch(() => {});
    });
    page.on("popup", () => errors.push("popup"));
    // Hostile words call this; where it is called, something ran.
    await page.addInitScript(
      "window.__ran = []; window.ran = (number) => void window.__ran.push(String(number));",
    );
    await page.setViewportSize(size);
    await page.goto(own, { waitUntil: "load", timeout: 60_000 });
    return { page, requests, errors };
  }

  async close(): Promise<void> {
    await this.#context.close();
    await new Promise((done) => this.#server.close(done));
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
