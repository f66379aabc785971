import { worker } from "../../cluster/index.js";
import { loadEngine } from "../engine.js";
import { countOption, type Input, textOption, textsOption } from "../entry.js";
import { untilInterrupted } from "../interrupt.js";
import { loadModules } from "../modules.js";
import type { Shell } from "../shell.js";
import { plain } from "../text.js";

/** `rath worker FILE…`: runs submitted sessions, until somebody ends it. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const files = await Promise.all(input.args.map((file) => loadModules(file, shell.url)));
  const modules = Object.assign({}, ...files.map((file) => file.modules));
  const { sandboxes, ...options } = Object.assign({}, ...files.map((file) => file.options));
  const [queues, labels] = [textsOption(input, "queue"), textsOption(input, "label")];
  const concurrency = countOption(input, "concurrency", 1);
  const memory = countOption(input, "memory", 1);
  const port = countOption(input, "port", 0);
  const engine = await loadEngine(textOption(input, "engine") ?? "local");
  const running = await worker({
    store: await shell.store(),
    modules,
    options,
    ...(sandboxes && { sandboxes }),
    ...(queues.length > 0 && { queues }),
    ...(concurrency !== undefined && { concurrency }),
    ...(port !== undefined && { port }),
    ...(engine && { engine }),
    offers: { labels, ...(memory !== undefined && { memory }) },
  });
  const { id, url } = running;
  shell.tell({ worker: id, modules: Object.keys(modules), ...(url && { url }) });
  shell.say(`${shell.bold(id)} runs ${Object.keys(modules).map(plain).join(", ")} of ${plain(shell.url)}.`);
  if (url !== undefined) shell.say(`${url}/health and ${url}/metrics report its state.`);
  shell.hint("rath submit FILE --input TEXT", "rath top");
  const code = await Promise.race([untilInterrupted(), running.over.then(() => 0)]);
  await running.drain();
  return code;
}
