import { describe, expect, it } from "vitest";
import { type Agent, agent } from "../../../agent/index.js";
import { scripted } from "../../../agent/model/index.js";
import { simulated } from "../../../agent/model/scripted.js";
import { askPerson, tool } from "../../../agent/tool/index.js";
import { type Module, type Rath, statusOf } from "../../../runtime/index.js";
import { rathOf, storeOf, urlOf } from "../../../runtime/testing/rath.js";
import type { Json, Principal } from "../../../session/index.js";
import { approvals, type Handler, type UiOptions, uiStream } from "./index.js";
import { apiOf, clientOf, shapeOf, textIn, versions } from "./testing/client.js";

const principal = (request: Request): Principal | Response => {
  const who = request.headers.get("x-who");
  return who === null ? new Response("who?", { status: 401 }) : `user:${who}`;
};
const NAME = "ui/user%3Aada/c1";

const lookUp = tool({
  name: "look_up",
  description: "Looks up.",
  input: { type: "object" },
  effect: "read",
  run: (input) => {
    if ((input as { fail?: boolean }).fail) throw new Error("no such item");
    return { left: 12 };
  },
});

/** Counts what it pays. */
function paying(): { readonly module: Module; readonly paid: () => number } {
  let paid = 0;
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    effect: "write",
    approval: true,
    run: () => {
      paid += 1;
      return "paid";
    },
  });
  const model = scripted(
    { text: "I ask first.", tools: [{ tool: "pay", input: { sum: 5 } }] },
    (prompt) => (JSON.stringify(prompt).includes("paid") ? "It is paid." : "It is not paid."),
    "Welcome.",
  );
  return { module: agent({ name: "clerk", model, tools: [pay] }), paid: () => paid };
}

/** A model whose next reply waits until the test says so. */
function held(): { readonly go: () => void; readonly asked: () => Promise<void>; readonly module: Module } {
  let go = (): void => {};
  let told = (): void => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  const asked = new Promise<void>((resolve) => (told = resolve));
  const model = scripted({ text: "I look.", tools: [{ tool: "look_up" }] }, async () => {
    told();
    await gate;
    return "Twelve.";
  });
  return { go, asked: () => asked, module: agent({ name: "clerk", model, tools: [lookUp] }) };
}

function posted(body: unknown, headers: { readonly [name: string]: string } = {}): Request {
  return new Request("http://localhost/api/chat", {
    method: "POST",
    headers: { "content-type": "application/json", "x-who": "ada", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}
const said = (text: string, id = `m-${text}`): Json => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
});
const get = (path: string, who = "ada", method = "GET"): Request =>
  new Request(`http://localhost/api/chat/${path}`, { method, headers: { "x-who": who } });
type Chunk = { readonly type: string; readonly [field: string]: Json | undefined };
async function chunksOf(response: Response): Promise<readonly Chunk[]> {
  const blocks = (await response.text()).split("\n\n").filter((block) => block.startsWith("data: {"));
  return blocks.map((block) => JSON.parse(block.slice(6)) as Chunk);
}
const texts = (chunks: readonly Chunk[]): string =>
  chunks.map(({ type, delta }) => (type === "text-delta" ? delta : "")).join("");
const handlerOf = (rath: Rath, module: Module, more: Partial<UiOptions> = {}): Handler =>
  uiStream(rath, module, { principal, ...more });

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("it did not come about");
}

