import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { conversationRoutes } from "./conversations.js";
import { Files, Refusal } from "./files.js";
import { type Body, type Route, type Routed, text } from "./route.js";

export type VikingDoubleOptions = {
  readonly key?: string;
  /** As older versions: what is not there cannot be replaced. */
  readonly strict?: boolean;
  /** Milliseconds until what a commit began is done; "never" and "fails" for those that do not. */
  readonly learning?: number | "never" | "fails";
  readonly unready?: boolean;
};

/** A server on loopback that follows the documented API of OpenViking, as far as a client of ours uses it. */
export type VikingDouble = {
  readonly url: string;
  readonly files: Files;
  /** The method and path of each request, and who asked. */
  readonly requests: readonly string[];
  /** What was said to have been used, by session. */
  readonly used: ReadonlyMap<string, readonly string[]>;
  close(): Promise<void>;
};

const FIELDS = '\n\n<!-- MEMORY_FIELDS\n{"version":1}\n-->';

export async function vikingDouble(options: VikingDoubleOptions = {}): Promise<VikingDouble> {
  const { key, strict = false, learning = 30, unready = false } = options;
  const files = new Files();
  const requests: string[] = [];
  const conversations = conversationRoutes(files, learning);
  const search: Route = ({ user, body }) => {
    only(body, ["query", "limit", "target_uri", "score_threshold", "session_id"]);
    const {
      query,
      limit = 10,
      target_uri: target = [],
      score_threshold: least = 0,
      session_id: session,
    } = body;
    if (session !== undefined) conversations.sessionAt(String(session));
    const places = (Array.isArray(target) ? target : [target])
      .filter((one) => one !== "")
      .map((one) => pathOf(String(one), user));
    const all = files
      .find(String(query), places)
      .filter(({ score }) => score >= Number(least))
      .slice(0, Number(limit));
    const matched = all.map(({ path, level, score, abstract }) => ({
      uri: `viking://${path}`,
      context_type: path.includes("/memories/") ? "memory" : "resource",
      level,
      abstract,
      overview: null,
      category: "",
      score,
      match_reason: "",
    }));
    const of = (kind: string) => matched.filter((one) => one.context_type === kind);
    return { memories: of("memory"), resources: of("resource"), skills: [], total: matched.length };
  };

  const routes: readonly Routed[] = [
    [
      "GET",
      /^\/api\/v1\/fs\/ls$/,
      ({ query, user }) => files.list(uriIn(query, user), 1, count(query, "node_limit", 1_000)),
    ],
    [
      "GET",
      /^\/api\/v1\/fs\/tree$/,
      ({ query, user }) =>
        files.list(uriIn(query, user), count(query, "level_limit", 3), count(query, "node_limit", 1_000)),
    ],
    ["GET", /^\/api\/v1\/fs\/stat$/, ({ query, user }) => files.stat(uriIn(query, user))],
    [
      "POST",
      /^\/api\/v1\/fs\/mkdir$/,
      ({ body, user }) => {
        files.mkdir(pathOf(text(body.uri), user));
        return { uri: body.uri };
      },
    ],
    [
      "POST",
      /^\/api\/v1\/fs\/mv$/,
      ({ body, user }) => {
        files.move(pathOf(text(body.from_uri), user), pathOf(text(body.to_uri), user));
        return { from: body.from_uri, to: body.to_uri };
      },
    ],
    [
      "DELETE",
      /^\/api\/v1\/fs$/,
      ({ query, user }) => {
        files.remove(uriIn(query, user), query.get("recursive") === "true");
        return { uri: query.get("uri") };
      },
    ],
    [
      "GET",
      /^\/api\/v1\/content\/read$/,
      ({ query, user }) => {
        const path = uriIn(query, user);
        // The server keeps fields of its own in the files of memories, and shows them to whoever asks for all.
        const fields = query.get("raw") === "true" && path.includes("/memories/") ? FIELDS : "";
        return `${files.read(path)}${fields}`;
      },
    ],
    ["GET", /^\/api\/v1\/content\/abstract$/, ({ query, user }) => files.abstract(uriIn(query, user))],
    ["GET", /^\/api\/v1\/content\/overview$/, ({ query, user }) => files.overview(uriIn(query, user))],
    [
      "POST",
      /^\/api\/v1\/content\/write$/,
      ({ body, user }) => {
        only(body, ["uri", "content", "mode", "wait", "timeout"]);
        files.write(pathOf(text(body.uri), user), text(body.content), String(body.mode ?? "replace"), strict);
        return {
          uri: body.uri,
          mode: body.mode,
          content_updated: true,
          semantic_status: "queued",
          vector_status: "queued",
        };
      },
    ],
    ["POST", /^\/api\/v1\/search\/find$/, search],
    ["POST", /^\/api\/v1\/search\/search$/, search],
    ...conversations.routes,
    [
      "POST",
      /^\/api\/v1\/snapshot\/commit$/,
      ({ body, user }) => {
        only(body, ["message", "paths", "branch"]);
        return files.commit(
          text(body.message),
          (body.paths as string[] | undefined)?.map((one) => pathOf(one, user)),
        );
      },
    ],
    ["GET", /^\/api\/v1\/snapshot\/log$/, ({ query }) => files.log(count(query, "limit", 20))],
    [
      "POST",
      /^\/api\/v1\/snapshot\/restore$/,
      ({ body, user }) => {
        only(body, ["source_commit", "project_dir", "message", "dry_run", "branch"]);
        const place = body.project_dir === undefined ? "" : pathOf(text(body.project_dir), user);
        return files.restore(
          text(body.source_commit),
          place,
          String(body.message ?? "restore"),
          body.dry_run === true,
        );
      },
    ],
  ];

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://loopback");
    const user = String(request.headers["x-openviking-user"] ?? "default");
    requests.push(`${request.method} ${url.pathname} ${user}`);
    if (url.pathname === "/health")
      return send(response, 200, { status: "ok", healthy: true, version: "0.4.0" });
    if (url.pathname === "/ready")
      return send(response, unready ? 503 : 200, {
        status: unready ? "not_ready" : "ready",
        checks: { agfs: "ok", vectordb: unready ? "error" : "ok" },
      });
    try {
      if (key !== undefined && request.headers["x-api-key"] !== key)
        throw new Refusal("UNAUTHENTICATED", 401, "Missing or invalid API key");
      const body = await bodyOf(request);
      for (const [method, path, route] of routes) {
        const [found, ...ids] = path.exec(url.pathname) ?? [];
        if (found === undefined || method !== request.method) continue;
        return send(response, 200, {
          status: "ok",
          result: route({ user, query: url.searchParams, body, ids }),
          time: 0.001,
        });
      }
      throw new Refusal("NOT_FOUND", 404, "there is no such endpoint");
    } catch (error) {
      const { code, http, message, details } =
        error instanceof Refusal ? error : new Refusal("INTERNAL", 500, String(error));
      send(response, http, { status: "error", error: { code, message, details }, time: 0.001 });
    }
  };
  const server = createServer((request, response) => {
    request.on("error", () => {});
    response.on("error", () => {});
    void answer(request, response);
  });
  return {
    url: await listening(server),
    files,
    requests,
    used: conversations.used,
    close: () => closed(server),
  };
}

