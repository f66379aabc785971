import { join } from "node:path";
import { serve } from "../../connect/front/index.js";
import { openRath } from "../../runtime/index.js";
import { openStore } from "../../store/index.js";
import { countOption, type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import { untilInterrupted } from "../interrupt.js";
import { loadModules, NO_MODULES } from "../modules.js";
import type { Shell } from "../shell.js";
import { studioFolder, studioPage } from "../studio-page.js";
import { StoreServer } from "../studio-store.js";
import { count, plain } from "../text.js";

/** `rath studio`: the store as a page for the person of this machine, until somebody ends it. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const port = countOption(input, "port", 0) ?? 0;
  if (port > 65_535) throw new UsageError("A port is at most 65535.", "leave --port out for a free port");
  const file = textOption(input, "modules");
  const bundle = textOption(input, "bundle");
  if (bundle !== undefined) return copy(shell, input, bundle);
  const { modules, options } = file === undefined ? NO_MODULES : await loadModules(file, shell.url);
  const pages = studioPage(studioFolder());
  const handler = new StoreServer(
    await shell.rath(options),
    shell.url,
    { auth: { single: shell.person }, modules, pages },
    async () => {
      const store = await openStore(shell.address);
      const rath = openRath({ ...options, store });
      return { rath, close: () => rath.close().finally(() => store.close()) };
    },
  );
  const served = await serve(handler.handle, { port }).catch(async (error: unknown) => {
    await handler.close();
    throw error;
  });
  // The token opens the page once, and is then a cookie of that browser.
  const url = `${served.url}/#token=${handler.start()}`;
  shell.tell({ url });
  shell.say(`${shell.bold(url)} shows ${plain(shell.url)}.`);
  shell.say("The link works once, in a browser on this machine. Ctrl-C stops the studio.");
  const code = await untilInterrupted();
  await handler.close();
  await served.close();
  return code;
}

/** `rath studio --bundle FILE -o FOLDER`: the same page as files, for somebody who has no server. */
async function copy(shell: Shell, input: Input, bundle: string): Promise<number> {
  const folder = textOption(input, "output");
  if (folder === undefined)
    throw new UsageError("--bundle needs an output folder.", "rath studio --bundle FILE -o FOLDER");
  const { writeCopy } = await import("../studio-copy.js");
  const written = await writeCopy(studioFolder(), bundle, folder, shell.person);
  const page = join(folder, "index.html");
  shell.tell({ page, ...written });
  shell.say(`${shell.bold(plain(page))} shows ${plain(written.name)}: ${count(written.facts, "fact")}.`);
  shell.say("It needs no server: open it in a browser, or send somebody the folder.");
  return 0;
}
