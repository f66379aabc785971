// @ts-check
// The client that the official conformance suite tests: `node client.mjs <address>`, with the name of the scenario in its
// environment. It does with our client what the scenario wants to see: a run in which an agent calls tools.
import { createServer } from "node:http";
import {
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
} from "@modelcontextprotocol/client";
import { openRath } from "openrath";
import { agent } from "openrath/agent";
import { mcp } from "openrath/mcp";
import { scripted } from "openrath/model";
import { workflow } from "openrath/workflow";
import { Provider } from "./provider.mjs";

const [, , address = ""] = process.argv;
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

/** @typedef {{ name: string, input?: import("openrath").Json }} Call */

/**
 * Connects, and lets an agent make calls. What a server asks meanwhile is answered with the form as it is.
 *
 * @param {readonly Call[] | ((server: import("openrath/mcp").McpServer) => Promise<readonly Call[]>)} calls
 * @param {Parameters<typeof mcp>[1]} [options]
 * @param {{ url?: string, auth?: import("../../../src/connect/mcp/http.js").Authorization }} [way]
 */
async function use(calls, options = {}, { url = address, auth } = {}) {
  await using(url, auth, options, async (server, rath) => {
    const tools = await server.tools();
    const wanted = typeof calls === "function" ? await calls(server) : calls;
    const script = wanted.map(({ name, input = {} }) => ({ tool: `suite_${name}`, input }));
    const caller = agent({ name: "caller", model: scripted(...script, "done"), tools });
    let session = await rath.run(caller, rath.start("go"), { name: "run" });
    while (session.fact.type === "run-suspend") {
      for (const { id } of await rath.pending("run"))
        await rath.answer("run", id, { action: "accept", content: {} }, "user:suite");
      session = await rath.resume("run", caller);
    }
  });
}

/**
 * @param {string} url
 * @param {import("../../../src/connect/mcp/http.js").Authorization | undefined} auth
 * @param {Parameters<typeof mcp>[1]} options
 * @param {(server: import("openrath/mcp").McpServer, rath: import("openrath").Rath) => Promise<void>} act
 */
async function using(url, auth, options, act) {
  const server = mcp({ name: "suite", url, ...(auth !== undefined && { auth }) }, options);
  const rath = openRath({ store: "memory:" });
  try {
    await act(server, rath);
  } finally {
    await server.close();
    await rath.close();
  }
}

/**
 * A server between, which says that the suite's is one of 2026: some of those that the suite starts know only the requests
 * that they are about. Everything else goes through as it is.
 *
 * @param {(url: string) => Promise<void>} act
 */
async function discovered(act) {
  const between = createServer(async (incoming, outgoing) => {
    const pieces = [];
    for await (const piece of incoming) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const { id, method } = body.length > 0 ? JSON.parse(body.toString()) : { id: 0, method: "" };
    if (method === "server/discover") {
      const result = {
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {}, resources: {}, prompts: {} },
        serverInfo: { name: "suite", version: "1" },
        _meta: { "io.modelcontextprotocol/serverInfo": { name: "suite", version: "1" } },
      };
      outgoing.writeHead(200, { "content-type": "application/json" });
      outgoing.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      return;
    }
    const { host, connection, "content-length": _, "transfer-encoding": __, ...headers } = incoming.headers;
    const answer = await fetch(address, {
      method: incoming.method ?? "POST",
      headers: /** @type {Record<string, string>} */ (headers),
      ...(body.length > 0 && { body }),
    });
    outgoing.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
    outgoing.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise((resolve) => between.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (between.address());
  try {
    await act(`http://127.0.0.1:${port}/`);
  } finally {
    between.closeAllConnections();
    between.close();
  }
}

/** Every tool that may be called. */
const all =
  (/** @type {import("openrath").Json} */ input) =>
  async (/** @type {import("openrath/mcp").McpServer} */ server) =>
    (await server.definitions()).map(({ name }) => ({ name, input }));

/** Leave as a person gives it: by a page, where this one always agrees. */
const person = () => {
  const provider = new Provider(context);
  return { provider, callback: () => provider.callback() };
};

/** Leave without a person. */
const machine = () => {
  const { client_id: clientId, client_secret: clientSecret } = context;
  if (context.private_key_pem !== undefined)
    return new PrivateKeyJwtProvider({
      clientId,
      privateKey: context.private_key_pem,
      algorithm: context.signing_algorithm ?? "ES256",
    });
  if (context.idp_id_token === undefined) return new ClientCredentialsProvider({ clientId, clientSecret });
  return new CrossAppAccessProvider({
    clientId,
    clientSecret,
    assertion: async ({ authorizationServerUrl, resourceUrl, fetchFn }) => {
      const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
        tokenEndpoint: context.idp_token_endpoint,
        audience: authorizationServerUrl,
        resource: resourceUrl,
        idToken: context.idp_id_token,
        clientId: context.idp_client_id,
        ...(fetchFn !== undefined && { fetchFn }),
      });
      return jwtAuthGrant;
    },
  });
};

