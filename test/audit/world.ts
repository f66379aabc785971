import type { FactId, Session } from "openrath";
import { agent, openRath, policy, type Rath, scripted, workflow } from "openrath";
import { memory, remembering } from "openrath/memory";
import type { StartOptions } from "openrath/session";
import type { Store } from "openrath/store";
import { sandboxTools, tool } from "openrath/tool";

/** A store with a piece of work in it, done by a real runtime with scripted models. */
export type World = {
  readonly rath: Rath;
  readonly store: Store;
  /** The memory that was read. */
  readonly memory: FactId;
  /** The session at the end of the work. */
  readonly session: Session;
  /** Where everything in it is kept. */
  readonly module: ReturnType<typeof repairing>;
};

const notes = memory({ name: "notes", scope: "project:shop" });

const deploy = tool({
  name: "deploy",
  description: "Puts it on the shelf.",
  input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  effect: "write",
  run: ({ to }) => `deployed to ${String(to)}`,
});

const coder = (name: string, texts: readonly string[], last: string) =>
  agent({
    name,
    model: scripted(
      ...texts.map((text) => ({ tool: "write", input: { path: "src/price.txt", text } })),
      last,
    ),
    tools: sandboxTools(),
  });

/** Reads what is known, repairs on two branches, adopts the better one and lets people agree to the rest. */
function repairing() {
  const research = remembering(
    "research",
    agent({ name: "scout", model: scripted("The notes say where the prices are rounded.") }),
    { from: notes, threshold: 0 },
  );
  const small = coder("small", ["one\ntwo\nthree\n", "one\nTWO\nthree\n"], "I changed one line.");
  const bold = coder("bold", ["eins\nzwei\n"], "I wrote it anew.");
  const shipper = agent({
    name: "shipper",
    model: scripted(
      { tool: "deploy", input: { to: "shelf" } },
      { tool: "deploy", input: { to: "moon" } },
      { tool: "write", input: { path: "src/price.txt", text: "one\nTWO\nthree\nfour\n" } },
      "It is on the shelf.",
    ),
    tools: [deploy, ...sandboxTools()],
  });
  return workflow("repairing", { research, small, bold, shipper }, async (session, parts) => {
    const read = await parts.research.forward(session);
    const [one, other] = (await Promise.all([
      parts.small.forward(read.fork("small", { why: "touch one line" })),
      parts.bold.forward(read.fork("bold", { why: "a fresh start" })),
    ])) as [Session, Session];
    const judged = other.append({
      type: "validation-report",
      name: "tests",
      passed: false,
      detail: "zwei is not a price",
    });
    const merged = one.merge(judged, { adopt: "ours", why: "its tests passed", by: "agent:judge" });
    return parts.shipper.forward(merged);
  });
}

export async function world(
  url = "memory:",
  { text = "Repair the prices.", ...options }: Omit<StartOptions, "host"> & { readonly text?: string } = {},
): Promise<World> {
  const module = repairing();
  const rath = openRath({
    store: url,
    policy: policy("house", [
      { name: "shipping", verdict: "ask", tool: "deploy", approval: { from: ["user:ada", "user:bob"] } },
    ]),
  });
  const store = await rath.store();
  const said = rath.start("The prices are rounded in src/price.txt.", { by: "user:ada" });
  await rath.save(said, "yesterday");
  const { memory: id } = await notes.open(store).write({
    text: "Prices are rounded in src/price.txt.",
    because: [said.id],
    source: "human-correction",
    by: "user:ada",
  });
  const start = rath.start(text, { by: "user:ada", ...options }).to("virtual");
  await rath.run(module, start, { name: "work", by: "user:ada" });
  await rath.approve("work", { by: "user:bob", edit: { to: "top shelf" }, why: "there is room" });
  await rath.resume("work", module);
  await settle(rath, module);
  const session = await rath.resume("work", module);
  return { rath, store, memory: id, session, module };
}

/** Answers what is asked until nothing is. */
async function settle(rath: Rath, module: ReturnType<typeof repairing>): Promise<void> {
  for (let rounds = 0; rounds < 10; rounds++) {
    const open = (await rath.pending("work")).filter(({ answered }) => !answered);
    if (open.length === 0) return;
    const [ask] = open;
    if (JSON.stringify(ask?.shown).includes("moon"))
      await rath.reject("work", { by: "user:ada", why: "too far" });
    else await rath.approve("work", { by: "user:ada" });
    await rath.resume("work", module);
  }
}
