import { RequestError } from "../../connect/front/index.js";
import type { FactId, Json, Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { mergeFiles } from "../../workflow/index.js";
import { type Call, factWithin, type Handlers, placeOf, requireRole } from "../call.js";
import type { Routes } from "../contract/routes.js";
import { type Mark, once } from "./request.js";
import { newName } from "./runs.js";
import type { Ran } from "./under-way.js";

export const branchHandlers: Pick<Handlers, "fork" | "merge"> = {
  fork: async (call) => {
    const { store, session, identity, body } = call;
    const name = newName(call, body.as);
    const at = body.head === undefined ? session.id : await factWithin(call as unknown as Call, body.head);
    const by = identity.principal;
    const branch = body.branch ?? name;
    return once(call, "fork", name, async (mark) => {
      const forked = (await store.load(at)).fork(branch, { by, ...defined({ why: body.why }) });
      const answer = { name, id: forked.id, from: at, branch };
      await store.save(forked, { name, expect: null, ...mark.also(answer) });
      return answer;
    });
  },
  merge: async (call) => {
    const { store, identity, body } = call;
    const name = body.as === undefined ? ownName(call) : newName(call, body.as);
    const theirs = await placeOf(store, identity, "view", body.theirs);
    return once(call, "merge", name, (mark) => merge(call, name, theirs.id, mark));
  },
};

async function merge(call: Call<Routes["merge"]>, name: string, theirs: FactId, mark: Mark): Promise<Ran> {
  const { rath, store, session, identity, body, acts } = call;
  const by = identity.principal;
  const whole = { horizon: Number.POSITIVE_INFINITY };
  const sides = [await store.load(session.id, whole), await store.load(theirs, whole)] as const;
  const merged = sides[0].merge(sides[1], {
    by,
    adopt: body.adopt ?? "both",
    ...defined({ why: body.why }),
  });
  const hasFiles = sides.some(({ files }) => files.tree !== null);
  if (!hasFiles) {
    const answer = { name, id: merged.id, state: "open" };
    const expect = body.as === undefined ? session.id : null;
    await store.save(merged, { name, expect, ...mark.also(answer) });
    return answer;
  }
  const conflicts = await conflictsOf(call, merged);
  const choices = choicesFor(conflicts, body.files ?? {});
  if (body.as !== undefined && (await store.head(name)) !== undefined)
    throw new RequestError(409, "name-conflict", "A session with this name exists.", {
      hint: "choose another name for the merged session",
      data: { name },
    });
  const module = mergeFiles(conflicts.length === 0 ? {} : { resolve: "ask" });
  const start = () => rath.stream(module, merged, { name, by });
  let ran = await (await mark.begin(() => acts.underWay.begin(name, module, start, by))).over;
  for (const one of ran.state === "waiting" ? await rath.pending(name) : []) {
    await rath.answer(name, one.id, choices, by);
    ran = await (await acts.underWay.begin(name, module, () => rath.stream.resume(name, module))).over;
  }
  return ran;
}

/** The name that goes on with the merged session, where none is given: that of our side. */
function ownName({ session, identity }: Call<Routes["merge"]>): string {
  const { name } = session;
  if (name === undefined)
    throw new RequestError(400, "request-refused", "A merge into an id needs a name for the result.", {
      hint: 'name the merged session: { "as": "merged" }',
    });
  requireRole(identity, "run", name);
  return name;
}

type Conflict = { readonly path: string; readonly kind: string };

/** The files that both sides changed differently. Nothing is recorded. */
async function conflictsOf({ rath }: Pick<Call, "rath">, merged: Session): Promise<readonly Conflict[]> {
  try {
    await (await rath.filesAt(merged)).tree();
    return [];
  } catch (error) {
    const { code, data } = Object(error) as {
      readonly code?: string;
      readonly data?: { conflicts?: Conflict[] };
    };
    if (code !== "files-unmerged") throw error;
    return data?.conflicts ?? [];
  }
}

type Choice = "ours" | "theirs" | "base" | "delete" | { readonly text: string };

/** A choice for every conflict, before anything is recorded: none is decided unseen. */
function choicesFor(conflicts: readonly Conflict[], given: Json): Json {
  if (given === "ours" || given === "theirs") return given;
  const files = Object(given) as { readonly [path: string]: unknown };
  const open = conflicts.filter(({ path }) => !isChoice(files[path]));
  const paths = new Set(conflicts.map(({ path }) => path));
  const others = Object.keys(files).filter((path) => !paths.has(path));
  if (open.length === 0 && others.length === 0) return given;
  throw new RequestError(
    409,
    "files-conflict",
    open.length > 0
      ? `Both sides changed ${open.length === 1 ? "a file" : `${open.length} files`} differently, and nothing says which counts.`
      : "A file is decided that is not in conflict.",
    {
      hint: 'choose for each file: { "files": { "PATH": "ours" | "theirs" | { "text": "…" } } }; GET /api/sessions/NAME/conflicts shows both sides',
      data: { conflicts: open as unknown as Json, others: others.slice(0, 100) },
    },
  );
}

function isChoice(choice: unknown): choice is Choice {
  if (typeof choice === "string") return ["ours", "theirs", "base", "delete"].includes(choice);
  const { text, ...more } = Object(choice) as { readonly text?: unknown };
  return typeof text === "string" && Object.keys(more).length === 0;
}