/** On a port of loopback that nobody else has. */
export async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

function send(response: ServerResponse, status: number, answer: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece;
  if (body === "") return {};
  try {
    return JSON.parse(body) as Body;
  } catch {
    throw new Refusal("INVALID_ARGUMENT", 400, "malformed JSON");
  }
}

/** The real one refuses fields that it does not know. */
function only(body: Body, known: readonly string[]): void {
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Refusal("INVALID_ARGUMENT", 400, `unknown field ${unknown}`);
}

function uriIn(query: URLSearchParams, user: string): string {
  return pathOf(text(query.get("uri")), user);
}

function count(query: URLSearchParams, name: string, standard: number): number {
  return Number(query.get(name) ?? standard);
}

/** The path of an address: `~` is the root of whoever asks, and its answers say so in full. */
function pathOf(uri: string, user: string): string {
  const path = /^viking:\/\/(.*?)\/?$/s.exec(uri)?.[1];
  if (path === undefined || path.split("/").includes(".."))
    throw new Refusal("INVALID_URI", 400, `Invalid URI: ${uri}`);
  const own = path.replace(/^~(?=\/|$)/, `user/${user}`).replace(/^session\//, `user/${user}/sessions/`);
  if (!/^(resources|user|agent)?(\/|$)/.test(own))
    throw new Refusal("INVALID_URI", 400, `Invalid URI: ${uri}`);
  return own;
}
