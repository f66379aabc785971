import fc from "fast-check";
import { expect, it } from "vitest";
import type { Digest } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { type Files, treeIdOf } from "../../testkit/sandbox/expected.js";
import type { Sandbox } from "../sandbox.js";
import { said, virtual } from "./testing/counted.js";

const names = ["a", "b"];
const path = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 });
const step = fc.record({
  /** Which of the sandboxes. */
  where: fc.nat(3),
  what: fc.constantFrom(
    ...([
      "write",
      "append",
      "make",
      "remove",
      "copy",
      "move",
      "mode",
      "link",
      "fork",
      "keep",
      "restore",
    ] as const),
  ),
  one: path,
  other: path,
  text: fc.constantFrom("", "x", "long ".repeat(50)),
  byCommand: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** The files of a sandbox, as simply as can be. */
type Model = Map<string, ModelNode>;
type ModelNode = Model | { text: string; mode: number } | { link: string };

it("[V30] random changes, copies, forks and restores leave the files that a simple model has", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60, size: "max" }), async (steps) => {
      const { open, provider } = virtual();
      const all: { sandbox: Sandbox; model: Model }[] = [{ sandbox: await open(), model: new Map() }];
      const kept: { tree: Digest; model: Model }[] = [];
      for (const [place, one] of steps.entries()) {
        const it = all[one.where % all.length] as (typeof all)[number];
        if (one.what === "fork" && all.length < 4)
          all.push({ sandbox: await it.sandbox.fork({ id: `fork-${place}` }), model: copyOf(it.model) });
        else if (one.what === "keep")
          kept.push({ tree: (await it.sandbox.snapshot()).tree, model: copyOf(it.model) });
        else if (one.what === "restore" && kept.length > 0) {
          const { tree, model } = kept[place % kept.length] as (typeof kept)[number];
          await it.sandbox.restore(tree);
          it.model = copyOf(model);
        } else await change(it.sandbox, it.model, one);
      }
      for (const { sandbox, model } of all)
        expect((await sandbox.snapshot()).tree).toBe(treeIdOf(filesOf(model)));
      for (const { tree, model } of kept) expect(tree).toBe(treeIdOf(filesOf(model)));
      await provider.close();
    }),
    { numRuns: Number(process.env.OPENRATH_SANDBOX_RUNS ?? campaign(80)) },
  );
});

/** Makes one change, here and there, where it makes sense. */
async function change(
  sandbox: Sandbox,
  model: Model,
  { what, one, other, text, byCommand }: Step,
): Promise<void> {
  const [from, to] = [one.join("/"), other.join("/")];
  const node = at(model, one);
  const [parent, name] = [at(model, one.slice(0, -1)), one.at(-1) ?? ""];
  const target = at(model, other.slice(0, -1));
  switch (what) {
    case "write":
    case "append": {
      if (!(parent instanceof Map) || node instanceof Map || (node !== undefined && "link" in node)) return;
      if (what === "append") await said(sandbox, `printf '%s' '${text}' >> ${from}`);
      else if (byCommand) await said(sandbox, ["sh", "-c", 'printf "%s" "$1" > "$2"', "sh", text, from]);
      else await sandbox.files.write(from, text);
      parent.set(name, {
        text: what === "append" ? (node?.text ?? "") + text : text,
        mode: node?.mode ?? 0o644,
      });
      return;
    }
    case "make":
      if (one.some((_, place) => isOther(at(model, one.slice(0, place + 1))))) return;
      await (byCommand ? said(sandbox, ["mkdir", "-p", from]) : sandbox.files.make(from));
      for (const place of one.keys()) {
        const way = at(model, one.slice(0, place)) as Model;
        const next = one[place] as string;
        if (!way.has(next)) way.set(next, new Map());
      }
      return;
    case "remove":
      if (!(parent instanceof Map)) return;
      await (byCommand ? said(sandbox, ["rm", "-rf", from]) : sandbox.files.remove(from));
      parent.delete(name);
      return;
    case "copy":
    case "move": {
      const isInside = `${to}/`.startsWith(`${from}/`);
      if (node === undefined || !(target instanceof Map) || at(model, other) !== undefined || isInside)
        return;
      const isLink = !(node instanceof Map) && "link" in node;
      // Its `cp` and `mv` look where a link leads before they take it along.
      if (what === "copy" && isLink) return;
      if (what === "copy") await said(sandbox, ["cp", "-r", from, to]);
      else await (byCommand && !isLink ? said(sandbox, ["mv", from, to]) : sandbox.files.move(from, to));
      target.set(other.at(-1) ?? "", node instanceof Map ? copyOf(node) : { ...node });
      if (what === "move") (parent as Model).delete(name);
      return;
    }
    case "mode":
      if (node === undefined || node instanceof Map || "link" in node) return;
      await said(sandbox, ["chmod", "700", from]);
      node.mode = 0o700;
      return;
    case "link":
      if (!(parent instanceof Map) || node !== undefined) return;
      // Nowhere: commands of this shell stumble over links that lead to each other.
      await said(sandbox, ["ln", "-s", `nowhere/${to}`, from]);
      parent.set(name, { link: `nowhere/${to}` });
  }
}

function at(model: Model, way: readonly string[]): ModelNode | undefined {
  let node: ModelNode | undefined = model;
  for (const name of way) node = node instanceof Map ? node.get(name) : undefined;
  return node;
}

function isOther(node: ModelNode | undefined): boolean {
  return node !== undefined && !(node instanceof Map);
}

function copyOf(model: Model): Model {
  return new Map([...model].map(([name, node]) => [name, node instanceof Map ? copyOf(node) : { ...node }]));
}

function filesOf(model: Model): Files {
  return Object.fromEntries(
    [...model].map(([name, node]) => {
      if (node instanceof Map) return [name, { in: filesOf(node) }];
      return [name, "link" in node ? node : { mode: node.mode, content: node.text }];
    }),
  );
}
