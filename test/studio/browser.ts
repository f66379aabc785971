import { execFileSync } from "node:child_process";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { missing } from "../dossier/browser.js";
import { unbuilt } from "./started.js";

/** Why nothing can be tried in a browser; undefined where it can. */
export const untried: string | undefined = unbuilt ?? missing;

const program = process.env.OPENRATH_CHROMIUM ?? "chromium";

/** A browser, and everything that its pages did and should not have done. */
export class Visitor {
  readonly #browser: Browser;
  readonly context: BrowserContext;
  /** Requests to other places, errors of scripts, refusals of the policy, and dialogs. */
  readonly wrongs: string[] = [];

  private constructor(browser: Browser, context: BrowserContext) {
    this.#browser = browser;
    this.context = context;
  }

  static async open(): Promise<Visitor> {
    const executablePath = program.includes("/")
      ? program
      : execFileSync("which", [program], { encoding: "utf8" }).trim();
    const browser = await chromium.launch({
      executablePath,
      headless: true,
      // Root has no namespaces of its own in a container; what is shown here comes from these tests alone.
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
      timeout: 60_000,
    });
    const context = await browser.newContext({ reducedMotion: "reduce" });
    context.setDefaultTimeout(60_000);
    return new Visitor(browser, context);
  }

  /** A page of this origin without the cookies of the others. */
  async stranger(origin: string): Promise<Page> {
    const context = await this.#browser.newContext();
    context.setDefaultTimeout(60_000);
    return this.page(origin, context);
  }

  /** A page of this origin; whatever else it reaches for is a wrong. */
  async page(origin: string, context = this.context): Promise<Page> {
    const page = await context.newPage();
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(`${origin}/`) && !url.startsWith(`blob:${origin}/`))
        this.wrongs.push(`request: ${url}`);
    });
    page.on("console", (message) => {
      // A server that is away or refuses is an error of the network to the browser, and told by the page itself.
      if (message.type() === "error" && !/ERR_|status of [45]/.test(message.text()))
        this.wrongs.push(`${message.text()} at ${JSON.stringify(message.location())}`);
    });
    page.on("pageerror", (error) => this.wrongs.push(String(error)));
    page.on("dialog", (dialog) => {
      this.wrongs.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss().catch(() => {});
    });
    await page.setViewportSize({ width: 1440, height: 900 });
    return page;
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

type Finding = {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
};

/** What axe finds that keeps people from using a view: by all of its rules, or by these. */
export async function seriousIn(page: Page, ...rules: readonly string[]): Promise<readonly string[]> {
  // The policy of the page lets no script in; the browser itself may bring one.
  await page.evaluate(`if (!window.axe) { ${axe.source} }`);
  // It need not say of everything that is right where it is.
  const options = { resultTypes: ["violations"], ...(rules.length > 0 && { runOnly: rules }) };
  const found = (await page.evaluate(
    `window.axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`,
  )) as Finding[];
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
}

/** Waits until the page shows these words. */
export async function sees(page: Page, words: string | RegExp): Promise<void> {
  await page.getByText(words).filter({ visible: true }).first().waitFor();
}

export async function expectNothingWrong(visitor: Visitor): Promise<void> {
  expect(visitor.wrongs).toEqual([]);
}