describe("uiStream", () => {
  it.each(versions)(
    "[UI1] [UI5] ai %i reads text, reasoning, calls, results and errors as they stream",
    async (version) => {
      const rath = rathOf();
      const model = scripted(
        {
          reasoning: "hmm",
          text: "Let me see.",
          tools: [
            { tool: "look_up", input: { item: "pencil" } },
            { tool: "look_up", input: { fail: true } },
          ],
        },
        "Twelve.",
        "And again.",
      );
      const module = agent({ name: "clerk", model, tools: [lookUp] });
      const handler = handlerOf(rath, module, { version });
      const api = await apiOf(handler);
      const client = await clientOf(version, api);
      await client.sendMessage({ text: "How many?" });
      expect(client.error).toBeUndefined();
      const answer = client.messages[1];
      expect(shapeOf(answer?.parts ?? [])).toEqual([
        { type: "reasoning", state: "done", text: "hmm" },
        { type: "text", state: "done", text: "Let me see." },
        { type: "tool-look_up", state: "output-available", input: { item: "pencil" }, output: { left: 12 } },
        { type: "tool-look_up", state: "output-error", input: { fail: true }, errorText: "no such item" },
        { type: "text", state: "done", text: "Twelve." },
      ]);
      await client.sendMessage({ text: "Again?" });
      expect(textIn(client)).toEqual([
        "user: How many?",
        "assistant: Let me see.Twelve.",
        "user: Again?",
        "assistant: And again.",
      ]);
      const kept = (await (await handler(get("c1"))).json()) as typeof client.messages;
      expect(kept.map(({ id, role, parts }) => [id, role, shapeOf(parts)])).toEqual(
        client.messages.map(({ id, role, parts }) => [id, role, shapeOf(parts)]),
      );
      expect((await rath.replay(NAME, module, { mode: "verify" })).id).toBe((await rath.load(NAME)).id);
    },
  );

  it("[UI1] the stream is that of the protocol", async () => {
    const module = agent({ name: "clerk", model: scripted("Hi."), stream: true });
    const response = await handlerOf(rathOf(), module)(posted({ id: "c1", messages: [said("hi")] }));
    expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const text = await response.text();
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(text).toContain('"type":"start","messageId"');
  });

  it.each(versions)(
    "[UI2] ai %i shows what waits for approval, and goes on once staff approved",
    async (version) => {
      const rath = rathOf();
      const { module, paid } = paying();
      const handler = handlerOf(rath, module, { version });
      const client = await clientOf(version, await apiOf(handler));
      await client.sendMessage({ text: "Refund me." });
      const [, answer] = client.messages;
      const call = answer?.parts.find(({ type }) => type === "tool-pay");
      const awaited = answer?.parts.find(({ type }) => type === "data-awaited");
      expect(awaited?.data).toMatchObject({
        kind: "approval",
        toolCallId: call?.toolCallId,
        shown: { tool: "pay", input: { sum: 5 } },
        digest: expect.any(String),
        mayAnswer: false,
      });
      expect(call?.state).toBe(version === 5 ? "input-available" : "approval-requested");
      // The customer cannot approve their own request.
      const approved = { of: awaited?.id, value: { approved: true } };
      await client.sendMessage(undefined, { body: { answers: [approved] } });
      expect(client.error?.message).toContain("answer-refused");
      expect((await handler(get("c1/stream"))).status).toBe(204);

      const staff = approvals(rath, { principal: () => "user:boss", module: () => module });
      const { awaited: list } = (await (await staff(get(""))).json()) as { awaited: { id: string }[] };
      expect(list).toMatchObject([{ name: NAME, id: awaited?.id, shown: { tool: "pay" } }]);
      const word = { name: NAME, of: list[0]?.id, value: { approved: true } };
      expect((await staff(posted(word))).status).toBe(200);
      expect((await staff(posted(word))).status).toBe(409);
      // The page asks whether there is something to read, as it does when it is reloaded.
      await client.resumeStream();
      for (let tries = 0; tries < 100 && statusOf(await rath.load(NAME)) !== "finished"; tries++)
        await new Promise((resolve) => setTimeout(resolve, 20));
      expect(paid()).toBe(1);
      const kept = (await (await handler(get("c1"))).json()) as typeof client.messages;
      expect(
        shapeOf(kept[1]?.parts ?? []).filter((part) => (part as { type: string }).type !== "data-awaited"),
      ).toEqual([
        { type: "text", state: "done", text: "I ask first." },
        { type: "tool-pay", state: "output-available", input: { sum: 5 }, output: "paid" },
        { type: "text", state: "done", text: "It is paid." },
      ]);
      expect(kept.length).toBe(2);
      expect(await (await staff(get(""))).json()).toEqual({ awaited: [] });
    },
  );

  it.each([6, 7] as const)("[UI2] ai %i: approvers answer in the chat itself", async (version) => {
    for (const approved of [true, false]) {
      const rath = rathOf();
      const { module, paid } = paying();
      const handler = handlerOf(rath, module, { version, selfApproval: true });
      const client = await clientOf(version, await apiOf(handler));
      await client.sendMessage({ text: "Refund me." });
      const call = client.messages[1]?.parts.find(({ type }) => type === "tool-pay");
      const { id } = Object(call?.approval) as { id: string };
      await client.addToolApprovalResponse({ id, approved, reason: "as agreed" });
      await client.sendMessage();
      expect(client.error).toBeUndefined();
      expect(paid()).toBe(approved ? 1 : 0);
      const awaited = client.messages[1]?.parts.find(({ type }) => type === "data-awaited");
      expect(awaited?.data).toEqual({ answered: true });
      expect(client.messages.length).toBe(2);
      expect(client.messages[1]?.parts.find(({ type }) => type === "tool-pay")).toMatchObject(
        approved ? { state: "output-available", output: "paid" } : { state: "output-denied" },
      );
      expect(textIn(client)[1]).toBe(
        `assistant: I ask first.${approved ? "It is paid." : "It is not paid."}`,
      );
      const kept = (await (await handler(get("c1"))).json()) as typeof client.messages;
      expect(textIn({ messages: kept })).toEqual(textIn(client));
    }
  });

  it.each(versions)("[UI3] ai %i: the client gives the result of a call", async (version) => {
    const rath = rathOf();
    const model = scripted({ tool: "ask_person", input: { question: "Which colour?" } }, (prompt) =>
      JSON.stringify(prompt).includes("blue") ? "Blue it is." : "?",
    );
    const module = agent({ name: "clerk", model, tools: [askPerson()] });
    const handler = handlerOf(rath, module, { version });
    const client = await clientOf(version, await apiOf(handler));
    await client.sendMessage({ text: "Order one." });
    const call = client.messages[1]?.parts.find(({ type }) => type === "tool-ask_person");
    expect(call).toMatchObject({ state: "input-available", input: { question: "Which colour?" } });
    await client.addToolResult({ tool: "ask_person", toolCallId: String(call?.toolCallId), output: "blue" });
    await client.sendMessage();
    expect(client.error).toBeUndefined();
    expect(textIn(client)).toEqual(["user: Order one.", "assistant: Blue it is."]);
  });

  it("[UI4] files reach the model", async () => {
    let seen = "";
    const model = scripted((prompt) => {
      seen = JSON.stringify(prompt);
      return "Seen.";
    });
    const handler = handlerOf(rathOf(), agent({ name: "clerk", model }));
    const file = {
      type: "file",
      mediaType: "image/png",
      url: "data:image/png;base64,iVBORw0KGgo=",
      filename: "a.png",
    };
    const client = await clientOf(7, await apiOf(handler));
    await client.sendMessage({ text: "What is it?", files: [file] });
    expect(client.error).toBeUndefined();
    expect(seen).toContain("iVBORw0KGgo=");
    expect(seen).toContain("image/png");
    const kept = (await (await handler(get("c1"))).json()) as typeof client.messages;
    expect(kept[0]?.parts).toEqual([file, { type: "text", text: "What is it?" }]);
    const refused = await handler(
      posted({
        id: "c2",
        messages: [{ id: "m", role: "user", parts: [{ ...file, url: "file:///etc/passwd" }] }],
      }),
    );
    expect(refused.status).toBe(422);
  });

  it.each(versions)(
    "[UI6] ai %i: a page that is reloaded reads the answer that is under way",
    async (version) => {
      const rath = rathOf();
      const { module, go, asked } = held();
      const handler = handlerOf(rath, module, { version });
      const api = await apiOf(handler);
      const first = await clientOf(version, api);
      const sending = first.sendMessage({ text: "How many?" });
      await asked();
      await first.stop();
      await sending;
      const messages = (await (await handler(get("c1"))).json()) as object[];
      const second = await clientOf(version, api, { messages });
      const other = await clientOf(version, api, { messages });
      const both = [second, other].map((client) => client.resumeStream());
      await until(() => [second, other].every(({ status }) => status === "streaming"));
      go();
      await Promise.all(both);
      for (const client of [second, other]) {
        expect(client.error).toBeUndefined();
        expect(textIn(client)).toEqual(["user: How many?", "assistant: I look.Twelve."]);
      }
      expect((await handler(get("c1/stream"))).status).toBe(204);
    },
  );

  it("[UI6] a message that comes again is not run again", async () => {
    const rath = rathOf();
    const { module, go, asked } = held();
    const handler = handlerOf(rath, module);
    const body = { id: "c1", messages: [said("How many?")] };
    const one = chunksOf(await handler(posted(body)));
    await asked();
    const two = chunksOf(await handler(posted(body)));
    go();
    expect(texts(await two)).toBe("I look.Twelve.");
    expect(await two).toEqual(await one);
    expect(texts(await chunksOf(await handler(posted(body))))).toBe("I look.Twelve.");
    const session = await rath.load(NAME);
    expect([...session.history()].filter(({ fact }) => fact.type === "run-start").length).toBe(1);
    await chunksOf(await handler(posted({ id: "c1", messages: [said("And now?")] })));
    expect((await handler(posted(body))).status).toBe(409);
  });

  it("[UI7] after a crash between message and answer the next request goes on", async () => {
    for (const next of ["get", "post"] as const) {
      const url = urlOf("sqlite");
      const before = rathOf({ store: await storeOf(url) });
      const { module, asked } = held();
      const body = { id: "c1", messages: [said("How many?")] };
      const cut = await handlerOf(before, module)(posted(body));
      await asked();
      await before.close();
      await cut.body?.cancel();
      const after = rathOf({ store: await storeOf(url) });
      const again = held();
      again.go();
      const handler = handlerOf(after, again.module);
      const response = await handler(next === "get" ? get("c1/stream") : posted(body));
      expect(response.status).toBe(200);
      const chunks = await chunksOf(response);
      expect(texts(chunks)).toBe("I look.Twelve.");
      expect(chunks.filter(({ type }) => type === "tool-output-available").length).toBe(1);
      expect(statusOf(await after.load(NAME))).toBe("finished");
    }
  });

  it.each(["turn", "resume", "elsewhere", "failed"] as const)(
    "[UI15] a reader follows a run that somebody else goes on with to its end: %s",
    async (how) => {
      const url = urlOf("sqlite");
      const rath = rathOf({ store: await storeOf(url) });
      let [begin, go] = [(): void => {}, (): void => {}];
      const begun = new Promise<void>((resolve) => (begin = resolve));
      const gate = new Promise<void>((resolve) => (go = resolve));
      const pay = tool({
        name: "pay",
        description: "Pays.",
        input: { type: "object" },
        effect: "write",
        approval: { from: "user:boss" },
        run: async () => {
          begin();
          await gate;
          return "paid";
        },
      });
      const model = scripted({ text: "I ask first.", tools: [{ tool: "pay" }] }, () => {
        if (how === "failed") throw new Error("no credit");
        return "It is paid.";
      });
      const module = agent({ name: "clerk", model, tools: [pay], retry: { attempts: 1 } });
      const handler = handlerOf(rath, module);
      await chunksOf(await handler(posted({ id: "c1", messages: [said("Refund me.")] })));
      await rath.approve(NAME, { by: "user:boss" });
      const other = how === "elsewhere" ? rathOf({ store: await storeOf(url) }) : rath;
      const going = (
        how === "turn" || how === "failed" ? other.turn(module, NAME) : other.resume(NAME, module)
      )
        .then(statusOf)
        .catch(() => "failed");
      await begun;
      const response = await handler(get("c1/stream"));
      go();
      expect(await going).toBe(how === "failed" ? "failed" : "finished");
      const chunks = await chunksOf(response);
      const types = chunks.map(({ type }) => type).filter((type) => /^(start|tool|finish|error)/.test(type));
      expect(types).toEqual([
        "start",
        "start-step",
        "tool-input-available",
        "tool-output-available",
        "start-step",
        how === "failed" ? "error" : "finish",
      ]);
      if (how === "failed") expect(chunks.at(-1)?.errorText).toContain("no credit");
      else expect(chunks.at(-1)?.finishReason).toBe("stop");
      expect(texts(chunks)).toBe(how === "failed" ? "I ask first." : "I ask first.It is paid.");
    },
  );

  it("[UI8] an answer is stopped by DELETE, or where its last reader leaves, and tried again", async () => {
    for (const how of ["delete", "leave"] as const) {
      const rath = rathOf();
      const { module, asked, go } = held();
      const handler = handlerOf(rath, module, how === "leave" ? { onDisconnect: "cancel" } : {});
      const client = await clientOf(7, await apiOf(handler));
      const sending = client.sendMessage({ text: "How many?" });
      await asked();
      if (how === "delete") {
        expect(await (await handler(get("c1", "eve", "DELETE"))).json()).toEqual({ stopped: false });
        expect(await (await handler(get("c1", "ada", "DELETE"))).json()).toEqual({ stopped: true });
      } else await client.stop();
      await sending;
      await until(async () => statusOf(await rath.load(NAME)) === "cancelled");
      expect(textIn(client)).toEqual(["user: How many?", "assistant: I look."]);
      go();
      await client.regenerate();
      expect(client.error).toBeUndefined();
      expect(textIn(client)[1]).toContain("Twelve.");
    }
  });

  it("[UI9] nobody reads, answers or stops another person's chat", async () => {
    const rath = rathOf();
    const { module, paid } = paying();
    const handler = handlerOf(rath, module);
    const chunks = await chunksOf(await handler(posted({ id: "c1", messages: [said("Refund me.")] })));
    const of = chunks.find(({ type }) => type === "data-awaited")?.id as string;
    expect((await handler(get("c1", "eve"))).status).toBe(404);
    expect((await handler(get("c1/stream", "eve"))).status).toBe(204);
    const answers = [{ of, value: { approved: true } }];
    const body = { id: "c1", messages: [], answers };
    expect((await handler(posted(body, { "x-who": "eve" }))).status).toBe(409);
    expect((await handler(posted(body))).status).toBe(403);
    const nobody = new Request("http://localhost/api/chat/c1");
    expect((await handler(nobody)).status).toBe(401);
    expect(paid()).toBe(0);
    expect(() => uiStream(rath, module, {})).toThrow("nobody says who may come in");
    expect(() => approvals(rath, {})).toThrow("nobody says who may come in");
    const staff = approvals(rath, { principal, module: () => module });
    expect(await (await staff(get("", "ada"))).json()).toEqual({ awaited: [] });
    expect((await staff(posted({ name: NAME, of, value: { approved: true } }))).status).toBe(409);
    expect([...(await rath.load(NAME)).history()][0]?.fact.by).toBe("user:ada");
  });

  it("[UI10] a request that makes no sense is refused with a reason", async () => {
    const rath = rathOf();
    const handler = handlerOf(rath, agent({ name: "a", model: scripted("Hi.") }));
    const message = (parts: unknown) => ({ id: "c1", messages: [{ id: "m", role: "user", parts }] });
    for (const [body, status] of [
      ["{", 400],
      ["[]", 422],
      ["null", 422],
      [{}, 422],
      [{ id: "c1" }, 422],
      [{ id: "", messages: [said("x")] }, 422],
      [{ id: "c1", messages: [7] }, 422],
      [{ id: "c1", messages: [{ id: "m", role: "ghost", parts: [] }] }, 422],
      [{ id: "c1", messages: [said("x")], trigger: "explode" }, 422],
      [{ id: "c1", messages: [said("x")], answers: [{}] }, 422],
      [message([]), 422],
      [message([{ type: "text", text: "  " }]), 422],
      [message([{ type: "text", text: 7 }]), 422],
      [message([{ type: "file", url: "data:x" }]), 422],
      [message("hi"), 422],
      [{ id: "c1", messages: [] }, 409],
      [{ id: "c1", messages: [said("x")], trigger: "regenerate-message" }, 409],
      [{ id: "c1", messages: [], answers: [{ of: "x", value: 1 }] }, 409],
    ] as const) {
      const response = await handler(posted(body));
      const told = await response.json();
      expect([response.status, told], JSON.stringify(body)).toMatchObject([
        status,
        { error: { code: expect.any(String), message: expect.any(String), hint: expect.any(String) } },
      ]);
    }
    expect((await handler(posted("hi", { "content-type": "text/plain" }))).status).toBe(415);
    expect((await handler(get("c1"))).status).toBe(404);
    expect((await handler(get("%ff"))).status).toBe(400);
    expect((await handler(get("c1", "ada", "PUT"))).status).toBe(405);
    expect(await (await rath.store()).names({ under: "ui/" })).toEqual([]);
  });

  it("[UI11] a person who waits for an approval can speak on, and messages of two tabs follow each other", async () => {
    const rath = rathOf();
    const { module, paid } = paying();
    const handler = handlerOf(rath, module);
    await chunksOf(await handler(posted({ id: "c1", messages: [said("Refund me.")] })));
    const [one, two] = await Promise.all(
      ["Never mind.", "Thanks."].map(async (text) =>
        texts(await chunksOf(await handler(posted({ id: "c1", messages: [said(text)] })))),
      ),
    );
    expect(paid()).toBe(0);
    expect([one, two]).toEqual(["Welcome.", ""]);
    const kept = (await (await handler(get("c1"))).json()) as {
      role: string;
      parts: readonly { type: string }[];
    }[];
    expect(textIn({ messages: kept as never }).slice(0, 4)).toEqual([
      "user: Refund me.",
      "assistant: I ask first.It is not paid.",
      "user: Never mind.",
      "assistant: Welcome.",
    ]);
  });

  it("[UI12] a model call that is tried again, and a run that fails, are told", async () => {
    const rath = rathOf();
    const model = scripted([new Error("no credit")], { by: "call" });
    const handler = handlerOf(rath, agent({ name: "a", model, retry: { attempts: 1 } }));
    const chunks = await chunksOf(await handler(posted({ id: "c1", messages: [said("hi")] })));
    expect(chunks.at(-1)).toMatchObject({ type: "error", errorText: expect.stringContaining("no credit") });
    expect((await handler(posted({ id: "c1", messages: [said("hi")] }))).status).toBe(200);
  });

  it("[UI14] a slow reader gets everything in fewer pieces, or is told", async () => {
    const words = Array.from({ length: 4000 }, (_, place) => `word ${place} `).join("");
    const module = agent({ name: "clerk", model: scripted(words), stream: true });
    const slow = await handlerOf(rathOf(), module)(posted({ id: "c1", messages: [said("Talk.")] }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const chunks = await chunksOf(slow);
    expect(texts(chunks)).toBe(words);
    expect(chunks.length).toBeLessThan(1000);
    const rath = rathOf();
    const late = await handlerOf(rath, module, { maxWaiting: 2000 })(
      posted({ id: "c1", messages: [said("Talk.")] }),
    );
    await until(
      async () =>
        (await (await rath.store()).head(NAME)) !== undefined &&
        statusOf(await rath.load(NAME)) === "finished",
    );
    expect((await chunksOf(late)).at(-1)).toMatchObject({
      type: "error",
      errorText: expect.stringContaining("too slow"),
    });
  });

  it("[UI2] a call inside an agent that is used as a tool can be approved; the words of that agent are its own", async () => {
    const rath = rathOf();
    const { module: inner, paid } = paying();
    const model = scripted({ tool: "clerk", input: { task: "pay" } }, "Done.");
    const handler = handlerOf(rath, agent({ name: "chief", model, tools: [inner as Agent<unknown>] }), {
      selfApproval: true,
    });
    const client = await clientOf(7, await apiOf(handler));
    await client.sendMessage({ text: "Refund me." });
    const call = client.messages[1]?.parts.find(({ type }) => type === "tool-pay");
    expect(call).toMatchObject({ state: "approval-requested", input: { sum: 5 } });
    const { id } = Object(call?.approval) as { id: string };
    await client.addToolApprovalResponse({ id, approved: true });
    await client.sendMessage();
    expect(client.error).toBeUndefined();
    expect(paid()).toBe(1);
    const shapes = client.messages[1]?.parts.filter(({ type }) => /^(tool-|text)/.test(type)) ?? [];
    expect(shapes.map(({ type, state }) => [type, state])).toEqual([
      ["tool-clerk", "output-available"],
      ["tool-pay", "output-available"],
      ["text", "done"],
    ]);
    expect(textIn(client)).toEqual(["user: Refund me.", "assistant: Done."]);
  });

  it("[UI12] the pieces of a model call that failed end before it is tried again", async () => {
    let tries = 0;
    const base = simulated("test", "flaky", async () => {
      throw new Error("it streams");
    });
    async function* pieces() {
      tries += 1;
      yield { type: "stream-start", warnings: [] };
      yield { type: "text-start", id: "t" };
      yield { type: "text-delta", id: "t", delta: "I look" };
      if (tries === 1) {
        yield { type: "text-end", id: "t" };
        yield { type: "tool-input-start", id: "call1", toolName: "look_up" };
        yield { type: "tool-input-delta", id: "call1", delta: "{" };
        throw Object.assign(new Error("busy"), { isRetryable: true, statusCode: 503 });
      }
      yield { type: "text-end", id: "t" };
      const usage = {
        inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 1, text: undefined, reasoning: undefined },
      };
      yield { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage };
    }
    const model = {
      ...base,
      doStream: async () => ({ stream: ReadableStream.from(pieces()) }),
    } as typeof base;
    const module = agent({ name: "a", model, tools: [lookUp], retry: { attempts: 2, wait: 1 } });
    const client = await clientOf(5, await apiOf(handlerOf(rathOf(), module, { version: 5 })));
    await client.sendMessage({ text: "hi" });
    expect([tries, client.error]).toEqual([2, undefined]);
    expect(shapeOf(client.messages[1]?.parts ?? [])).toMatchObject([
      { type: "text", text: "I look" },
      { type: "tool-look_up", state: "output-error", errorText: "The model call is tried again." },
      { type: "text", text: "I look" },
    ]);
  });
});