/** @type {Record<string, () => Promise<void>>} */
const scenarios = {
  initialize: () => use([]),
  tools_call: () => use([{ name: "add_numbers", input: { a: 5, b: 3 } }]),
  "elicitation-sep1034-client-defaults": () =>
    use([{ name: "test_client_elicitation_defaults" }], { elicitation: true }),
  "sse-retry": () => use([{ name: "test_reconnection" }]),
  "request-metadata": () =>
    use([], { elicitation: true, roots: [], sampling: { model: scripted("I am a model.") } }),
  "http-custom-headers": () =>
    discovered((url) =>
      use(
        context.toolCalls.map((/** @type {any} */ call) => ({
          name: call.name,
          // A null where the schema wants none is refused here before it is sent: it is left out, which is the same test.
          input: Object.fromEntries(Object.entries(call.arguments).filter(([, value]) => value !== null)),
        })),
        {},
        { url },
      ),
    ),
  "http-invalid-tool-headers": () => discovered((url) => use(all({ region: "us-west1" }), {}, { url })),
  "http-standard-headers": () =>
    discovered(async (url) => {
      await use(all({}), {}, { url });
      await using(url, undefined, {}, async (server, rath) => {
        const look = workflow("look", async (session) => {
          const resources = await server.listResources.call(session);
          const { uri } = /** @type {any} */ (resources.value)[0];
          const read = await server.readResource.call(resources.session, { uri });
          const prompts = await server.listPrompts.call(read.session);
          const { name } = /** @type {any} */ (prompts.value)[0];
          return (await server.getPrompt.call(prompts.session, { name })).session;
        });
        await rath.run(look, rath.start("go"));
      });
    }),
  "sep-2322-client-request-state": () =>
    discovered((url) =>
      use(
        ["echo_state", "no_state", "unrelated", "no_result_type"].map((name) => ({
          name: `test_mrtr_${name}`,
        })),
        { elicitation: true },
        { url },
      ),
    ),
  "json-schema-ref-no-deref": () => use([]),
  "json-schema-2020-12-preservation": () =>
    use(async (server) => {
      const focal = (await server.definitions()).find(({ name }) => name === "json_schema_2020_12_tool");
      return [{ name: "json_schema_echo", input: { schema: focal?.input ?? null } }];
    }),
  "auth/client-credentials-jwt": () => use([], {}, { auth: { provider: machine() } }),
  "auth/client-credentials-basic": () => use([], {}, { auth: { provider: machine() } }),
  "auth/cross-app-access-complete-flow": () => use([], {}, { auth: { provider: machine() } }),
  "auth/enterprise-managed-authorization": () => use([], {}, { auth: { provider: machine() } }),
};
const leave = () => use([{ name: "test-tool" }], {}, { auth: person() });

try {
  const act = scenarios[scenario] ?? (scenario.startsWith("auth/") ? leave : undefined);
  if (act === undefined) throw new Error(`nothing is known of the scenario ${JSON.stringify(scenario)}`);
  await act();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
}
