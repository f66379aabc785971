// The engine of RATH_ENGINE, with bad luck: the first wake of a session whose name begins with "lost" is lost, and one that begins
// with "twice" is woken three times. What goes in and comes out is written down.
import { appendFileSync } from "node:fs";

export default async function badLuck() {
  const inner = await engineOf(process.env.RATH_ENGINE ?? "local");
  const note = (/** @type {string} */ way, /** @type {object} */ wake) =>
    appendFileSync(process.env.RATH_WAKES ?? "", `${JSON.stringify({ way, wake })}\n`);
  const lost = new Set();
  return {
    ...inner,
    connect: async (host) => {
      const link = await inner.connect({
        ...host,
        take: (wake) => {
          note("out", wake);
          return host.take(wake);
        },
      });
      return {
        close: () => link.close(),
        left: async (worker) => {
          await link.left?.(worker);
          note("left", { worker });
        },
        wake: async (wake) => {
          note("in", wake);
          if (wake.session.startsWith("lost") && !lost.has(wake.session)) {
            lost.add(wake.session);
            return;
          }
          const times = wake.session.startsWith("twice") ? 3 : 1;
          for (let time = 0; time < times; time++) await link.wake(wake);
        },
      };
    },
  };
}

async function engineOf(name) {
  if (name === "local") return (await import("openrath/cluster")).local;
  return (await import(new URL(`../../engines/${name}/index.mjs`, import.meta.url).href)).default();
}
