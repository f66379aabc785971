import { type ExportFormat, exportFormat } from "../../connect/format/index.js";
import { RequestError } from "../../connect/front/index.js";
import { writeBundle } from "../../evidence/bundle/index.js";
import { dossierHtml, dossierOf } from "../../evidence/dossier/index.js";
import { verifySession } from "../../evidence/verify/index.js";
import { type FactId, type Json, VERSION } from "../../session/index.js";
import { NotFoundError, type Store } from "../../store/index.js";
import { type Call, factWithin, type Handlers } from "../call.js";
import type { Routes } from "../contract/routes.js";
import { mayAll } from "../identity/identity.js";
import { pagesFor } from "../pages.js";
import { writtenBeside } from "./beside.js";
import { fileName, streamOf } from "./content.js";
import { refOf, requireAll } from "./reads.js";

type Proofs = "questions" | "ask" | "askAll" | "sections" | "section" | "verify" | "export";

/** Answers with their proofs, and the record itself. */
export const proofHandlers: Pick<Handlers, Proofs> = {
  questions: ({ store, identity }) => ({
    items: pagesFor(store, identity).questions.map((name) => ({ name, takes: TAKES[name] })),
    next: null,
  }),
  ask: async (call) => {
    const { store, identity, path, query } = call;
    if (EVERYWHERE.has(path.question)) requireAll(identity, "view");
    else if (!mayAll(identity, "view")) await requireWithin(call);
    const { after, ...options } = query;
    const read = pagesFor(store, identity);
    if (OF_ALL.has(path.question) && (after !== undefined || (await factsOf(call)) > SHORT))
      return read.askPage(path.question, refOf(call), query);
    // A step by its number is counted from the first one on.
    if (/^#?\d{1,9}$/.test(query.step ?? ""))
      await requireShort(call, "a step by its number", "rath why", COUNTED);
    return read.ask(path.question, refOf(call), options);
  },
  askAll: async ({ store, identity, path, query }) => {
    requireAll(identity, "view");
    if (path.question !== "by" && path.question !== "ifFalse")
      throw new NotFoundError(
        `a question ${JSON.stringify(path.question.slice(0, 80))} about the whole store`,
        "by and ifFalse are; the others are about a session: GET /api/sessions/NAME/ask/QUESTION",
      );
    const read = pagesFor(store, identity);
    const { after, ...options } = query;
    const isLarge = after !== undefined || (await isLargeStore(store));
    return path.question === "by" && isLarge
      ? read.askPage("by", "", query)
      : read.ask(path.question, "", options);
  },
  sections: async (call) => {
    requireAll(call.identity, "audit");
    return { items: pagesFor(call.store, call.identity).sections, next: null };
  },
  section: async (call) => {
    requireAll(call.identity, "audit");
    await requireShort(call, "the dossier", "rath dossier");
    const found = await pagesFor(call.store, call.identity).section(refOf(call), call.path.section);
    return { ...found, content: found.content as unknown as Json };
  },
  verify: ({ store, session }) =>
    new Response(streamOf(verification(store, session.id)), {
      headers: { "content-type": "application/x-ndjson" },
    }),
  export: exported,
};

/** The parameters that each question reads. */
const TAKES: { readonly [question: string]: readonly string[] } & {
  readonly [Question in ReturnType<typeof pagesFor>["questions"][number]]: readonly string[];
} = {
  branch: ["message"],
  step: ["step"],
  memory: ["step"],
  saw: ["step"],
  file: ["path", "line", "limit"],
  approvals: ["limit"],
  between: ["from", "to", "all", "limit"],
  by: ["principal", "limit"],
  ifFalse: ["memory", "limit"],
};
const OF_ALL: ReadonlySet<string> = new Set(["approvals", "between", "by"]);
/** Their answers tell of other sessions. */
const EVERYWHERE: ReadonlySet<string> = new Set(["memory", "ifFalse"]);

/** A question may name facts by their ids, and a cursor its session: those who do not see all sessions name facts of this one. */
async function requireWithin(call: Call<Routes["ask"]>): Promise<void> {
  const { message, step, from, to, after } = call.query;
  if (after !== undefined) {
    const { head } = await call.store.facts(call.session.id, { after, limit: 1 });
    await factWithin(call, head);
  }
  for (const given of [message, step, from, to]) {
    const text = given?.trim().replace(/^#/, "") ?? "";
    if (/^[0-9a-f]{6,64}$/.test(text)) await factWithin(call, text);
  }
}

/** A session of more facts is read on the machine of its store, and not by a request. */
const LONG = 100_000;
/** Steps of a session of more facts are named by their ids. */
const COUNTED = 10_000;
/** Answers about more facts, and about more sessions, come in pages. */
const SHORT = 2_000;
const SESSIONS = 200;

async function isLargeStore(store: Store): Promise<boolean> {
  const names = await store.names({ limit: SESSIONS });
  if (names.length === SESSIONS) return true;
  let facts = 0;
  for (const { id } of names) facts += (await store.facts(id, { limit: 1 })).count;
  return facts > SHORT;
}

async function factsOf({ store, session }: Pick<Call, "store" | "session">): Promise<number> {
  return (await store.facts(session.id, { limit: 1 })).count;
}

async function requireShort(
  { store, session }: Pick<Call, "store" | "session">,
  what: string,
  command: string,
  most = LONG,
): Promise<void> {
  const count = await factsOf({ store, session });
  if (count <= most) return;
  throw new RequestError(422, "session-long", `The session has ${count} facts, too many for ${what} here.`, {
    hint: `run the command on the machine of the store: ${command} ${session.name ?? session.id.slice(0, 12)}`,
    data: { facts: count, most },
  });
}

/** Progress while a session is verified, and the report. A reader who leaves ends it. */
async function* verification(store: Store, head: FactId): AsyncGenerator<string> {
  const { count: total } = await store.facts(head, { limit: 1 });
  let [checked, told] = [0, 0];
  let awake: () => void = () => {};
  let isOver = false;
  const work = verifySession(store, head, {
    progress: (facts) => {
      if (isOver) throw new Error("nobody reads this now");
      checked = facts;
      awake();
    },
  }).finally(() => awake());
  const report = work.then((found) => ({ found }));
  report.catch(() => {});
  try {
    for (;;) {
      const next = await Promise.race([
        report,
        new Promise<undefined>((done) => (awake = () => done(undefined))),
      ]);
      if (next !== undefined) {
        const { found } = next;
        const { intact: ok, findings: problems, more } = found;
        yield `${JSON.stringify({ ok, checked: found.facts, problems, more, report: found })}\n`;
        return;
      }
      if (checked - told < Math.max(1000, total / 1000)) continue;
      told = checked;
      yield `${JSON.stringify({ checked, total })}\n`;
    }
  } finally {
    isOver = true;
  }
}

/** A session as a file. Lines and bundles are streamed; the others are made whole: of long sessions by a process of its own. */
async function exported(call: Call<Routes["export"]>): Promise<Response> {
  const { store, session, query, identity } = call;
  const { format = "lines", content = false } = query;
  const name = session.name ?? session.id.slice(0, 12);
  const file = (extension: string) => name.replaceAll(/[^\w.-]+/g, "-").slice(0, 80) + extension;
  if (format === "lines")
    return fileResponse(linesOf(store, session.id), file(".jsonl"), "application/x-ndjson");
  if (format === "bundle") {
    const about: Json = { kind: "session", session: { id: session.id, name }, made: { version: VERSION } };
    return fileResponse(writeBundle(store, [session.id], { about }), file(".json"), "application/json");
  }
  const isPage = format === "html";
  if (isPage || format === "dossier") requireAll(identity, "audit");
  const writer: ExportFormat | undefined =
    isPage || format === "dossier" ? undefined : await exportFormat(format);
  if (format !== "dossier" && (await factsOf(call)) > SHORT) {
    const flags = isPage ? ["--html-only"] : ["--format", format, ...(content ? ["--content"] : [])];
    const isNewest = session.name !== undefined && (await store.head(session.name)) === session.id;
    const args = {
      verb: isPage ? "dossier" : "export",
      flags,
      session: isNewest ? refOf(call) : session.id,
    } as const;
    const written = await writtenBeside(store, args, call.request.signal);
    if (written !== undefined)
      return fileResponse(written, file(writer?.extension ?? ".html"), "application/octet-stream");
  }
  await requireShort(
    call,
    "this format",
    isPage || format === "dossier" ? "rath dossier" : `rath export --format ${format}`,
  );
  if (writer === undefined) {
    const dossier = await dossierOf(store, refOf(call));
    const [body, extension, media] = isPage
      ? [dossierHtml(dossier), ".html", "application/octet-stream"]
      : [JSON.stringify(dossier), ".json", "application/json"];
    return fileResponse([body], file(extension), media);
  }
  const subject = {
    ...(session.name !== undefined && { name: session.name }),
    session: await store.load(session.id, { horizon: LONG + 1 }),
    store,
  };
  return fileResponse(
    [await writer.write(subject, { content })],
    file(writer.extension),
    "application/octet-stream",
  );
}

async function* linesOf(store: Store, id: FactId): AsyncGenerator<string> {
  for await (const line of store.export([id])) yield `${line}\n`;
}

function fileResponse(
  pieces: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  name: string,
  media: string,
): Response {
  async function* all() {
    yield* pieces;
  }
  return new Response(streamOf(all()), {
    headers: { "content-type": media, "content-disposition": `attachment; ${fileName(name)}` },
  });
}
